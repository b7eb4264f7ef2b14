"""One rank of a graph from files: it numbers its share of the ids, takes its arcs, and writes its part."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gravel.stages.distributing.buffers import SORTED, Room, edges_at_once, room_for_arcs
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.kernels.partition import RankSize
    from gravel.kernels.partition.census import Census
    from gravel.stages.artifact import Array
    from gravel.stages.artifacts import EdgePiece
    from gravel.stages.context import SinkMaker
    from gravel.stages.distributing.numbering import Numbered
    from gravel.stages.partitioning.ranges import ArrayFile
    from gravel.stages.rank_group import RankContext

WRITTEN = 1 << 20
"""Elements of an array that are written at once."""


@dataclass(frozen=True)
class BuildTask:
    """Task of each rank; `numbers` is a file for the vertex of each id of each piece, which all ranks write.

    `memory` are the bytes to work in of each rank. `weights` says what parallel arcs become, or nothing where
    arcs have no weights.
    """

    pieces: Sequence[EdgePiece]
    numbers: ArrayFile
    scratch: Path
    threshold: int | Literal["auto"]
    hosts: int | None
    memory: int
    threads: int
    sinks: SinkMaker
    weights: Literal["", "minimum", "sum", "error"] = ""


@dataclass(frozen=True)
class Built:
    """A rank's part, and what all know of the whole; `census` and `delegates` come from rank 0."""

    rank: int
    numbered: Numbered
    arrays: Mapping[str, Array]
    delegates: Any
    threshold: int
    arc_count: int
    delegate_count: int
    census: Census | None
    sizes: tuple[RankSize, ...]
    seconds: Mapping[str, float]


def build_as_rank(rank_group: RankContext, task: BuildTask) -> Built:
    """Build one rank of the graph.

    Raises StageError where the rank's vertices do not fit 32-bit local ids, a row does not fit the memory, or
    weights are too large or do not become one.
    """
    import numpy

    from gravel.kernels.exchange import Endpoint, drive
    from gravel.kernels.partition.distributor.program import RefusedArcs, distribute_program
    from gravel.kernels.partition.layout import to_arrays
    from gravel.kernels.partition.threshold import choose_threshold
    from gravel.kernels.threads import set_threads
    from gravel.stages.distributing.numbering import number_program
    from gravel.stages.distributing.pieces import NumberedEdges, Pieces
    from gravel.stages.distributing.rows import SpillingBuilder
    from gravel.stages.distributing.weighted import WeightedBuilder
    from gravel.stages.distributing.weights import weights_program

    set_threads(task.threads)
    rank, ranks = rank_group.rank, rank_group.size
    folder = task.scratch / f"rank{rank}"
    folder.mkdir(parents=True)
    laps = {"begin": time.perf_counter()}
    pieces = Pieces(task.pieces)
    part = edges_at_once(task.memory, ranks, weighted=bool(task.weights))
    numbers = numpy.asarray(task.numbers.map("r+"))
    program = number_program(
        Endpoint(rank_group),
        pieces,
        folder,
        numbers,
        block=part,
        memory=task.memory // SORTED,
        report=rank_group.progress,
    )
    numbered = drive(program, rank_group)
    # What one program posts must not be taken for what the next does, and all numbers have to be there.
    rank_group.barrier()
    laps["numbering"] = time.perf_counter()
    edges = NumberedEdges(pieces, task.numbers, numbered.vertices)
    if task.weights:
        edges.stored = drive(weights_program(Endpoint(rank_group), edges, part), rank_group)
        rank_group.barrier()
    room = _room(task.memory, numbered.vertices, ranks)
    try:
        given = edges, ranks, rank, folder, room.arcs
        if task.weights:
            builder: SpillingBuilder = WeightedBuilder(*given, task.weights, in_files=room.in_files)
        else:
            builder = SpillingBuilder(*given, in_files=room.in_files)
    except ValueError as error:
        raise StageError(str(error)) from None
    threshold: Any = task.threshold
    if threshold == "auto":
        threshold = lambda census: choose_threshold(census, ranks, hosts=task.hosts)  # noqa: E731
    dividing = distribute_program(
        Endpoint(rank_group), builder, threshold=threshold, part_edges=part, report=rank_group.progress
    )
    try:
        share = drive(dividing, rank_group)
    except RefusedArcs as error:
        raise StageError(str(error)) from None
    laps["dividing"] = time.perf_counter()
    named = to_arrays(share.part)
    if rank == 0:
        named["delegates"] = share.delegates
    written = {}
    with task.sinks.open() as sink:
        for name, array in named.items():
            to = sink(array.dtype)
            for first in range(0, len(array), WRITTEN):
                to.append(array[first : first + WRITTEN])
            written[name] = to.close()
    laps["writing"] = time.perf_counter()
    seconds = {after: laps[after] - laps[before] for before, after in zip(laps, [*laps][1:], strict=False)}
    return Built(
        rank=rank,
        numbered=numbered,
        delegates=written.pop("delegates", None),
        arrays=written,
        threshold=share.threshold,
        arc_count=share.arc_count,
        delegate_count=len(share.delegates),
        census=share.census if rank == 0 else None,
        sizes=share.sizes,
        seconds=seconds,
    )


def _room(memory: int, vertices: int, ranks: int) -> Room:
    """Divide the memory; raises StageError where vertices leave too little of it for arcs."""
    room = room_for_arcs(memory, vertices, ranks)
    if room.problem:
        raise StageError(room.problem, hint="give `memory` more, or run as many workers as there are ranks")
    return room
