"""One device's launch of `components.cu`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.cuda.launch import BLOCK
from gravel.kernels.partition.cuda.launching import DeviceLaunch, View

JOINING = ("link", "probe", "shorten", "choose", "join", "flatten")
EXCHANGING = ("publish", "pull", "shortcut", "hook")
"""The kernel's `Log` after its first two words: what a rank does by itself, and in all rounds together."""


@dataclass(frozen=True)
class Rounds:
    """What one device tells of its last run."""

    rounds: int  # among the ranks
    phases: Mapping[str, float]  # microseconds by the clock of its first block

    def took(self, phases: Sequence[str]) -> float:
        """Add up the microseconds of some phases."""
        return sum(self.phases[phase] for phase in phases)


class ComponentsLaunch(DeviceLaunch):
    """A run on the current device; parameters as of `DeviceLaunch`."""

    def __init__(
        self,
        macros: Mapping[str, object],
        view: View,
        delegates: NDArray[Any],
        *,
        symmetric: bool,
        time_limit: float,
    ) -> None:
        import cupy

        path = "kernels/partition/cuda/components.cu"
        super().__init__(path, "components", macros, view, block=BLOCK, time_limit=time_limit)
        self._log = cupy.zeros(2 + len(JOINING + EXCHANGING), numpy.uint64)
        sizes = (len(view.here), self._ranks, len(delegates), symmetric)
        tables = self._table, self._here, cupy.asarray(delegates), self._barrier, self._log
        self._arguments = (*tables, *map(numpy.uint64, sizes))

    def start(self) -> tuple[Any, Any]:
        """Begin a run; returns the events before and after it."""
        return self._begin(self._arguments)

    def rounds_run(self) -> Rounds:
        """Read what the last run logged."""
        rounds, _, *nanoseconds = self._log.get().tolist()
        named = zip(JOINING + EXCHANGING, nanoseconds, strict=True)
        return Rounds(rounds, {phase: time / 1e3 for phase, time in named})
