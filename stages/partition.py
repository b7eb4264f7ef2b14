"""partition: a graph split over ranks by degree separation (Pan, Pearce, Owens, IPDPS 2018, section III)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from stages.artifacts import Graph, Ordering, Partition
from stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    from kernels.partition import PartitionedGraph, RankGraph, RankSize
    from stages.artifacts import Array
    from stages.context import Context


COMPILED = 52 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all."""


class PartitionParameters(Parameters):
    """Over how many ranks, and which vertices every rank knows."""

    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more out-neighbours than this are delegates; `auto` chooses from the graph."""


def partition(context: Context, parameters: PartitionParameters, *, input: Graph) -> Partition:  # noqa: A002
    """Distribute the arcs of a graph, one rank at a time.

    Raises `StageError` when a rank's vertices would not fit 32-bit local ids.
    """
    import numpy

    from kernels.jit import set_threads
    from kernels.partition import build_rank, separate, storage_of, suggest_threshold
    from stages.errors import StageError

    set_threads(context.machine.threads)
    row_offsets, columns = numpy.asarray(input.row_offsets), numpy.asarray(input.column_indices)
    ranks, threshold = parameters.ranks, parameters.threshold
    if threshold == "auto":
        threshold = suggest_threshold(row_offsets, columns, ranks)
        context.log(f"threshold {threshold} chosen from the degrees")
    try:
        separation = separate(row_offsets, ranks=ranks, threshold=threshold, dtype=columns.dtype)
    except ValueError as error:
        raise StageError(str(error)) from None
    arrays: dict[str, Array] = {}
    sizes = []
    for rank in range(ranks):
        # Nothing here keeps the rank: it is gone before the next one is built.
        sizes.append(_store(context, arrays, build_rank(row_offsets, columns, separation, rank)))
        context.progress(rank + 1, ranks, "ranks")
    delegates = separation.delegates
    return Partition(
        arrays=arrays,
        delegates=delegates,
        permutation=input.permutation if isinstance(input, Ordering) else None,
        ranks=ranks,
        threshold=threshold,
        vertex_count=input.vertex_count,
        arc_count=input.arc_count,
        symmetric=input.symmetric,
        deduplicated=input.deduplicated,
        loop_count=input.loop_count,
        statistics=storage_of(sizes, vertex_count=input.vertex_count, delegate_count=len(delegates)),
    )


def _store(context: Context, arrays: dict[str, Array], part: RankGraph) -> RankSize:
    from kernels.partition import rank_size, to_arrays

    for name, array in to_arrays(part).items():
        sink = context.sink(array.dtype)
        sink.append(array)
        arrays[name] = sink.close()
    return rank_size(part)


def load_partition(stored: Partition) -> PartitionedGraph:
    """Read a stored partition into memory for `kernels.partition`."""
    from kernels.partition import from_arrays

    return from_arrays(
        stored.arrays,
        stored.delegates,
        ranks=stored.ranks,
        threshold=stored.threshold,
        vertex_count=stored.vertex_count,
        arc_count=stored.arc_count,
    )


def _estimate(
    parameters: PartitionParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m, p = graph.vertices, graph.arcs, parameters.ranks
    width = 4 if n < 1 << 32 else 8
    known = parameters.threshold if isinstance(parameters.threshold, int) else 16
    delegates = min(n, m // (known + 1))
    whole_graph = 8 * n + width * m
    # Besides the graph: the degrees and their test, the delegate index, one rank's counts, offsets and arcs
    # (ranks differ by a few per cent), and for "auto" a histogram of 2^16 degrees for each row block.
    one_rank = (24 * n + (width + 1) * m) // p + 40 * delegates
    histograms = machine.threads * 8 * (1 << 19) if parameters.threshold == "auto" else 0
    size = 8 * n + 8 * delegates * p + width * m + 4 * n
    return Need(
        host_bytes=COMPILED + whole_graph + 13 * n + max(one_rank, histograms + 16 * n),
        device_bytes=0,
        outputs=(
            Extent(
                kind="Partition",
                vertices=n,
                arcs=m,
                bytes=size,
                directed=graph.directed,
                normal_arcs=m,
                ranks=p,
            ),
        ),
    )


STAGE = Stage(
    name="partition",
    version=1,
    about="Splits a graph over ranks by degree separation (Pan, Pearce, Owens 2018).",
    parameters=PartitionParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph to split")},
    outputs=("Partition",),
    run=partition,
    estimate=_estimate,
)
