"""A graph from files over ranks, none of which holds it: its partition, and the table of its ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import EdgePiece, Partition, VertexIds
from gravel.stages.distributing.rank import BuildTask, Built, build_as_rank
from gravel.stages.errors import StageError
from gravel.stages.ingest import LONE_PIECE, check_counts, parts
from gravel.stages.ingest_memory import working_memory
from gravel.stages.many_files import LEAST_KEPT, read_pieces, text_size
from gravel.stages.partitioning.ranges import allocated
from gravel.stages.rank_group import run_in_threads

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.distributing.numbering import Numbered
    from gravel.stages.distributing.parameters import DistributeParameters

COPIED = 1 << 20
"""Ids, or bytes of texts, that are copied at once."""


def from_files(context: Context, parameters: DistributeParameters) -> tuple[Partition, VertexIds]:
    """Read, number and divide a graph."""
    from dataclasses import asdict

    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.partition import storage_of

    ranks = parameters.ranks
    pieces = _pieces(context, parameters)
    if parameters.is_weighted and not any(piece.weight is not None for piece in pieces):
        raise StageError(
            "the edges have no weights",
            hint="leave `weights` of distribute out, or name the column: `columns: {weight: amount}`",
        )
    ids = sum(piece.vertex_count for piece in pieces)
    numbers = allocated(context.scratch / "numbers", index_dtype(ids), ids)
    alone = context.reserved >= ranks and context.shares_scratch
    if ranks > 1 and not alone:
        why = "were not there at once" if context.shares_scratch else "do not share a scratch folder"
        context.log(f"{ranks} workers {why}, so all ranks are in one process")
    memory = working_memory(parameters, context.machine)
    task = BuildTask(
        pieces=pieces,
        numbers=numbers,
        scratch=context.scratch,
        threshold=parameters.threshold,
        hosts=parameters.hosts,
        memory=memory if alone else memory // ranks,
        threads=context.machine.threads,
        sinks=context.sink_maker(),
        weights=parameters.weights if parameters.weights != "leave_out" else "",
    )
    built = sorted(_run(context, task, ranks, alone=alone), key=lambda each: each.rank)
    first = built[0]
    assert first.census is not None
    vertices, edges = first.numbered.vertices, sum(len(piece.source) for piece in pieces)
    if parameters.expect is not None:
        check_counts(vertices, edges, parameters.expect, parameters.file)
    context.log(_summary(built, edges, vertices))
    statistics = storage_of(first.sizes, vertex_count=vertices, delegate_count=first.delegate_count)
    graph = Partition(
        arrays={name: array for each in built for name, array in each.arrays.items()},
        delegates=first.delegates,
        ranks=ranks,
        threshold=first.threshold,
        vertex_count=vertices,
        arc_count=first.arc_count,
        symmetric=True,
        statistics={**statistics, "thresholds": [asdict(each) for each in first.census.curve()]},
    )
    texts = any(piece.text is not None for piece in pieces)
    return graph, _ids(context, [each.numbered for each in built], texts=texts)


def _run(context: Context, task: BuildTask, ranks: int, *, alone: bool) -> list[Built]:
    """Build all ranks: each `alone` on its worker, or all in this process."""
    tasks = [task] * ranks
    if alone:
        return context.rank_group(build_as_rank, tasks)
    return run_in_threads(build_as_rank, tasks, report=context.progress)


def _pieces(context: Context, parameters: DistributeParameters) -> Sequence[EdgePiece]:
    asked = parameters.reading
    if len(asked.files or ()) > 1:
        return read_pieces(context, parts(asked), skip=asked.skip_broken)
    file = asked.file or asked.files[0]  # type: ignore[index]
    kept = text_size(file) >= LEAST_KEPT

    def progress(done: int) -> None:
        context.progress(done, None, "B")

    alone = asked.model_copy(update={"expect": None, "skip_broken": False})
    piece: EdgePiece = context.part(LONE_PIECE, alone, kept=kept, progress=progress).artifact
    return [piece]


def _summary(built: Sequence[Built], edges: int, vertices: int) -> str:
    slowest = {name: max(each.seconds[name] for each in built) for name in built[0].seconds}
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest.items())
    return (
        f"{edges:,} edges, {vertices:,} vertices, {built[0].arc_count:,} arcs over {len(built)} ranks, "
        f"threshold {built[0].threshold}: {phases}"
    )


def _ids(context: Context, numbered: Sequence[Numbered], *, texts: bool) -> VertexIds:
    """Write the table of all ids, rank by rank."""
    import numpy

    vertices = numbered[0].vertices
    if texts:
        text, offsets = context.sink(numpy.uint8), context.sink(numpy.int64)
        offsets.append(numpy.zeros(1, numpy.int64))
        end = 0
        for each in numbered:
            _copy(each.table[0].map(), text)
            _copy(each.table[1].map(), offsets, plus=end)
            end += each.table[0].length
        return VertexIds(text=text.close(), offsets=offsets.close(), vertex_count=vertices)
    lows = [each.low for each in numbered if each.low is not None]
    highs = [each.high for each in numbered if each.high is not None]
    if not lows or max(highs) - min(lows) + 1 == vertices:
        return VertexIds(first=min(lows, default=0), vertex_count=vertices)
    ids = context.sink(numpy.int64)
    for each in numbered:
        _copy(each.table[0].map(), ids)
    return VertexIds(ids=ids.close(), vertex_count=vertices)


def _copy(array: Any, sink: Any, plus: int = 0) -> None:
    for first in range(0, len(array), COPIED):
        some = array[first : first + COPIED]
        sink.append(some + plus if plus else some)
