"""Launches over ranks: how one device sees them, and what all such launches share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import Buffer
from gravel.kernels.cuda import load, resident_blocks, vertex_macro
from gravel.kernels.partition.cuda.table import Slab

MAX_DEVICES = 16
"""In `device_barrier.cuh` too."""

_LINE = 16  # words of 8 bytes, so that what is polled has cache lines of its own


class DeviceBarrier:
    """One device's words, in its memory: arrivals, released, abort and a flag of each device.

    It serves any number of launches, all with the same number of blocks.
    """

    def __init__(self) -> None:
        self.slab = Slab([Buffer("words", "u8", 3 * _LINE + MAX_DEVICES)])
        self.words = self.slab.arrays["words"]
        self.reset()

    @property
    def pointer(self) -> int:
        """Where the words begin."""
        return self.slab.pointer

    def reset(self) -> None:
        """Forget all barriers; every device has to, while none of them searches."""
        self.words.fill(0)

    @property
    def aborted(self) -> bool:
        """Whether the last search was given up."""
        return bool(self.words[2 * _LINE] != 0)

    def described(self, pointers: Sequence[int], device: int, time_limit: float) -> Any:
        """Make the kernel's `Barrier` for the n-th device; `pointers` are to all devices' words."""
        import cupy

        if len(pointers) > MAX_DEVICES:
            raise ValueError(f"{len(pointers)} devices are too many; at most {MAX_DEVICES} synchronise")
        own = pointers[device]
        flags, aborts = numpy.zeros(MAX_DEVICES, numpy.uint64), numpy.zeros(MAX_DEVICES, numpy.uint64)
        for place, pointer in enumerate(pointers):
            aborts[place] = pointer + 8 * 2 * _LINE
            flags[place] = pointer + 8 * 3 * _LINE
        first = numpy.array([own, own + 8 * _LINE], numpy.uint64)
        last = numpy.array([len(pointers), device, int(time_limit * 1e9)], numpy.uint64)
        return cupy.asarray(numpy.concatenate((first, flags, aborts, last)))


@dataclass(frozen=True)
class View:
    """All ranks as one device sees them."""

    rows: Sequence[NDArray[numpy.uint64]]
    """Of the table of all ranks (`gravel.kernels.partition.cuda.table`)."""
    here: Sequence[int]
    """Ranks of this device."""
    points: Sequence[int]
    """All devices' barrier points."""
    place: int
    """Of this device among them."""
    point: DeviceBarrier


def width_macros(vertex: Any, *, wide: bool) -> dict[str, object]:
    """Make VERTEX and OFFSET of a kernel; `wide` row offsets take 64 bits."""
    return {"VERTEX": vertex_macro(vertex), "OFFSET": "u64" if wide else "u32"}


class DeviceLaunch:
    """A cooperative kernel on the current device, which has to be current at every call.

    Parameters
    ----------
    path, entry, macros : of the kernel.
    block : threads of a block.
    time_limit : seconds that it waits for other devices at one barrier.

    """

    def __init__(
        self,
        path: str,
        entry: str,
        macros: Mapping[str, object],
        view: View,
        *,
        block: int,
        time_limit: float,
    ) -> None:
        import cupy

        self.point, self.time_limit = view.point, time_limit
        self._kernel = load(path, **macros).get_function(entry)
        self._grid = (resident_blocks(self._kernel, block),), (block,)
        self._ranks = len(view.rows)
        self._table = cupy.asarray(numpy.concatenate(view.rows))
        self._here = cupy.asarray(numpy.array(view.here, numpy.uint64))
        self._barrier = view.point.described(view.points, view.place, time_limit)

    def _begin(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """Launch it; returns the events before and after."""
        import cupy

        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        self._kernel(*self._grid, tuple(arguments))
        end.record()
        return start, end

    def milliseconds(self, start: Any, end: Any) -> float:
        """Tell what it took, by its events."""
        import cupy

        return float(cupy.cuda.get_elapsed_time(start, end))

    def reset(self) -> None:
        """Make ready for another launch after one that was given up."""
        self.point.reset()

    def grow(self) -> bool:
        """Tell whether it has to be repeated."""
        return False


class LevelLaunch(DeviceLaunch):
    """One with a log of levels: `first` words, of which the first counts the levels, then `words` for each.

    `beyond` are records behind that of the last level.
    """

    def _allocate_log(self, levels: int, *, first: int, words: int, beyond: int = 0) -> None:
        import cupy

        self._logged, self._shape = levels, (first, words, beyond)
        self._log: Any = cupy.zeros(first + levels * words, numpy.uint64)

    def depth(self) -> int:
        """Count the levels of the last search, which ranks on other devices have too."""
        return int(self._log[:1].get()[0])

    def grow(self) -> bool:
        """Make the log longer if the last search had more levels than it; the search has to be repeated then.

        All devices find the same, since a search from one source always has the same levels.
        """
        first, words, beyond = self._shape
        needed = self.depth() + beyond
        if needed <= self._logged:
            return False
        self._allocate_log(1 << (needed - 1).bit_length(), first=first, words=words, beyond=beyond)
        return True

    def _records(self) -> NDArray[numpy.uint64]:
        """Read the records of the last search, uint64 (levels, words)."""
        first, words, beyond = self._shape
        records: NDArray[numpy.uint64] = self._log[first:][: (self.depth() + beyond) * words].get()
        return records.reshape(-1, words)
