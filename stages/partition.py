"""partition: a graph split over ranks, by degree separation or in stripes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from gravel.stages.artifacts import Graph, Ordering, Partition
from gravel.stages.partitioning.ranges import RANGE_ARCS, RANGE_ROWS
from gravel.stages.partitioning.striping import RANKS_AT_ONCE as STRIPES_AT_ONCE
from gravel.stages.presets import filled
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage
from gravel.stages.store_buffers import sink_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.kernels.partition import PartitionedGraph, RankSize
    from gravel.stages.artifacts import Array
    from gravel.stages.context import Context


COMPILED_DELEGATES, COMPILED_STRIPES = 70 << 20, 56 << 20
"""Measured: what Numba takes to compile the distributor, and to be there at all."""

RANKS_AT_ONCE = 16
"""Ranks whose subgraphs are written in one pass over the graph: each has twelve arrays open."""

HISTOGRAM_BYTES = 8 << 20
"""Of a range that is counted: two histograms of 2^16 degrees for each of eight blocks of its rows."""


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


def _most_delegates(threshold: int | Literal["auto"], vertices: int, arcs: int) -> int:
    """Bound the delegates; those of `auto` as `gravel.kernels.partition.threshold` does."""
    if isinstance(threshold, int):
        return min(vertices, arcs // (threshold + 1))
    return max(vertices // 16, min(vertices // 4, 1 << 20))


def _estimate(
    parameters: PartitionParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    n, m, p = graph.vertices, graph.arcs, parameters.ranks
    width = 4 if n < 1 << 32 else 8
    striped = parameters.scheme == "striped"
    delegates = 0 if striped else _most_delegates(parameters.threshold, n, m)
    size = (4 if striped else 12) * n + 8 * delegates * p + 8 * p + width * m
    arcs, rows = min(m, RANGE_ARCS), min(n, RANGE_ROWS)
    ranks = min(p, STRIPES_AT_ONCE if striped else RANKS_AT_ONCE)
    # On every thread a range is divided, whose columns are there too; other shares wait or are written.
    count = m // RANGE_ARCS + n // RANGE_ROWS + 1
    dividing = min(machine.threads, count)
    at_once = min(2 * machine.threads + 1, count)
    # Offsets of their rows, lengths before and after they are dealt out, and whose rows are whose; lengths of
    # delegates' rows on every rank. Ranges share no row.
    split = (at_once + dividing) * width * arcs
    split += 32 * min(n, at_once * rows) + 8 * ranks * min(delegates, at_once * rows)
    arrays = ranks if striped else 4 * ranks
    host = split + sink_bytes(*[width * m // arrays] * arrays)
    if striped:
        host += COMPILED_STRIPES
    else:
        # Capped degrees, which are mapped, and the delegates' index; both are not there at once.
        counting = 2 * n + dividing * (HISTOGRAM_BYTES + width * arcs + 8 * rows)
        host = COMPILED_DELEGATES + max(counting, n // 4 + (8 + 2 * width) * delegates + host)
    return Need(
        host_bytes=host,
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
