"""The rows of a graph: their place in memory, their directions, and the searches prepared for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from gravel.kernels import arrays
from gravel.memory import on_gpu, refuse, refuse_device
from gravel.pipeline.core.memory import parse_bytes
from gravel.stages.artifacts import CompressedGraph, Graph, Ordering
from gravel.stages.turning import Direction

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine
    from gravel.stages.traversal.graph import SearchedGraph

MAX_PREPARED = 4
"""Searches of a graph that are kept ready, each with its labels and queues."""

Place = Literal["auto", "host", "device", "pinned", "split", "streamed"]


class PlacedRows:
    """Rows, their place, the limits of memory, and the prepared searches."""

    def __init__(
        self,
        stored: Graph | CompressedGraph,
        machine: Machine,
        placement: str = "auto",
        host_memory: str | int | None = None,
    ) -> None:
        self.stored: Any = stored
        self.machine = machine
        self.placement = placement
        self.host_memory = host_memory
        self.prepared: dict[Any, Any] = {}  # the latest last
        self.searched: dict[Any, SearchedGraph] = {}
        self._turned: dict[str, PlacedRows] = {}

    def __len__(self) -> int:
        return int(self.stored.vertex_count)

    @cached_property
    def permutation(self) -> Any:
        """Where the row of each vertex is, NumPy (vertices,); None where rows are in the order of ids."""
        return arrays.on_host(getattr(self.stored, "permutation", None))

    @cached_property
    def inverse(self) -> Any:
        """The vertex of each row, NumPy (vertices,); None where rows are in the order of ids."""
        import numpy

        if self.permutation is None:
            return None
        from gravel.kernels.relabel import invert

        found = numpy.empty_like(self.permutation)
        invert(self.permutation, found)
        return found

    @property
    def directed(self) -> bool:
        """Whether an arc may lack its reverse."""
        return not self.stored.symmetric

    def replaced(self, stored: Any, **changes: Any) -> PlacedRows:
        """Return other rows of the same graph, at the same place unless `changes` names another."""
        given = {"machine": self.machine, "placement": self.placement, **changes}
        return PlacedRows(stored, host_memory=self.host_memory, **given)

    def lent(self, key: Any, prepare: Callable[[], Any]) -> Any:
        """Take out a prepared search, or prepare one.

        Who takes it puts it back once the search has ended: what Ctrl-C or an error cut off is not used
        again.
        """
        prepared = self.prepared.pop(key, None)
        if prepared is None:
            self.make_room()
            prepared = prepare()
        return prepared

    def make_room(self) -> None:
        """Drop the searches used least recently, until one more can be kept."""
        while len(self.prepared) >= MAX_PREPARED:
            del self.prepared[next(iter(self.prepared))]

    def in_direction(self, direction: Direction) -> PlacedRows:
        """Return the rows of a direction in the same order; those of "in" and "both" are made once.

        Raises ValueError for an unknown direction and for a compressed graph, and `NotEnoughMemory`.
        """
        if direction not in get_args(Direction):
            raise ValueError(f"direction is {direction!r}; it can be 'out', 'in' or 'both'")
        if direction == "out" or not self.directed:
            return self
        if direction not in self._turned:
            self._turned[direction] = self.replaced(self._turned_round(direction))
        return self._turned[direction]

    def _turned_round(self, direction: str) -> Graph:
        from gravel.stages.symmetrize import device_bytes
        from gravel.stages.traversal.buffers import extent_of
        from gravel.stages.turning import turned, turned_extent, turning_bytes

        stored = self._columns()
        extent = extent_of(stored)
        what = f"direction {direction} of {extent.arcs:,} arcs"
        if arrays.backend_of(stored.column_indices) == "cuda" and stored.weights is None:
            arcs, width = turned_extent(extent, direction).arcs, stored.column_indices.dtype.itemsize
            refuse_device(what, device_bytes(extent.vertices, extent.arcs, arcs, width), self.machine)
        else:
            needed = turning_bytes(extent, direction)
            refuse(what, needed, self.machine, self.host_memory, "Turn the edges before they become a graph")
        return turned(stored, direction)

    def _columns(self) -> Graph:
        """Return rows that are columns, in their order; raises ValueError for a compressed graph."""
        if isinstance(self.stored, CompressedGraph):
            raise ValueError(
                "the graph is compressed: reorder it, or search against its arcs, before compressing"
            )
        found: Graph = self.stored
        return found

    def in_order_of_ids(self) -> Graph:
        """Return the rows in the order of the caller's ids; raises ValueError for a compressed graph."""
        stored = self._columns()
        if not isinstance(stored, Ordering):
            return stored
        from gravel.kernels.order import apply
        from gravel.stages.weights import reordered_weights

        inverse = self.inverse
        if arrays.backend_of(stored.column_indices) == "cuda":
            import cupy

            inverse = cupy.asarray(inverse)
        offsets, columns = apply(stored.row_offsets, stored.column_indices, inverse)
        return Graph(
            row_offsets=offsets,
            column_indices=columns,
            vertex_count=stored.vertex_count,
            arc_count=stored.arc_count,
            symmetric=stored.symmetric,
            deduplicated=stored.deduplicated,
            loop_count=stored.loop_count,
            weights=reordered_weights(stored, self.inverse),
        )

    def placed(self, where: str, device_memory: str | int | None) -> PlacedRows:
        """Return the rows at another place, without prepared searches."""
        from gravel.memory import demand_gpu

        if where not in get_args(Place):
            raise ValueError(f"{where!r} is no placement; there are {', '.join(get_args(Place))}")
        machine = self.machine
        if where == "host":
            return self.replaced(
                on_host(self.stored), placement=where, machine=replace(machine, backend="cpu")
            )
        if where in ("device", "pinned", "split"):
            demand_gpu()
            machine = on_gpu(machine)
        if device_memory is not None:
            limit = min(parse_bytes(str(device_memory)), machine.device_memory)
            machine = replace(machine, device_memory=limit)
        return self.replaced(self.stored, placement=where, machine=machine)


def on_host(stored: Any) -> Any:
    """Return an artifact with its arrays in host memory."""
    moved = {
        field.name: arrays.on_host(value)
        for field in fields(stored)
        if hasattr(value := getattr(stored, field.name), "__array__") or arrays.backend_of(value) == "cuda"
    }
    return replace(stored, **moved)
