"""Times reductions of delegate masks by size and number of ranks, for every algorithm.

    timeout 200 python -m tests.benchmarks.reductions
    timeout 200 python -m tests.benchmarks.reductions --where gpu --largest 64MiB

The ranks are, as far as there is what they take:

- `turns`: in this process, one after the other, as a run with fewer workers than ranks has them;
- `workers`: processes that send to each other over the group's sockets, as CPU workers do;
- `gpu`: side by side on one GPU, that is in as many launches at once, each with its share of the blocks; and
  each on a GPU of its own where there are several;
- `nccl`: each on a GPU of its own, joined in NCCL's ways (`gravel.kernels.partition.nccl.masks`).

Microseconds of a turn are the least of the repetitions. Every result is checked. A point that is predicted
to take longer than `--point-seconds` is left out (`-`): over sockets go about 0.1 GB/s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
from pydantic import ByteSize, TypeAdapter

from gravel.kernels.exchange import Endpoint, drive
from gravel.kernels.partition.reductions import ALGORITHMS, Algorithm, reduction_rounds
from gravel.pipeline.workers.rank_group import run_rank
from gravel.pipeline.workers.rendezvous import Rendezvous
from tests.benchmarks.reductions_side_by_side import SideBySide, masks_of, reduce_as_rank, reduce_in_turns

# Streams that share one of the GPU's queues, of which there are 8 otherwise, run one after the other.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")

REPEATS = 3
TURN_SECONDS = 2e-3
WIRE_RATE = 0.1e9
"""Bytes a second that all ranks together send over sockets, for what is predicted to take too long."""

WHERE = ("turns", "workers", "gpu", "nccl")
LIMIT = 120.0


def say(*words: Any) -> None:
    print(*words, flush=True)


def sizes_up_to(largest: int) -> list[int]:
    return [size for size in (1 << power for power in range(10, 27, 4)) if size <= largest]


def check(found: Sequence[Any], masks: Sequence[Any]) -> None:
    wanted = numpy.bitwise_or.reduce(masks)
    if not all(numpy.array_equal(each, wanted) for each in found):
        raise SystemExit("a rank does not have the OR of all masks")


def repeated(run: Any) -> float:
    """The least seconds of a turn, of so many turns that a clock can tell."""
    first = run(1)
    turns = max(1, min(100, int(TURN_SECONDS / max(first, 1e-7))))
    return float(min(run(turns) for _ in range(REPEATS)))


def in_turns(ranks: int, sizes: Sequence[int], groups: int, limit: float) -> Iterator[list[float | None]]:
    for size in sizes:
        masks = masks_of(ranks, size // 8)
        row: list[float | None] = []
        for algorithm in ALGORITHMS:
            seconds, found = reduce_in_turns(masks, algorithm, 1, groups)
            check(found, masks)
            row.append(
                None
                if seconds > limit
                else repeated(lambda t, a=algorithm, m=masks: reduce_in_turns(m, a, t, groups)[0])
            )
        yield row


def as_rank(group: Any, points: Sequence[tuple[int, Algorithm, int]]) -> list[float]:
    """Time every point as one rank; returns the seconds of a turn on the slowest rank."""
    answers = []
    for words, algorithm, groups in points:
        masks = masks_of(group.size, words)

        def run(
            turns: int, masks: Any = masks, algorithm: Algorithm = algorithm, groups: int = groups
        ) -> float:
            group.barrier()
            started = time.perf_counter()
            found = drive(reduce_as_rank(Endpoint(group), masks[group.rank], algorithm, turns, groups), group)
            taken = (time.perf_counter() - started) / turns
            check([found], masks)
            return float(max(group.all_gather(taken)))

        answers.append(repeated(run))
    return answers


def _process(invitation: Any, points: Any, end: Any) -> None:
    end.send(run_rank(as_rank, invitation, points))


def by_workers(ranks: int, sizes: Sequence[int], groups: int, limit: float) -> Iterator[list[float | None]]:
    points = []
    for size in sizes:
        for algorithm in ALGORITHMS:
            rounds = reduction_rounds(algorithm, ranks, groups)
            sent = size * sum(len(taken) for each in rounds for taken in each)
            # A first turn, and each repetition one.
            if (1 + REPEATS) * sent / WIRE_RATE <= limit:
                points.append((size // 8, algorithm, groups))
    context = multiprocessing.get_context("spawn")
    rendezvous = Rendezvous("127.0.0.1", ranks, time_limit=LIMIT)
    ends, processes = [], []
    try:
        for rank in range(ranks):
            here, there = context.Pipe()
            processes.append(
                context.Process(target=_process, args=(rendezvous.invitation(rank), points, there))
            )
            processes[-1].start()
            there.close()
            ends.append(here)
        if not all(end.poll(LIMIT) for end in ends):
            raise SystemExit(f"{ranks} workers did not end within {LIMIT:.0f} s")
        answers = [end.recv() for end in ends]
    finally:
        for process in processes:
            process.join(5)
            if process.is_alive():
                process.kill()
        rendezvous.close()
    for done, value in answers:
        if not done:
            raise value
    value = answers[0][1]
    taken = dict(zip(points, value, strict=True))
    for size in sizes:
        yield [taken.get((size // 8, algorithm, groups)) for algorithm in ALGORITHMS]


def on_gpus(
    ranks: int, sizes: Sequence[int], groups: int, devices: Sequence[int]
) -> Iterator[list[float | None]]:
    for size in sizes:
        masks = masks_of(ranks, size // 8)
        probe = SideBySide(masks, devices, time_limit=20.0)
        row: list[float | None] = []
        for algorithm in ALGORITHMS:
            row.append(repeated(lambda turns, a=algorithm, p=probe: p.run(a, turns, groups)))
            check(probe.found(), masks)
        yield row


def over_nccl(ranks: int, sizes: Sequence[int]) -> list[float]:
    """The search's own reduction of whole masks over NCCL, each rank a thread with a GPU."""
    import cupy

    from gravel.kernels.partition.nccl.communicator import connect
    from gravel.kernels.partition.nccl.launching import Kernels
    from gravel.kernels.partition.nccl.masks import MaskReduction
    from gravel.kernels.partition.options import SearchOptions
    from gravel.stages.rank_group import run_in_threads

    def as_gpu(group: Any, _: Any) -> list[float]:
        with cupy.cuda.Device(group.rank):
            communicator = connect(group, time_limit=20.0)
            kernels, stream = (
                Kernels("kernels/partition/nccl/exchange.cu"),
                cupy.cuda.Stream(non_blocking=True),
            )
            answers = []
            for size in sizes:
                masks = masks_of(ranks, size // 8)
                own = cupy.asarray(masks[group.rank]).view(numpy.uint32)
                options = SearchOptions(changed_only=False)
                reduction = MaskReduction(communicator, kernels, len(own), options, stream)
                times = []
                for _ in range(2 + REPEATS):
                    reduction.mask.fill(0)
                    cupy.cuda.Device().synchronize()
                    group.barrier()
                    start, end = cupy.cuda.Event(), cupy.cuda.Event()
                    start.record(stream)
                    reduction.begin(own, end)
                    found = reduction.end(own, end)
                    end.record(stream)
                    communicator.wait(end)
                    communicator.rest()
                    taken = cupy.cuda.get_elapsed_time(start, end) / 1e3
                    times.append(max(group.all_gather(taken)))
                check([found.get()[: len(own)].view(numpy.uint64)], masks)
                answers.append(float(min(times[2:])))
            communicator.close()
            return answers

    return run_in_threads(as_gpu, [None] * ranks)[0]


def gpus() -> int:
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        say(f"no GPU: {type(error).__name__}: {error}"[:100])
        return 0


def table(title: str, sizes: Sequence[int], rows: Iterator[list[float | None]], names: Sequence[str]) -> None:
    say(f"{title}, us a turn:")
    say(f"{'bytes':>12}", *(f"{name:>20}" for name in names))
    for size, row in zip(sizes, rows, strict=True):
        say(f"{size:>12}", *(f"{'-' if each is None else f'{1e6 * each:.1f}':>20}" for each in row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--where", nargs="+", choices=WHERE, default=WHERE)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4, 7, 8])
    parser.add_argument("--largest", default="64MiB")
    parser.add_argument(
        "--groups", type=int, default=0, help="hosts that ranks are taken to be on; 0 for none"
    )
    parser.add_argument("--point-seconds", type=float, default=4.0)
    given = parser.parse_args()
    sizes = sizes_up_to(int(TypeAdapter(ByteSize).validate_python(given.largest)))
    fits = [ranks for ranks in given.ranks if not given.groups or not ranks % given.groups]
    grouped = f" in {given.groups} groups" if given.groups else ""
    say(f"{platform.processor() or platform.machine()}, {multiprocessing.cpu_count()} CPUs")
    limit = given.point_seconds
    for ranks in fits:
        if "turns" in given.where:
            rows = in_turns(ranks, sizes, given.groups, limit)
            table(f"{ranks} ranks{grouped} in turns in one process", sizes, rows, ALGORITHMS)
        if "workers" in given.where and ranks > 1:
            rows = by_workers(ranks, sizes, given.groups, limit)
            table(f"{ranks} ranks{grouped} on workers", sizes, rows, ALGORITHMS)
    count = gpus() if {"gpu", "nccl"} & set(given.where) else 0
    for ranks in fits if count else ():
        if "gpu" in given.where:
            rows = on_gpus(ranks, sizes, given.groups, [0] * ranks)
            table(f"{ranks} ranks{grouped} side by side on one GPU", sizes, rows, ALGORITHMS)
            if 1 < ranks <= count:
                rows = on_gpus(ranks, sizes, given.groups, range(ranks))
                table(f"{ranks} ranks{grouped} on as many GPUs", sizes, rows, ALGORITHMS)
        if "nccl" in given.where and 1 < ranks <= count:
            rows = iter([[each] for each in over_nccl(ranks, sizes)])
            table(f"{ranks} ranks over NCCL", sizes, rows, ["as NCCL ranks do"])
    if "nccl" in given.where and count < 2:
        say(f"NCCL takes a GPU for each rank, and there {'is one' if count else 'is none'}: not measured")


if __name__ == "__main__":
    main()
