"""A graph in memory: searched again and again, reordered, compressed, placed, saved."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from gravel.graphs.measured import forget, one_at_a_time
from gravel.graphs.parts import GraphParts
from gravel.graphs.rows import Place, PlacedRows, on_host
from gravel.memory import this_machine
from gravel.progress import shown
from gravel.stages.turning import Direction

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.conversion.ids import Ids
    from gravel.graphs.prepared import PreparedSearch
    from gravel.results.components import Components
    from gravel.results.searches import Paths, Search, ShortestPaths
    from gravel.stages import artifacts
    from gravel.stages.sizes import Machine

Output = Literal["both", "distance", "predecessor"]
Connection = Literal["weak", "strong"]


@dataclass(frozen=True)
class Info:
    """Size, place and kinds of a graph; `bytes` counts its arrays and its ids."""

    vertices: int
    edges: int
    arcs: int
    directed: bool
    ids: str
    bytes: int
    memory: str
    order: str
    layout: str


class Graph(GraphParts):
    """A graph whose vertices have the caller's ids; `gravel.graph` makes one.

    It does not change: `reorder`, `compress` and `place` return another, which shares what it can. Any
    number of threads may ask it, one after another; each method uses all cores, or the GPU.
    """

    def __init__(
        self,
        stored: artifacts.Graph | artifacts.CompressedGraph,
        ids: Ids,
        *,
        machine: Machine,
        placement: str = "auto",
        host_memory: str | int | None = None,
    ) -> None:
        self._rows = PlacedRows(stored, machine, placement, host_memory)
        self._ids = ids
        self._lock = threading.RLock()

    @property
    def directed(self) -> bool:
        """Whether an arc may lack its reverse."""
        return self._rows.directed

    @property
    def vertices(self) -> Any:
        """The ids of all vertices, as an Arrow array, in the order of every result."""
        import numpy

        return self._ids.take(numpy.arange(self._ids.count))

    def __len__(self) -> int:
        return self._ids.count

    def __contains__(self, value: Any) -> bool:
        try:
            return self._ids.find(value) >= 0
        except TypeError:
            return False

    def __reduce__(self) -> Any:
        # Without searches and what a GPU holds.
        return _placed_here, (on_host(self._rows.stored), self._ids, self._rows.host_memory)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        info = self.info()
        return (
            f"<gravel.Graph: {info.vertices:,} {'vertex' if info.vertices == 1 else 'vertices'}, "
            f"{info.edges:,} {'edge' if info.edges == 1 else 'edges'}, {kind}, ids are {info.ids}>"
        )

    def _repr_html_(self) -> str:
        from gravel.results.picture import histogram, table

        info = self.info()
        facts = table("gravel.Graph", {name: getattr(info, name) for name in info.__dataclass_fields__})
        return facts + histogram("vertices by degree", self.degrees().array)

    def info(self) -> Info:
        """Return the size of the graph, its place in memory, and the kind of its ids."""
        from gravel.kernels.arrays import backend_of

        rows, stored = self._rows, self._rows.stored
        packed = hasattr(stored, "stream")
        names = ("byte_offsets", "stream") if packed else ("row_offsets", "column_indices")
        arrays = [
            getattr(stored, name)
            for name in (*names, "weights", "permutation")
            if getattr(stored, name, None) is not None
        ]
        on_device = backend_of(arrays[0]) == "cuda" or rows.machine.backend == "cuda"
        where = {"auto": "device" if on_device else "host"}.get(rows.placement, rows.placement)
        statistics: dict[str, Any] = getattr(stored, "statistics", {})
        return Info(
            vertices=stored.vertex_count,
            edges=(stored.arc_count + stored.loop_count) // 2 if stored.symmetric else stored.arc_count,
            arcs=stored.arc_count,
            directed=self.directed,
            ids=self._ids.kind,
            bytes=sum(int(each.nbytes) for each in arrays) + self._ids.nbytes,
            memory={"host": "host memory", "device": "GPU memory", "pinned": "pinned host memory"}.get(
                where, where
            ),
            order=getattr(stored, "method", statistics.get("order", {}).get("method", "original")),
            layout=getattr(stored, "codec", "csr"),
        )

    def bfs(
        self,
        source: Any,
        output: Output = "both",
        *,
        strategy: str = "auto",
        direction: Direction = "out",
        max_depth: int | None = None,
        **tuning: Any,
    ) -> Search:
        """Search breadth-first from a vertex.

        Parameters
        ----------
        source : its id.
        output : which labels the search makes.
        strategy : a name that `gravel stages` lists, or "auto", which chooses by graph and machine.
        direction : of a directed graph, along arcs ("out"), against them ("in"), or as if they led both ways.
        max_depth : do not search beyond this distance.
        tuning : the strategy's own constants, such as `alpha`.

        The first search of a kind prepares it, and those after it only run: each graph keeps a few ready.
        Raises KeyError, with the nearest ids, for a source that is no vertex; TypeError for an id of another
        kind; ValueError for an unknown strategy or constant; NotEnoughMemory for labels that cannot fit.
        """
        key: tuple[Any, ...] = output, strategy, direction, max_depth
        if tuning:
            key += tuple(sorted(tuning.items()))
        vertex = self._ids.vertex(source)
        rows = self._rows
        # As of `one_at_a_time`, which takes a thirtieth of the time of a small search.
        with self._lock:
            prepared: PreparedSearch | None = rows.prepared.pop(key, None)
            try:
                if prepared is None:
                    from gravel.graphs.prepared import prepare

                    rows.make_room()
                    turned = rows.in_direction(direction)
                    prepared = prepare(turned, self._ids, output, strategy, max_depth, tuning)
                found = prepared.run(source, vertex, self._induced)
            except KeyboardInterrupt as stopped:
                prepared = None
                forget(stopped)
                raise
            rows.prepared[key] = prepared
            return found

    @one_at_a_time
    def shortest_paths(
        self,
        source: Any,
        output: Literal["both", "distance"] = "both",
        *,
        strategy: str = "auto",
        direction: Direction = "out",
        **tuning: Any,
    ) -> ShortestPaths:
        """Find the shortest paths from a vertex, by the weights that the graph was made with.

        Parameters
        ----------
        source : its id.
        output : distances alone, or with predecessors, of which `path_to` makes paths.
        strategy : "delta_stepping", "dijkstra" (on the CPU), or "auto", which is delta-stepping.
        direction : as for `bfs`. With "both", arcs that lead both ways have the smaller weight.
        tuning : the strategy's own constants, such as `width`.

        Raises ValueError for a graph without weights, and else as `bfs` does.
        """
        from gravel.graphs.paths import prepare_paths

        vertex = self._ids.vertex(source)
        key = ("shortest_paths", output, strategy, direction, *sorted(tuning.items()))
        rows = self._rows
        prepared = rows.lent(
            key, lambda: prepare_paths(rows.in_direction(direction), self._ids, output, strategy, tuning)
        )
        found: ShortestPaths = prepared.run(source, vertex, self._induced)
        rows.prepared[key] = prepared
        return found

    def distance(self, source: Any, target: Any, **asked: Any) -> int | float | None:
        """Return the length of a shortest path between two vertices, None where there is none; as `paths`."""
        return self.paths([source], [target], "distance", **asked).lengths()[0]

    def path(self, source: Any, target: Any, **asked: Any) -> list[Any] | None:
        """Return the ids on a shortest path, both ends included; None where there is none; as `paths`."""
        return self.paths([source], [target], **asked)[0]

    @one_at_a_time
    def paths(
        self,
        sources: Any,
        targets: Any,
        output: Literal["both", "distance"] = "both",
        *,
        by: str = "auto",
        direction: Direction = "out",
    ) -> Paths:
        """Find shortest paths between pairs of vertices, searched from both ends, many side by side.

        `sources` and `targets` are ids. `by` counts "arcs" or adds up "weights"; "auto" takes weights if any
        are there. `output` and `direction` are as for `shortest_paths`; sums of float weights come from both
        ends, and may round otherwise. Raises as `shortest_paths` does, also for lists of different lengths.
        """
        from gravel.graphs.paths import between

        return between(self._rows, self._ids, sources, targets, output, by, direction)

    @one_at_a_time
    @shown("components")
    def components(self, *, connection: Connection = "weak", strategy: str = "auto") -> Components:
        """Find the connected components.

        Parameters
        ----------
        connection : "weak" lets arcs count both ways. With "strong" the vertices of a component reach one
            another along the arcs. In an undirected graph both are the same.
        strategy : the name of a strategy. Strong ones are found by "forward_backward" or, on the CPU, by
            "tarjan", which is the default there.

        Raises ValueError for an unknown strategy or connection. Strong components of a directed graph need
        rows that are not compressed, on the CPU or in GPU memory: ValueError otherwise, and `NotEnoughMemory`
        where the GPU has too little.
        """
        from gravel.graphs.components import find

        return find(self._rows, self._ids, strategy, connection)

    @one_at_a_time
    @shown("reorder")
    def reorder(self, method: str, *, seed: int = 0) -> Graph:
        """Return the graph with its rows in another order, such as "rcm", "degree" or "community".

        Ids and results stay the same. Raises ValueError for an unknown order, and for a compressed graph.
        """
        from gravel.graphs.stage_calls import reordered

        return self._with(reordered(self._rows, method, seed))

    @one_at_a_time
    @shown("compress")
    def compress(self, layout: str = "varint") -> Graph:
        """Return the graph with its rows in a layout: "varint", "blocks", "elias_fano", "csr", or "auto".

        Searches read the rows as they are. Raises ValueError for an unknown layout or a compressed graph.
        """
        from gravel.graphs.stage_calls import compressed

        return self._with(compressed(self._rows, layout))

    @one_at_a_time
    def place(self, where: Place, *, device_memory: str | int | None = None) -> Graph:
        """Return the graph with its rows in "host" memory, on the "device", "pinned", "split" or "streamed".

        All but "host" need a GPU, which searches rows in pinned memory over the link. `device_memory` limits
        what a search takes there. Raises RequestError where there is no GPU.
        """
        return self._with(self._rows.placed(where, device_memory))

    @one_at_a_time
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the graph to a folder, which `gravel.load` and the stage `saved` of a workflow read.

        Returns the folder. Raises FileExistsError for a path that is there.
        """
        from gravel.graphs.stored import save

        return save(self._rows.stored, self._ids, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Graph:
        """Read a graph that `save` wrote."""
        from gravel.graphs.stored import load

        stored, ids = load(path)
        return Graph(stored, ids, machine=this_machine())

    def _with(self, rows: PlacedRows, ids: Ids | None = None) -> Self:
        """Return a graph of other rows, with the same ids if no others are given."""
        given: dict[str, Any] = {"placement": rows.placement, "host_memory": rows.host_memory}
        return type(self)(rows.stored, self._ids if ids is None else ids, machine=rows.machine, **given)


def _placed_here(stored: Any, ids: Ids, host_memory: str | int | None) -> Graph:
    """Make a graph from its pickle, placed as `gravel.graph` does on this machine."""
    from gravel.memory import usable_backend

    return Graph(stored, ids, machine=this_machine(usable_backend(), host_memory), host_memory=host_memory)
