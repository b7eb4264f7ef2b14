"""A rank whose process has a GPU of its own, and what it maps of other ranks' device memory (CUDA IPC)."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.launching import DeviceBarrier, DeviceLaunch, View
from gravel.kernels.partition.cuda.table import Table, seen_from_afar
from gravel.kernels.partition.options import given_up


def why_no_peers(group: Gathering) -> str | None:
    """Say why the ranks' GPUs cannot read each other's memory, or None; alike on all ranks."""
    import cupy

    runtime = cupy.cuda.runtime
    own = cupy.cuda.Device()
    places = group.all_gather((socket.gethostname(), own.pci_bus_id))
    if len({host for host, _ in places}) > 1:
        return "the ranks are on several hosts"
    if len(set(places)) < len(places):
        return "several ranks share a GPU"
    blocked = []
    for _, bus in places:
        if bus == own.pci_bus_id:
            continue
        try:
            reachable = runtime.deviceCanAccessPeer(own.id, runtime.deviceGetByPCIBusId(bus))
        except runtime.CUDARuntimeError:
            continue  # hidden from this process, which does not mean that it cannot be mapped
        if not reachable:
            blocked.append(bus)
    found = [bus for several in group.all_gather(blocked) for bus in several]
    return f"not every GPU can read {', '.join(sorted(set(found)))}" if found else None


@dataclass(frozen=True)
class Address:
    """What a rank tells of its memory: where it is, and how other processes map it."""

    process: int
    row: NDArray[numpy.uint64]
    pointers: tuple[int, int]  # of the rank's slab and of its barrier point
    handles: tuple[bytes, bytes]


def process_id() -> int:
    """Tell processes apart: one cannot map its own memory."""
    return os.getpid()


def _address(table: Table, point: DeviceBarrier) -> Address:
    import cupy

    pointers = table.slab.pointer, point.pointer
    first, second = (cupy.cuda.runtime.ipcGetMemHandle(pointer) for pointer in pointers)
    return Address(process_id(), table.row(), pointers, (bytes(first), bytes(second)))


class Mapping:
    """All ranks' entries and barrier points as the current device sees them; all ranks make theirs at once.

    `rows` and `points` are in the order of ranks.
    """

    def __init__(self, group: Gathering, table: Table, point: DeviceBarrier) -> None:
        self._mapped: list[int] = []
        self.rows: list[NDArray[numpy.uint64]] = []
        self.points: list[int] = []
        for rank, address in enumerate(group.all_gather(_address(table, point))):
            slab, barrier = address.pointers if rank == group.rank else self._map(address)
            shift = slab - address.pointers[0]
            own = rank == group.rank
            self.rows.append(address.row if own else seen_from_afar(address.row, shift, table.fields))
            self.points.append(barrier)

    def _map(self, address: Address) -> tuple[int, int]:
        """Give this device's pointers to another rank's memory."""
        import cupy

        if address.process == process_id():
            return address.pointers
        slab, point = (
            int(cupy.cuda.runtime.ipcOpenMemHandle(handle, cupy.cuda.runtime.cudaIpcMemLazyEnablePeerAccess))
            for handle in address.handles
        )
        self._mapped += [slab, point]
        return slab, point

    def close(self, group: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        import cupy

        for pointer in self._mapped:
            cupy.cuda.runtime.ipcCloseMemHandle(pointer)
        self._mapped.clear()
        group.all_gather(None)


class GroupRank:
    """A rank in the memory of the current device; all ranks of the rank group make theirs at the same time.

    Every rank lives in a process of its own, on a device of its own that can read the others'. `leave` gives
    their memory back, when no rank runs any more.
    """

    _launch: DeviceLaunch

    def _map(self, group: Gathering, table: Table) -> View:
        """Map all ranks' memory."""
        self._group, point = group, DeviceBarrier()
        self._mapping = Mapping(group, table, point)
        return View(self._mapping.rows, [group.rank], self._mapping.points, group.rank, point)

    def _run(self, *given: Any) -> float:
        """Start the launch together with all ranks; returns its milliseconds.

        Raises RuntimeError, on every rank, when a device waited for another longer than the time limit.
        """
        launch: Any = self._launch
        start, end = launch.start(*given)
        end.synchronize()
        # Nobody starts anew before all know how this one ended.
        if any(self._group.all_gather(launch.point.aborted)):
            launch.reset()
            self._group.all_gather(None)
            raise RuntimeError(given_up(launch.time_limit))
        if launch.grow():
            return self._run(*given)
        return float(launch.milliseconds(start, end))

    def wake(self) -> None:
        """Bring the GPU up to speed for a run that follows at once; all ranks do."""
        from gravel.kernels.cuda.wake import wake

        wake()

    def join(self, group: Gathering) -> None:
        """Go on with another rank group of the same ranks in the same processes."""
        self._group = group

    def leave(self, group: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        self._group = group
        self._mapping.close(group)
