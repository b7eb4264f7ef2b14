"""A rank whose process has a GPU of its own, which reads the other ranks' memory (CUDA IPC)."""

from __future__ import annotations

from typing import Any

from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.launching import DeviceBarrier, DeviceLaunch, View
from gravel.kernels.partition.cuda.mapping import Mapping
from gravel.kernels.partition.cuda.table import Table
from gravel.kernels.partition.options import given_up


class GroupRank:
    """A rank in the memory of the current device; all ranks of the gang make theirs at the same time.

    Every rank lives in a process of its own, on a device of its own that can read the others'. `leave` gives
    their memory back, when no rank runs any more.
    """

    _launch: DeviceLaunch

    def _map(self, gang: Gathering, table: Table) -> View:
        """Map all ranks' memory."""
        self._gang, point = gang, DeviceBarrier()
        self._mapping = Mapping(gang, table, point)
        return View(self._mapping.rows, [gang.rank], self._mapping.points, gang.rank, point)

    def _run(self, *given: Any) -> float:
        """Start the launch together with all ranks; returns its milliseconds.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        launch: Any = self._launch
        start, end = launch.start(*given)
        end.synchronize()
        # Nobody starts anew before all know how this one ended.
        if any(self._gang.all_gather(launch.point.aborted)):
            launch.reset()
            self._gang.all_gather(None)
            raise RuntimeError(given_up(launch.time_limit))
        if launch.grow():
            return self._run(*given)
        return float(launch.milliseconds(start, end))

    def wake(self) -> None:
        """Bring the GPU up to speed for a run that follows at once; all ranks do."""
        from gravel.kernels.cuda.wake import wake

        wake()

    def join(self, gang: Gathering) -> None:
        """Go on with another gang of the same ranks in the same processes."""
        self._gang = gang

    def leave(self, gang: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        self._gang = gang
        self._mapping.close(gang)
