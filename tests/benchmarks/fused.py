"""Generate, partition, traverse and verify over the GPUs of one host, with no graph anywhere else; no pytest.

    python -m tests.benchmarks.fused --scale 26 --gpus 1
    python -m tests.benchmarks.fused --scale 31 --gpus 8 --sources 16
    python -m tests.benchmarks.fused --scale 26 --gpus 2 --transport nccl --components

Each GPU is a process of its own, without Dask. First a small graph goes through all of it and is compared
with what CPU ranks find. Then, for the scale that is asked for, it prints the seconds that making took and
what a GPU holds. Of every search it prints its GTEPS (edges of the component over the time, as Graph500
counts), the milliseconds that counting and checking took after it, and whether every rule held; then the
harmonic mean. With `--components` the last line tells the same of these.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from typing import Any

from tests.benchmarks.program import parser_of

SMALL = 12


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--threshold", type=int, default=None, help="default: what the cost model chooses")
    parser.add_argument("--transport", choices=("auto", "peer", "nccl"), default="auto", help="of searches")
    parser.add_argument("--components", action="store_true", help="find and check components, too")
    parser.add_argument("--no-do", action="store_true", help="without direction optimization")
    asked = parser.parse_args()
    from gravel.pipeline.workers.rendezvous import Rendezvous

    rendezvous = Rendezvous("127.0.0.1", asked.gpus)
    spawn = multiprocessing.get_context("spawn")
    ranks = [
        spawn.Process(target=work, args=(rendezvous.invitation(rank), asked)) for rank in range(asked.gpus)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    rendezvous.close()
    failed = [place for place, rank in enumerate(ranks) if rank.exitcode]
    if failed or rendezvous.problem:
        print(f"failed: ranks {failed}; {rendezvous.problem}", flush=True)
    return int(bool(failed))


def work(invitation: Any, asked: argparse.Namespace) -> None:
    """Be one rank from the first line to the last."""
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    import cupy

    from gravel.pipeline.workers.rank_group import SocketRank

    cupy.cuda.Device(invitation.rank).use()
    group = SocketRank(invitation)

    def say(text: str) -> None:
        if group.rank == 0:
            print(text, flush=True)

    try:
        compare(group, asked, say)
        measure(group, asked, say)
    except BaseException as error:
        print(f"rank {group.rank}: {type(error).__name__}: {error}", flush=True)
        group.leave(f"{type(error).__name__}: {error}")
        sys.exit(1)
    group.leave(None)


def recipe(asked: argparse.Namespace, scale: int, ranks: int) -> Any:
    from gravel.stages.partitioning.resident import Recipe

    arguments = {"scale": scale, "edge_factor": asked.edge_factor, "seed": 1}
    threshold = "auto" if asked.threshold is None else asked.threshold
    return Recipe("rmat", json.dumps(arguments, sort_keys=True), ranks, threshold)


def made(group: Any, asked: argparse.Namespace, scale: int, backend: str) -> tuple[Any, Any]:
    """Make the rank, and give it with the task of its searches."""
    from dataclasses import replace

    from gravel.kernels.bfs.query import Query
    from gravel.kernels.partition import SearchOptions
    from gravel.stages.partitioning.resident import find_rank
    from gravel.stages.ranks.distributed_rank import RankTask

    found = recipe(asked, scale, group.size)
    _, held, _ = find_rank(group, found, backend)
    known = replace(found, threshold=held.share.threshold)
    options = SearchOptions(direction_optimized=not asked.no_do)
    facts: dict[str, Any] = {"transport": asked.transport, "check": True, "labels": False}
    return held, RankTask(known, backend, 2, Query(symmetric=True), options, **facts)


def components(group: Any, task: Any) -> tuple[list[float], int, list[str]]:
    """Find components, once to warm up and three times; give the times, how many, and the broken rules."""
    from gravel.stages.ranks.distributed_rank import ComponentsTask, find_as_rank

    asked = ComponentsTask(
        task.recipe, task.backend, 2, runs=4, barrier_seconds=20.0, check=True, labels=False
    )
    answer = find_as_rank(group, asked)
    told = group.all_gather((answer.milliseconds, answer.named))
    times = [max(each) for each in zip(*(times for times, _ in told), strict=True)]
    broken = [check.name for check in answer.checks if not check.passed]
    return times[1:], sum(named for _, named in told), broken


def compare(group: Any, asked: argparse.Namespace, say: Any) -> None:
    """Let a small graph go through all of it, on GPUs and on the CPU."""
    from dataclasses import replace

    from gravel.kernels.partition.layout import to_arrays
    from gravel.stages.partitioning.resident import RESIDENT, moved
    from gravel.stages.ranks.distributed_rank import work_as_rank

    told: dict[str, Any] = {}
    for backend in ("cuda", "cpu"):
        held, task = made(group, asked, SMALL, backend)
        if backend == "cuda":
            on_host = to_arrays(moved(held.share, "cpu").part)
            sources = tuple(int(v) for v in work_as_rank(group, replace(task, draw=(4, 1)))[0])
        else:
            for name, array in to_arrays(held.share.part).items():
                assert array.dtype == on_host[name].dtype, name
                assert (array == on_host[name]).all(), f"{name} is not what CPU ranks make"
        answers = work_as_rank(group, replace(task, sources=sources))
        told[backend] = [
            (answer.sums.vertices.tolist(), answer.sums.arcs.tolist(), [c.passed for c in answer.checks])
            for answer in answers
        ]
        work_as_rank(group, task)
        if asked.components:
            told[backend].append(components(group, task)[1:])
        group.barrier()
        RESIDENT.clear()
    assert told["cuda"] == told["cpu"], "GPUs and CPU ranks reach different levels, or find other components"
    assert all(all(search[2]) for search in told["cuda"][: len(sources)])
    assert not asked.components or not told["cuda"][-1][1]
    say(f"scale {SMALL} on {group.size}: partition, levels and checks are those of CPU ranks")


def measure(group: Any, asked: argparse.Namespace, say: Any) -> None:
    """Make the graph that is asked for, search it and check every search."""
    from dataclasses import replace

    import cupy

    from gravel.kernels.partition.storage import rank_size
    from gravel.stages.partitioning.resident import wire_of
    from gravel.stages.ranks.distributed_rank import work_as_rank

    started = time.perf_counter()
    held, task = made(group, asked, asked.scale, "cuda")
    group.barrier()
    share = held.share
    size = rank_size(share.part)
    free, total = cupy.cuda.runtime.memGetInfo()
    say(
        f"scale {asked.scale} on {group.size}: {share.arc_count:,} arcs made in "
        f"{time.perf_counter() - started:.2f} s; threshold {share.threshold}, {len(share.delegates):,} "
        f"delegates; rank 0: {size.subgraph_bytes / 2**30:.2f} GiB of subgraphs, "
        f"{(total - free) / 2**30:.1f} GiB in use"
    )
    with wire_of(group, "cuda") as wire:
        say(f"arrays between ranks go over a {type(wire).__name__}")
    sources = work_as_rank(group, replace(task, draw=(asked.sources, 1)))[0].tolist()
    work_as_rank(group, replace(task, sources=(sources[0],), check=False))
    rates = []
    for source in sources:
        began = time.perf_counter()
        (answer,) = work_as_rank(group, replace(task, sources=(source,)))
        taken = max(group.all_gather(answer.labels.milliseconds))
        whole = (time.perf_counter() - began) * 1e3
        edges = int(answer.sums.arcs.sum()) // 2
        broken = [check.name for check in answer.checks if not check.passed]
        rates.append(edges / taken / 1e6)
        say(
            f"  source {source}: {len(answer.sums.vertices)} levels, {taken:.3f} ms, {rates[-1]:.1f} GTEPS; "
            f"checked in {whole - taken:.0f} ms: {' '.join(broken) or 'all rules held'}"
        )
        assert not broken
    say(f"harmonic mean {len(rates) / sum(1 / rate for rate in rates):.1f} GTEPS over {len(rates)} searches")
    work_as_rank(group, task)
    if asked.components:
        began = time.perf_counter()
        times, count, broken = components(group, task)
        whole = (time.perf_counter() - began) * 1e3
        say(
            f"{count:,} components in {sorted(times)[1]:.3f} ms (median of 3); found four times and checked "
            f"in {whole:.0f} ms: {' '.join(broken) or 'all rules held'}"
        )
        assert not broken


if __name__ == "__main__":
    raise SystemExit(main())
