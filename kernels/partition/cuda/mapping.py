"""What the ranks of a gang, each in a process of its own, map of each other's device memory (CUDA IPC)."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Gathering
from gravel.kernels.partition.cuda.launching import DeviceBarrier
from gravel.kernels.partition.cuda.table import Table, seen_from_afar


def why_no_peers(gang: Gathering) -> str | None:
    """Say why the ranks' GPUs cannot read each other's memory, or None; alike on all ranks."""
    import cupy

    runtime = cupy.cuda.runtime
    own = cupy.cuda.Device()
    places = gang.all_gather((socket.gethostname(), own.pci_bus_id))
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
    found = [bus for several in gang.all_gather(blocked) for bus in several]
    return f"not every GPU can read {', '.join(sorted(set(found)))}" if found else None


@dataclass(frozen=True)
class Told:
    """What a rank tells of its memory: where it is, and how other processes map it."""

    process: int
    row: NDArray[numpy.uint64]
    pointers: tuple[int, int]  # of the rank's slab and of its barrier point
    handles: tuple[bytes, bytes]


def process_id() -> int:
    """Tell processes apart: one cannot map its own memory."""
    return os.getpid()


def _told(table: Table, point: DeviceBarrier) -> Told:
    import cupy

    pointers = table.slab.pointer, point.pointer
    first, second = (cupy.cuda.runtime.ipcGetMemHandle(pointer) for pointer in pointers)
    return Told(process_id(), table.row(), pointers, (bytes(first), bytes(second)))


class Mapping:
    """All ranks' entries and barrier points as the current device sees them; all ranks make theirs at once.

    `rows` and `points` are in the order of ranks.
    """

    def __init__(self, gang: Gathering, table: Table, point: DeviceBarrier) -> None:
        self._mapped: list[int] = []
        self.rows: list[NDArray[numpy.uint64]] = []
        self.points: list[int] = []
        for rank, told in enumerate(gang.all_gather(_told(table, point))):
            slab, barrier = told.pointers if rank == gang.rank else self._map(told)
            shift = slab - told.pointers[0]
            own = rank == gang.rank
            self.rows.append(told.row if own else seen_from_afar(told.row, shift, table.fields))
            self.points.append(barrier)

    def _map(self, told: Told) -> tuple[int, int]:
        """Give this device's pointers to another rank's memory."""
        import cupy

        if told.process == process_id():
            return told.pointers
        slab, point = (
            int(cupy.cuda.runtime.ipcOpenMemHandle(handle, cupy.cuda.runtime.cudaIpcMemLazyEnablePeerAccess))
            for handle in told.handles
        )
        self._mapped += [slab, point]
        return slab, point

    def close(self, gang: Gathering) -> None:
        """Let go of the other ranks' memory; all ranks have to, before any frees its own."""
        import cupy

        for pointer in self._mapped:
            cupy.cuda.runtime.ipcCloseMemHandle(pointer)
        self._mapped.clear()
        gang.all_gather(None)
