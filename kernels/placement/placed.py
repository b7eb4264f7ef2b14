"""Bringing rows to where a plan has them, and going on without what the system refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.placement.pinned import (
    LEAST_IN_PLACE,
    Host,
    Pinned,
    PinnedRefused,
    buffer,
    fill,
    lines_begin,
    pin,
)
from gravel.kernels.placement.plan import Limits, Plan, Sizes, on_gpu


@dataclass(frozen=True)
class Placed:
    """Arrays that were placed, by name; `arrays` are CuPy's, or, where they are streamed, what was given.

    A CuPy array over pinned memory is read by kernels over the link and keeps that memory pinned. `plan` is
    the one that was followed in the end, and `notes` say what the system refused.
    """

    plan: Plan
    arrays: dict[str, Any]
    pinned: dict[str, Pinned] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def over_link(self) -> int:
        """Bytes that a kernel reads over the link, each time that it reads them."""
        return sum(int(pinned.array.nbytes) for pinned in self.pinned.values())

    def described(self) -> str:
        """Say where the rows lie and why."""
        return f"placement {self.plan.placement}: {self.plan.described()}"


def place(
    arrays: dict[str, Any], plan: Plan, sizes: Sizes, limits: Limits, *, host: Host | None = None
) -> Placed:
    """Place the rows of a graph: the columns, or the stream of encoded rows.

    Parameters
    ----------
    arrays : one-dimensional arrays by name, NumPy, CuPy or read in slices.
    plan, sizes, limits : of `gravel.kernels.placement.plan.on_gpu`. Where pinned memory is refused, the rows
        go to the device if they fit there, else they are streamed from ordinary memory, and the notes say so.
    host : what pins memory; the CUDA runtime by default.

    """
    if plan.placement == "device":
        return Placed(plan, {name: _on_device(array) for name, array in arrays.items()})
    if plan.placement == "streamed":
        return Placed(plan, dict(arrays))
    in_memory = {name: in_pages(array) for name, array in arrays.items()}
    try:
        pinned = {name: pin(array, host) for name, array in in_memory.items()}
    except PinnedRefused as error:
        return _without_pinned(in_memory, plan, sizes, limits, str(error))
    return Placed(plan, {name: each.view() for name, each in pinned.items()}, pinned)


def _without_pinned(
    in_memory: dict[str, Any], plan: Plan, sizes: Sizes, limits: Limits, refusal: str
) -> Placed:
    name = "device" if limits.device is None or sizes.on_device <= limits.device else "streamed"
    # The rows are in ordinary memory already, so their limit is no reason to stop.
    other = on_gpu(sizes, replace(limits, host=None), name)
    note = f"the system refuses pinned memory ({refusal}), so the rows are not {plan.placement} but "
    note += "on the device" if name == "device" else "copied there part by part"
    placed = place(in_memory, replace(other, reason=note), sizes, limits)
    return replace(placed, notes=(note,))


def _on_device(array: Any) -> Any:
    import cupy
    import numpy

    return array if backend_of(array) == "cuda" else cupy.asarray(numpy.asarray(array))


def in_pages(array: Any) -> Any:
    """Return the array in host memory that can be pinned: its own where that will do, else a copy.

    `array` is NumPy's, CuPy's or read in slices.
    """
    import numpy

    large = array.nbytes >= LEAST_IN_PLACE if isinstance(array, numpy.ndarray) else False
    if large and array.flags.c_contiguous and array.flags.writeable and lines_begin(array):
        return array
    out = buffer(len(array), array.dtype)
    fill(out, array)
    return out
