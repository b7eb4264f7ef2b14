"""Ranks on the GPUs of this process: which is where, and launches on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gravel.kernels.partition.cuda.launching import DeviceBarrier, View
from gravel.kernels.partition.cuda.table import Table, seen_from_afar
from gravel.kernels.partition.options import given_up

MAX_HERE = 16
"""Ranks of a device, as the kernels say."""


class Devices:
    """Devices of this process, the current one by default, with ranks in ascending runs.

    `ids` are CUDA's, `home[rank]` the place of a rank's device among them. Raises ValueError for more ranks
    than they hold, and where they cannot read each other's memory.
    """

    def __init__(self, devices: Sequence[int] | None, ranks: int) -> None:
        import cupy

        self.ids = tuple(devices) if devices is not None else (cupy.cuda.Device().id,)
        count = len(self.ids)
        if ranks < count or ranks > count * MAX_HERE:
            raise ValueError(f"{ranks} ranks do not go on {count} devices with 1 to {MAX_HERE} on each")
        make_peers(self.ids)
        self.home = [rank * count // ranks for rank in range(ranks)]
        self.launches: list[Any] = []
        self._points = [self.on(place, DeviceBarrier) for place in range(count)]

    def on(self, place: int, make: Callable[[], Any]) -> Any:
        """Call something with one of the devices as the current one."""
        import cupy

        with cupy.cuda.Device(self.ids[place]):
            return make()

    def here(self, place: int) -> list[int]:
        """List the ranks of a device."""
        return [rank for rank, home in enumerate(self.home) if home == place]

    def each_rank(self, make: Callable[[int], Any]) -> list[Any]:
        """Call something for each rank, on its device."""
        return [self.on(home, partial(make, rank)) for rank, home in enumerate(self.home)]

    def prepare(self, tables: Sequence[Table], make: Callable[[View], Any]) -> None:
        """Make a launch for each device, of a `DeviceLaunch`; `tables` are the ranks'."""
        self.launches = [
            self.on(place, partial(make, self._view(tables, place))) for place in range(len(self.ids))
        ]

    def _view(self, tables: Sequence[Table], place: int) -> View:
        rows = [
            table.row() if home == place else seen_from_afar(table.row(), 0, table.fields)
            for table, home in zip(tables, self.home, strict=True)
        ]
        points = [point.pointer for point in self._points]
        return View(rows, self.here(place), points, place, self._points[place])

    def each(self, act: Callable[[Any], Any]) -> list[Any]:
        """Call something for each launch, on its device."""
        return [self.on(place, partial(act, launch)) for place, launch in enumerate(self.launches)]

    def run(self, *given: Any) -> float:
        """Start all launches; returns the milliseconds of the longest.

        Raises RuntimeError when a device waited for another longer than the time limit; another run may
        follow.
        """
        events = self.each(lambda launch: launch.start(*given))
        for _, end in events:
            end.synchronize()
        if any(self.each(lambda launch: launch.point.aborted)):
            self.each(lambda launch: launch.reset())
            raise RuntimeError(given_up(self.launches[0].time_limit))
        if any(self.each(lambda launch: launch.grow())):
            return self.run(*given)
        pairs = zip(self.launches, events, strict=True)
        return max(float(launch.milliseconds(*each)) for launch, each in pairs)

    def synchronize(self) -> None:
        """Wait for all that was enqueued on the devices."""
        import cupy

        for device in self.ids:
            cupy.cuda.Device(device).synchronize()


def make_peers(devices: Sequence[int]) -> None:
    """Let the devices read each other's memory; raises ValueError where they cannot."""
    import cupy

    runtime = cupy.cuda.runtime
    for device in devices:
        for other in devices:
            if other == device:
                continue
            if not runtime.deviceCanAccessPeer(device, other):
                raise ValueError(f"GPU {device} cannot read the memory of GPU {other}")
            with cupy.cuda.Device(device):
                try:
                    runtime.deviceEnablePeerAccess(other)
                except runtime.CUDARuntimeError as error:
                    if "peer access is already enabled" not in str(error).lower():
                        raise
