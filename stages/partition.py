"""partition: a graph split over ranks, by degree separation or in stripes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from gravel.stages.artifacts import Graph, Ordering, Partition
from gravel.stages.partitioning.ranges import RANGE_ARCS, RANGE_ROWS
from gravel.stages.presets import filled
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.kernels.partition import PartitionedGraph, RankSize
    from gravel.stages.artifacts import Array
    from gravel.stages.context import Context


COMPILED = 52 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all."""

RANKS_AT_ONCE = 16
"""Ranks whose subgraphs are written in one pass over the graph: each has twelve arrays open."""

SINK_BYTES = 1 << 20
"""Of a shard that an open array fills, on average half of it."""


class PartitionParameters(Parameters):
    """Over how many ranks, and which vertices every rank knows."""

    paper: str | None = None
    """Use the settings of a paper: pan2018. Other parameters must not contradict them."""
    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more out-neighbours than this are delegates; `auto` takes the one that a cost model finds
    fastest, which a report lists among its suggestions."""
    hosts: int | None = Field(default=None, ge=1, le=65536)
    """Number of machines with equally many ranks, for the cost model; by default as few as hold eight ranks
    each."""
    scheme: Literal["delegates", "striped"] = "delegates"
    """`delegates`: every rank knows the vertices of highest degree (Pan, Pearce, Owens 2018, section III).
    `striped`: rank v mod ranks has vertex v with its row (Merrill, Garland, Grimshaw 2012, section 6)."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_paper(cls, given: Any) -> Any:
        return filled("partition", given)

    @model_validator(mode="after")
    def _fit_together(self) -> PartitionParameters:
        if self.scheme == "striped" and self.threshold != "auto":
            raise ValueError("a threshold makes delegates, and scheme striped has none")
        if self.hosts is not None and self.ranks % self.hosts:
            raise ValueError(f"{self.ranks} ranks do not make {self.hosts} equal hosts")
        return self


def partition(context: Context, parameters: PartitionParameters, *, input: Graph) -> Partition:  # noqa: A002
    """Distribute the arcs of a graph over ranks, a range of rows at a time, on all workers.

    Memory holds the delegates, an index of them (3/16 of a byte for each vertex), and a few ranges. Stripes
    have no delegates, and their `threshold` is the largest degree. Raises `StageError` if a rank's vertices
    do not fit 32-bit local ids.
    """
    from dataclasses import asdict

    from gravel.kernels.jit import set_threads
    from gravel.kernels.partition import storage_of
    from gravel.kernels.partition.distribute import check_ranks
    from gravel.kernels.partition.threshold import choose_threshold
    from gravel.stages.errors import StageError
    from gravel.stages.partitioning.counting import find_delegates, take_census

    set_threads(context.machine.threads)
    ranks, threshold = parameters.ranks, parameters.threshold
    try:
        check_ranks(input.vertex_count, ranks)
    except ValueError as error:
        raise StageError(str(error)) from None
    if parameters.scheme == "striped":
        return _stripes(context, ranks, input)
    census = take_census(context, input)
    if threshold == "auto":
        threshold = choose_threshold(census, ranks, hosts=parameters.hosts)
        context.log(f"threshold {threshold} chosen from the degrees")
    dtype = input.column_indices.dtype
    delegates, index = find_delegates(context, input, threshold, dtype)
    arrays: dict[str, Array] = {}
    sizes: list[RankSize] = []
    for low in range(0, ranks, RANKS_AT_ONCE):
        high = min(ranks, low + RANKS_AT_ONCE)
        _distribute(context, input, index, ranks, range(low, high), arrays, sizes)
    statistics = storage_of(sizes, vertex_count=input.vertex_count, delegate_count=len(delegates))
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
        statistics={**statistics, "thresholds": [asdict(division) for division in census.curve()]},
    )


def _stripes(context: Context, ranks: int, graph: Graph) -> Partition:
    import numpy

    from gravel.kernels.partition import storage_of
    from gravel.stages.partitioning.striping import write_stripes

    arrays, sizes, largest = write_stripes(context, graph, ranks)
    return Partition(
        arrays=arrays,
        delegates=numpy.empty(0, graph.column_indices.dtype),
        permutation=graph.permutation if isinstance(graph, Ordering) else None,
        ranks=ranks,
        threshold=largest,
        vertex_count=graph.vertex_count,
        arc_count=graph.arc_count,
        symmetric=graph.symmetric,
        deduplicated=graph.deduplicated,
        loop_count=graph.loop_count,
        scheme="striped",
        statistics=storage_of(sizes, vertex_count=graph.vertex_count, delegate_count=0),
    )


def _distribute(
    context: Context,
    graph: Graph,
    index: tuple[Path, Path, Path],
    ranks: int,
    some: range,
    arrays: dict[str, Array],
    sizes: list[RankSize],
) -> None:
    """Write the subgraphs of some ranks in one pass over the graph."""
    from gravel.stages.partitioning.ranges import SplitTask, ranges, split_range
    from gravel.stages.partitioning.writing import RankWriter

    writers = [RankWriter(context, rank, graph.column_indices.dtype) for rank in some]
    cuts = list(ranges(graph))
    tasks = (SplitTask(rows, index, ranks, some.start, some.stop) for rows in cuts)
    for rows, shares in zip(cuts, context.map(split_range, tasks), strict=True):
        for writer, share in zip(writers, shares, strict=True):
            writer.add(share)
        context.progress(some.start * graph.arc_count + rows.end * len(some), ranks * graph.arc_count, "arcs")
    for writer in writers:
        found, size = writer.close()
        arrays.update(found)
        sizes.append(size)


def load_partition(stored: Partition) -> PartitionedGraph:
    """Read a stored partition into memory for `gravel.kernels.partition`; stripes have no delegates."""
    from gravel.kernels.partition import from_arrays

    if stored.scheme == "striped":
        from gravel.kernels import striped

        facts = {"vertex_count": stored.vertex_count, "arc_count": stored.arc_count}
        return striped.as_partition(striped.from_arrays(stored.arrays, ranks=stored.ranks, **facts))
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
    striped = parameters.scheme == "striped"
    known = parameters.threshold if isinstance(parameters.threshold, int) else 16
    delegates = 0 if striped else min(n, m // (known + 1))
    # Capped degrees, which are mapped, and the delegates' index; both are not there at once.
    counted = 0 if striped else max(2 * n, n // 4 + (8 + 2 * width) * delegates)
    # A range's offsets, columns and shares, in every task under way and one more that is written.
    arcs, rows = min(m, RANGE_ARCS), min(n, RANGE_ROWS)
    ranks = min(p, RANKS_AT_ONCE)
    one_range = (2 * width + 8) * arcs + 24 * rows + 8 * ranks * min(delegates, rows)
    tasks = 1 + 2 * machine.threads
    histograms = 0 if striped else machine.threads * 16 * (1 << 19)
    size = (4 if striped else 12) * n + 8 * delegates * p + 8 * p + width * m
    return Need(
        host_bytes=COMPILED + counted + tasks * one_range + histograms + min(size, 12 * ranks * SINK_BYTES),
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
                striped=striped,
            ),
        ),
    )


STAGE = Stage(
    name="partition",
    version=5,
    about="Divides a graph over ranks by degree (Pan, Pearce, Owens 2018), or in stripes.",
    parameters=PartitionParameters,
    inputs={"input": Slot(kinds=("Graph", "Ordering"), about="the graph to divide")},
    outputs=("Partition",),
    run=partition,
    estimate=_estimate,
    deterministic=True,
    hidden=frozenset({"paper"}),
)
