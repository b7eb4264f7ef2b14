"""Ranks over NCCL for `tests.benchmarks.ranks`: a process for each GPU, which all end by a time limit."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionedGraph, SearchOptions, to_arrays
from gravel.pipeline.workers.rank_group import run_rank
from gravel.pipeline.workers.rendezvous import Rendezvous


@dataclass(frozen=True)
class Task:
    """What a process searches: its rank of a graph in a folder, from every source with all options."""

    folder: str
    rank: int
    vertex_count: int
    options: Mapping[str, SearchOptions]
    sources: tuple[int, ...]
    checked: int
    time_limit: float


@dataclass(frozen=True)
class Found:
    """Of one rank with one set of options: milliseconds, the first distances, the last search's levels."""

    milliseconds: list[float]
    distances: list[Any]
    levels: Sequence[Any]
    prepared: float


def search_as_rank(group: Any, task: Task) -> dict[str, Found]:
    import cupy

    from gravel.kernels.cuda.wake import wake
    from gravel.kernels.partition.layout import RankPart, rank_from_arrays
    from gravel.kernels.partition.nccl import NcclRank

    folder = Path(task.folder)
    arrays = {
        str(path.relative_to(folder).with_suffix("")): numpy.load(path, mmap_mode="r")
        for path in folder.rglob("*.npy")
    }
    answers = {}
    with cupy.cuda.Device(task.rank):
        for name, options in task.options.items():
            began = time.perf_counter()
            delegates = numpy.asarray(arrays["delegates"])
            part = RankPart(rank_from_arrays(arrays, task.rank), delegates, task.vertex_count, group.size)
            rank = NcclRank(
                group,
                part,
                Query(output="distance", symmetric=True),
                replace(options, barrier_seconds=task.time_limit),
            )
            prepared = time.perf_counter() - began
            taken: list[float] = []
            distances: list[Any] = []
            levels: Sequence[Any] = ()
            # The first search is not timed: it compiles, and connects pair by pair.
            for place, source in enumerate((task.sources[0], *task.sources)):
                wake()
                cupy.cuda.Device().synchronize()
                group.all_gather(None)
                found = rank.run(source)
                if place:
                    taken.append(found.milliseconds)
                    levels = found.levels
                    if place <= task.checked:
                        distances.append(found.distance)
            answers[name] = Found(taken, distances, levels, prepared)
            rank.leave(group)
    return answers


def _process(invitation: Any, task: Task, end: Any) -> None:
    end.send(run_rank(search_as_rank, invitation, task))


def search(
    whole: PartitionedGraph,
    options: Mapping[str, SearchOptions],
    sources: Sequence[int],
    *,
    checked: int,
    limit: float,
    time_limit: float = 10.0,
) -> list[dict[str, Found]]:
    """Search on as many GPUs as ranks; raises RuntimeError when a process fails or is late."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="gravel-ranks-", dir=shared if shared.is_dir() else None))
    context = multiprocessing.get_context("spawn")
    rendezvous = Rendezvous("127.0.0.1", whole.ranks, time_limit=limit)
    processes: list[Any] = []
    try:
        numpy.save(folder / "delegates.npy", whole.delegates)
        for part in whole.parts:
            for name, array in to_arrays(part).items():
                path = folder / f"{name}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                numpy.save(path, array)
        ends = []
        for rank in range(whole.ranks):
            facts = (whole.vertex_count, options, tuple(sources), checked, time_limit)
            here, there = context.Pipe()
            task = Task(str(folder), rank, *facts)
            processes.append(
                context.Process(target=_process, args=(rendezvous.invitation(rank), task, there))
            )
            processes[-1].start()
            there.close()
            ends.append(here)
        until = time.monotonic() + limit
        answers = [_answer(rank, end, until) for rank, end in enumerate(ends)]
    finally:
        for process in processes:
            process.join(5)
            if process.is_alive():
                process.kill()
        rendezvous.close()
        shutil.rmtree(folder, ignore_errors=True)
    return answers


def _answer(rank: int, end: Any, until: float) -> dict[str, Found]:
    if not end.poll(max(0.0, until - time.monotonic())):
        raise RuntimeError(f"rank {rank} was late")
    try:
        done, value = end.recv()
    except EOFError:
        raise RuntimeError(f"rank {rank} died") from None
    if not done:
        raise RuntimeError(f"rank {rank}: {value}")
    found: dict[str, Found] = value
    return found
