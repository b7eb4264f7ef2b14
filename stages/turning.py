"""Directed graphs along their arcs, against them, or both ways: rows for searches that only follow rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from gravel.kernels.buffers import total, vertex_type
from gravel.kernels.csr import buffers
from gravel.stages.artifacts import Graph
from gravel.stages.sizes import Extent, Need

if TYPE_CHECKING:
    from gravel.stages.stage import Fault

Direction = Literal["out", "in", "both"]
"""Of a directed graph, along its arcs, against them, or as if they led both ways."""

OPPOSITE: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}

COMPILED = 18 << 20
"""Measured: what Numba takes to compile what builds rows, beside what it takes to be there."""

ENCODED_BY = {"CompressedGraph": "compress", "Partition": "partition", "DistributedGraph": "distribute"}
"""Kinds of graphs that keep no rows which could be turned round, and the stages that make them."""


def direction_in(stored: Any, direction: str) -> str:
    """Return the direction in a graph: an undirected one has but "out"."""
    return "out" if stored.symmetric else direction


def turned(stored: Graph, direction: str) -> Graph:
    """Return a graph whose rows lead where a search goes; the numbering stays the same.

    An undirected graph, and any for "out", is returned as it is. Other rows are made where the graph lies,
    with weights on the host. "both" makes one edge of all arcs between two vertices, with the smallest
    weight.
    """
    if direction_in(stored, direction) == "out":
        return stored
    from gravel.kernels.arrays import backend_of, on_host
    from gravel.kernels.csr.reversed import reversed_rows

    rows: tuple[Any, Any] = stored.row_offsets, stored.column_indices
    if stored.weights is not None or backend_of(rows[1]) == "cpu":
        rows = on_host(rows[0]), on_host(rows[1])
    weights = on_host(stored.weights)
    if direction == "in":
        offsets, columns, lengths = reversed_rows(*rows, weights)
        return replace(stored, row_offsets=offsets, column_indices=columns, weights=lengths, sorted=True)
    made = _both_ways(*rows, weights, keep_loops=stored.loop_count > 0)
    return replace(
        stored,
        row_offsets=made.row_offsets,
        column_indices=made.column_indices,
        weights=getattr(made, "weights", None),
        arc_count=len(made.column_indices),
        symmetric=True,
        sorted=True,
        deduplicated=True,
        loop_count=int(made.loop_count),
    )


def _both_ways(offsets: Any, columns: Any, weights: Any, *, keep_loops: bool) -> Any:
    from gravel.kernels.csr import build
    from gravel.kernels.csr.tails import tails_of

    ends = tails_of(offsets, len(columns)), columns
    if weights is None:
        return build(*ends, len(offsets) - 1, direction="both", keep_loops=keep_loops)
    from gravel.kernels.csr.weighted import build_weighted

    return build_weighted(*ends, weights, len(offsets) - 1, direction="both", keep_loops=keep_loops)


def turned_on_host(stored: Graph, direction: str) -> Graph:
    """Turn a graph as `turned` does, on the host, where statements have room for it."""
    if direction_in(stored, direction) == "out":
        return stored
    from gravel.kernels.arrays import on_host

    rows = {name: on_host(getattr(stored, name)) for name in ("row_offsets", "column_indices")}
    return turned(replace(stored, **rows), direction)


def backward_rows(offsets: Any, columns: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    """Return rows of predecessors where those of successors lie; the weights of their arcs, or None.

    They are made on the host, so that a GPU has room for no more than the result.
    """
    from gravel.kernels.arrays import backend_of, on_host
    from gravel.kernels.csr.reversed import reversed_rows
    from gravel.kernels.placement.device_copies import on_device

    made = reversed_rows(*map(on_host, (offsets, columns, weights)))
    if backend_of(columns) == "cpu":
        return made
    first, heads, lengths = made
    return on_device(first), on_device(heads), None if lengths is None else on_device(lengths)


def turned_extent(graph: Extent, direction: str) -> Extent:
    """Say how large the turned graph is at most."""
    if direction != "both" or not graph.directed:
        return graph
    width = (4 if graph.vertices < 1 << 32 else 8) + (4 if graph.weighted else 0)
    return replace(graph, arcs=2 * graph.arcs, bytes=graph.bytes + width * graph.arcs, directed=False)


def turning_bytes(graph: Extent, direction: str) -> int:
    """Count the host memory that `turned_on_host` takes at its peak, with the rows that it makes."""
    if direction == "out" or not graph.directed:
        return 0
    made = buffers.both_ways if direction == "both" else buffers.reversed_rows
    rows = made(graph.vertices, graph.arcs, vertex_type(graph.vertices), weights=graph.weighted)
    return total(rows, "host")


def with_turning(need: Need, graph: Extent, direction: str, *, compiled: int) -> Need:
    """Add to the need of a stage that searches the turned graph the turned rows, and what turning takes.

    `compiled` is what the need has for the stage's own kernels.
    """
    turning = turning_bytes(graph, direction)
    if not turning:
        return need
    searching = need.host_bytes + turned_extent(graph, direction).bytes
    return replace(need, host_bytes=COMPILED + max(searching, compiled + turning))


def not_turned(kind: str, direction: str) -> tuple[str, str] | None:
    """Say why graphs of a kind cannot be turned, and what to do; None where they can."""
    if direction == "out" or kind not in ENCODED_BY:
        return None
    if kind == "DistributedGraph":
        return "a distributed graph is undirected, and has no other direction", "leave direction out"
    made_by = ENCODED_BY[kind]
    to_turn = "reverse" if direction == "in" else "both"
    return (
        f"direction {direction} needs rows as columns, and {made_by} keeps none",
        f"give it the graph that symmetrize or reorder made, or {made_by} what symmetrize makes with "
        f"direction: {to_turn}; an undirected graph needs no direction",
    )


def direction_faults(parameters: Any, kinds: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    """Yield the direction that a stage's parameters ask of inputs, by slot, of kinds that have no other."""
    from gravel.stages.stage import Fault

    for kind in kinds.get("input", ()):
        refused = not_turned(kind, parameters.direction)
        if refused is not None:
            yield Fault(("direction",), parameters.direction, "; ".join(refused))
