"""Weights beside encoded rows: in the smallest type that holds them, and back in a graph's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.stages.compressing.writing import ARCS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy

    from gravel.stages.context import Context


def packed_weights(context: Context, weights: Any | None) -> Any | None:
    """Write weights in the smallest type that holds them, in pieces; None where there are none.

    Integers keep their sign: uint32 becomes uint8 or uint16, int32 becomes int8 or int16. float32 stays.
    """
    if weights is None:
        return None
    packed = smallest_dtype(weights)
    sink = context.sink(packed, rows=len(weights))
    for piece in _pieces(weights):
        sink.append(piece.astype(packed, copy=False))
    return sink.close()


def smallest_dtype(weights: Any) -> numpy.dtype[Any]:
    """Choose the type by the smallest and the largest weight."""
    import numpy

    stored: numpy.dtype[Any] = numpy.dtype(weights.dtype)
    if stored.kind == "f":
        return stored
    low = high = 0
    for piece in _pieces(weights):
        low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    for width in (1, 2):
        narrow: numpy.dtype[Any] = numpy.dtype(f"{stored.kind}{width}")
        held = numpy.iinfo(narrow)
        if held.min <= low and high <= held.max:
            return narrow
    return stored


def unpacked_weights(weights: Any | None) -> Any | None:
    """Return packed weights as a graph has them: uint32, int32 or float32, where they lie."""
    from gravel.kernels.arrays import backend_of

    if weights is None:
        return None
    whole = weights if backend_of(weights) == "cuda" else on_host(weights)
    return whole.astype(f"{weights.dtype.kind}4", copy=False)


def _pieces(weights: Any) -> Iterator[Any]:
    for first in range(0, len(weights), ARCS_AT_ONCE):
        yield on_host(weights[first : first + ARCS_AT_ONCE])
