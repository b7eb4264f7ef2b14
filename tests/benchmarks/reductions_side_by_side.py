"""What a reduction of masks takes: between GPUs of this process, ranks in turns, and over any wire."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda import load, resident_blocks
from gravel.kernels.exchange import Endpoint, Program, run_in_lock_step
from gravel.kernels.partition.cuda.devices import make_peers
from gravel.kernels.partition.cuda.launching import DeviceBarrier
from gravel.kernels.partition.cuda.staging import Staging
from gravel.kernels.partition.masks import Reduction
from gravel.kernels.partition.options import BARRIER_SECONDS, given_up
from gravel.kernels.partition.reductions import Algorithm, reduction_rounds

BLOCK = 512


def masks_of(ranks: int, words: int) -> list[NDArray[numpy.uint64]]:
    """Make a mask for each rank, uint64 (words,), each with bits of its own."""
    return [
        (numpy.arange(words, dtype=numpy.uint64) * numpy.uint64(2 * rank + 1)) | numpy.uint64(1 << rank % 64)
        for rank in range(ranks)
    ]


def reduce_as_rank(
    end: Endpoint, own: NDArray[Any], algorithm: Algorithm, turns: int, groups: int = 0
) -> Program[NDArray[Any]]:
    """Reduce whole masks as one rank, `turns` times; every rank runs this."""
    reduction = Reduction(end, algorithm=algorithm, groups=groups, changed_only=False)
    found = own
    for _ in range(turns):
        found = yield from reduction.end(own, reduction.begin(own))
    return found


def reduce_in_turns(
    masks: Sequence[NDArray[Any]], algorithm: Algorithm, turns: int, groups: int = 0
) -> tuple[float, list[NDArray[Any]]]:
    """Reduce in this process, rank by rank; returns the seconds of a turn, and what each rank found."""
    started = time.perf_counter()
    found = run_in_lock_step(
        lambda end: reduce_as_rank(end, masks[end.rank], algorithm, turns, groups), len(masks)
    )
    return (time.perf_counter() - started) / turns, found


class SideBySide:
    """Ranks on GPUs of this process, in ascending runs; the same GPU may be named several times.

    A GPU that is named several times runs as many launches at once, each with its share of the blocks, so
    that their barriers and reads are those between devices, at the speed of one memory.
    """

    def __init__(
        self,
        masks: Sequence[NDArray[Any]],
        devices: Sequence[int],
        *,
        time_limit: float = BARRIER_SECONDS,
    ) -> None:
        import cupy

        self._ranks, self._words, self._devices = len(masks), len(masks[0]), tuple(devices)
        count, self._time_limit = len(devices), time_limit
        homes = [rank * count // self._ranks for rank in range(self._ranks)]
        self._arrays = []
        make_peers(self._devices)
        for rank, given in enumerate(masks):
            with cupy.cuda.Device(devices[homes[rank]]):
                before = cupy.asarray(given)
                mask, after = (cupy.zeros(self._words, numpy.uint64) for _ in range(2))
                self._arrays.append((mask, before, after))
        table = numpy.array([[array.data.ptr for array in each] for each in self._arrays], numpy.uint64)
        self._points = [self._on(place, DeviceBarrier) for place in range(count)]
        pointers = [point.pointer for point in self._points]
        shared = len(set(devices)) < count
        self._launches = []
        for place in range(count):
            here = numpy.array([rank for rank, home in enumerate(homes) if home == place], numpy.uint64)
            with cupy.cuda.Device(devices[place]):
                kernel = load("tests/benchmarks/reductions.cu").get_function("reductions")
                blocks = max(1, resident_blocks(kernel, BLOCK) // devices.count(devices[place]))
                described = self._points[place].described(pointers, place, time_limit)
                own = cupy.asarray(table.reshape(-1)), cupy.asarray(here), cupy.zeros(2, numpy.uint64)
                stream = cupy.cuda.Stream() if shared else None
                self._launches.append((kernel, blocks, described, own, len(here), stream))

    def _on(self, place: int, make: Any) -> Any:
        import cupy

        with cupy.cuda.Device(self._devices[place]):
            return make()

    def run(self, algorithm: Algorithm, turns: int, groups: int = 0) -> float:
        """Reduce `turns` times; returns the seconds of a turn on the slowest device.

        `all_gather` without groups is what a search does by default: every rank reads all masks. Raises
        RuntimeError when a device waited for another longer than the time limit.
        """
        import cupy

        rounds = reduction_rounds(algorithm, self._ranks, groups)
        self._in_place = algorithm != "all_gather" or bool(groups)
        staging = Staging(self._ranks, rounds if self._in_place else (), 0, uniquify=False)
        # Nothing is copied while a launch waits for the others.
        schedules = [
            self._on(place, lambda: cupy.asarray(staging.schedule())) for place in range(len(self._devices))
        ]
        for place in range(len(self._devices)):
            self._on(place, lambda: cupy.cuda.Device().synchronize())
        ends = []
        for place, (kernel, blocks, described, own, here, stream) in enumerate(self._launches):
            table, ranks_here, clock = own
            numbers = (here, self._ranks, self._words, len(staging.rounds), turns)
            arguments = (described, table, ranks_here, schedules[place], clock, *map(numpy.uint64, numbers))
            with cupy.cuda.Device(self._devices[place]), stream or nullcontext():
                end = cupy.cuda.Event()
                kernel((blocks,), (BLOCK,), arguments)
                end.record()
                ends.append(end)
        for end in ends:
            end.synchronize()
        if any(self._is_aborted(place) for place in range(len(self._points))):
            raise RuntimeError(given_up(self._time_limit))
        clocks = [own[2].get().tolist() for _, _, _, own, _, _ in self._launches]
        return max(int(ended) - int(began) for began, ended in clocks) / 1e9 / turns

    def _is_aborted(self, place: int) -> bool:
        return bool(self._on(place, lambda: self._points[place].aborted))

    def found(self) -> list[NDArray[Any]]:
        """Give what every rank has after the last run."""
        return [numpy.asarray((mask if self._in_place else after).get()) for mask, _, after in self._arrays]
