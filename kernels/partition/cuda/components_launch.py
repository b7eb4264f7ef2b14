"""One device's launch of `kernels/partition/components.cu`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda import grid_of, load, resident_blocks
from gravel.kernels.partition.cuda.launch import BLOCK
from gravel.kernels.partition.cuda.meeting import MeetingPoint

JOINING = ("plant", "probe", "shorten", "choose", "join", "flatten")
EXCHANGING = ("publish", "pull", "settle", "hook")
"""The kernel's `Log` after its first two words: what a rank does by itself, and in all rounds together."""


@dataclass(frozen=True)
class Rounds:
    """What one device tells of its last run."""

    rounds: int  # among the ranks
    phases: Mapping[str, float]  # microseconds by the clock of its first block

    def took(self, phases: Sequence[str]) -> float:
        """Add up the microseconds of some phases."""
        return sum(self.phases[phase] for phase in phases)


class ComponentsLaunch:
    """A run on the current device, which has to be current at every call.

    Parameters
    ----------
    macros : VERTEX and OFFSET of the kernel.
    rows : of the table of all ranks, as this device sees them.
    here : ranks of this device.
    points : of all devices' meeting points, as this device sees them; `place` is its own among them.
    time_limit : seconds that it waits for the others at one meeting.
    blocks : of the grid, at most what runs at the same time; None fills the device.

    """

    def __init__(
        self,
        macros: Mapping[str, object],
        rows: Sequence[NDArray[numpy.uint64]],
        here: Sequence[int],
        delegates: NDArray[Any],
        points: Sequence[int],
        place: int,
        *,
        point: MeetingPoint,
        symmetric: bool,
        time_limit: float,
        blocks: int | None = None,
    ) -> None:
        import cupy

        self.point = point
        self._kernel = load("kernels/partition/components.cu", **macros).get_function("components")
        self._blocks = grid_of(blocks, resident_blocks(self._kernel, BLOCK))
        self._log = cupy.zeros(2 + len(JOINING + EXCHANGING), numpy.uint64)
        self._arguments = (
            cupy.asarray(numpy.concatenate(rows)),
            cupy.asarray(numpy.array(here, numpy.uint64)),
            cupy.asarray(delegates),
            point.described(points, place, time_limit),
            self._log,
            *(numpy.uint64(value) for value in (len(here), len(rows), len(delegates), symmetric)),
        )

    def start(self) -> tuple[Any, Any]:
        """Begin a run; returns the events before and after it."""
        import cupy

        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        self._kernel((self._blocks,), (BLOCK,), self._arguments)
        end.record()
        return start, end

    def told(self) -> Rounds:
        """Read what the last run logged."""
        rounds, _, *nanoseconds = self._log.get().tolist()
        named = zip(JOINING + EXCHANGING, nanoseconds, strict=True)
        return Rounds(rounds, {phase: taken / 1e3 for phase, taken in named})
