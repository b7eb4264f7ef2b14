"""Weights of arcs: made from those of an edge list, and carried to a graph's new order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.kernels.buffers import Table, edges, total
from gravel.kernels.csr import buffers
from gravel.stages.artifacts import EdgeList, Graph
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context

MAX_VERTICES = 1 << 32
"""Columns and weights are sorted together in 64 bits."""


class TooLargeWeight(ValueError):
    """A finite weight beyond what float32 holds, of an edge counted from 0."""

    def __init__(self, edge: int, weight: Any) -> None:
        super().__init__(f"the weight {weight} of edge {edge} is beyond what float32 holds, about 3.4e38")
        self.edge = edge


def weighted_graph(
    context: Context, edges: EdgeList, *, direction: str, duplicates: str, keep_loops: bool
) -> Graph:
    """Build the sorted rows of weighted edges on the host, all at once; see `build_weighted`.

    Raises `StageError` for edges without weights, for too little memory, for 2^32 vertices or more, and for
    duplicates that `weights` does not allow.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.csr.weighted import build_weighted

    if edges.weight is None:
        raise StageError(
            "the edges have no weights",
            hint="leave `weights` of symmetrize out, or read weights: ingest keeps those of a third column",
        )
    if edges.vertex_count >= MAX_VERTICES:
        raise StageError(f"weights are for less than 2^32 vertices; there are {edges.vertex_count:,}")
    needed = weighted_bytes(edges.vertex_count, len(edges.source))
    if needed > context.machine.host_memory:
        raise StageError(
            f"rows with weights take {needed:,} bytes at once, and there are {context.machine.host_memory:,}",
            hint="run it on a machine with more memory",
        )
    source, target = (on_host(each).astype(numpy.uint32) for each in (edges.source, edges.target))
    try:
        weights = stored_weights(on_host(edges.weight))
    except TooLargeWeight as error:
        ends = source[error.edge], target[error.edge]
        hint = "divide all weights by a number, or leave `weights` of symmetrize out"
        raise StageError(str(error), hint=hint, vertices=ends) from None
    try:
        rows = build_weighted(
            source,
            target,
            weights,
            edges.vertex_count,
            direction=direction,
            duplicates=duplicates,
            keep_loops=keep_loops,
        )
    except ValueError as error:
        raise StageError(str(error)) from None
    context.progress(len(source), len(source), "edges")
    return Graph(
        row_offsets=rows.row_offsets,
        column_indices=rows.column_indices,
        weights=rows.weights,
        vertex_count=edges.vertex_count,
        arc_count=len(rows.column_indices),
        symmetric=direction == "both",
        deduplicated=duplicates != "keep",
        loop_count=int(rows.loop_count),
    )


def weighted_bytes(vertices: int, count: int) -> int:
    """Count what `weighted_graph` takes at once, with both arcs of each edge."""
    return total((*buffers.weighted_edges(count), *buffers.weighted(vertices, 2 * count)), "host")


def reordered(vertices: int, arcs: int) -> Table:
    """What `reordered_weights` takes: both ends of arcs anew, and rows of them."""
    return *edges(arcs, "u4", "host"), *buffers.weighted(vertices, arcs)


def stored_weights(weights: NDArray[Any]) -> NDArray[Any]:
    """Return weights as uint32 or int32 where all are such integers, else as float32, rounded.

    Every graph has its weights from here: none is -0.0. A negative one that rounds to zero stays negative, so
    that searches refuse it. Raises `TooLargeWeight` for a finite weight beyond what float32 holds.
    """
    import numpy

    from gravel.kernels.sssp.weights import without_minus_zeros

    if weights.dtype in (numpy.uint32, numpy.int32, numpy.float32):
        found: NDArray[Any] = without_minus_zeros(numpy.ascontiguousarray(weights))
        return found
    if not len(weights):
        return weights.astype(numpy.uint32)
    stored = StoredAs.of(*facts_of(weights))
    lost = too_large(weights) if stored.dtype == numpy.float32 else None
    if lost is not None:
        raise TooLargeWeight(lost, weights[lost])
    return stored.convert(weights)


@dataclass(frozen=True)
class StoredAs:
    """How the weights of a graph are stored: as uint32, int32 or float32; `low` is the smallest of them."""

    dtype: Any
    low: Any

    @classmethod
    def of(cls, low: Any, high: Any, whole: bool) -> StoredAs:
        """Choose by the smallest and the largest of all weights, and whether all are `whole` numbers."""
        import numpy

        for dtype in (numpy.uint32, numpy.int32):
            limits = numpy.iinfo(dtype)
            if whole and low >= limits.min and high <= limits.max:
                return cls(numpy.dtype(dtype), low)
        return cls(numpy.dtype(numpy.float32), low)

    def convert(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Convert some of the weights, all of which the type holds."""
        import numpy

        from gravel.kernels.sssp.weights import without_minus_zeros

        if self.dtype != numpy.float32:
            return weights.astype(self.dtype)
        with numpy.errstate(over="ignore"):
            found = weights.astype(numpy.float32)
        if self.low < 0:
            found[(found == 0) & (weights < 0)] = -numpy.finfo(numpy.float32).smallest_subnormal
        plain: NDArray[Any] = without_minus_zeros(found)
        return plain


def facts_of(weights: NDArray[Any]) -> tuple[Any, Any, bool]:
    """Return the smallest and the largest of some weights, and whether all are whole numbers."""
    import numpy

    return weights.min(), weights.max(), bool((weights == numpy.floor(weights)).all())


def too_large(weights: NDArray[Any]) -> int | None:
    """Return the place of the first finite weight that is beyond float32; None where there is none."""
    import numpy

    with numpy.errstate(over="ignore"):
        lost = numpy.flatnonzero(numpy.isinf(weights.astype(numpy.float32)) & numpy.isfinite(weights))
    return int(lost[0]) if len(lost) else None


def unusable(error: ValueError, permutation: NDArray[Any] | None, direction: str = "out") -> StageError:
    """Say what weights of a searched graph are refused for; an arc is named in `symmetrize`'s numbering.

    With direction "in" the rows that were searched have its ends in turn.
    """
    import numpy

    from gravel.kernels.sssp.weights import UnusableWeight

    if not isinstance(error, UnusableWeight):
        return StageError(str(error))
    tail, head = error.tail, error.head
    if permutation is not None:
        tail, head = (int(numpy.flatnonzero(permutation == end)[0]) for end in (tail, head))
    if direction == "in":
        tail, head = head, tail
    hint = "correct the edges, or symmetrize with `weights: leave_out` and count arcs"
    return StageError(str(UnusableWeight(tail, head, error.weight)), hint=hint, vertices=(tail, head))


def reordered_weights(graph: Graph, permutation: NDArray[Any]) -> NDArray[Any] | None:
    """Return the weights of a graph's arcs in its new order; None where it has none."""
    if graph.weights is None:
        return None
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.csr.weighted import build_weighted

    offsets, columns = on_host(graph.row_offsets), on_host(graph.column_indices)
    new = permutation.astype(numpy.uint32, copy=False)
    return build_weighted(
        numpy.repeat(new, numpy.diff(offsets)),
        new[columns],
        on_host(graph.weights),
        graph.vertex_count,
        direction="as_given",
        duplicates="keep",
        keep_loops=True,
    ).weights
