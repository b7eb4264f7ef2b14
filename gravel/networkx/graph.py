"""The graph that the backend's functions search: rows, and the node of each vertex."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.conversion.networkx import Rows, is_range, nodes_of, rows_of
from gravel.networkx.weights import Weights, weights_of


class GravelGraph:
    """A converted NetworkX graph. It never changes, and any number of threads may use it.

    `forward` and `backward` are the rows of successors and of predecessors, the same for an undirected graph.
    `weights` has the edge attributes that were converted, and no others are known.
    """

    __networkx_backend__ = "gravel"

    def __init__(
        self,
        nodes: list[Hashable],
        forward: Rows,
        backward: Rows,
        *,
        directed: bool,
        multigraph: bool,
        weights: Mapping[Any, Weights],
    ) -> None:
        self.nodes = nodes
        self.forward = forward
        self.backward = backward
        self.directed = directed
        self.multigraph = multigraph
        self.weights = weights
        self.lock = threading.RLock()  # of what is kept, and of what uses all cores or the GPU
        self.kept: dict[Any, Any] = {}  # what was found out once, and what is ready to run again
        self._is_range = is_range(nodes)

    def __reduce__(self) -> Any:
        kinds: dict[str, Any] = {
            "directed": self.directed,
            "multigraph": self.multigraph,
            "weights": self.weights,
        }
        return partial(GravelGraph, **kinds), (self.nodes, self.forward, self.backward)

    @classmethod
    def from_networkx(cls, graph: Any, defaults: Mapping[Any, Any] | None = None) -> GravelGraph:
        """Convert a graph of NetworkX, with the edge attributes that have a default here as weights.

        Raises NotImplementedError for weights that `gravel.networkx.weights` does not take.
        """
        nodes = nodes_of(graph)
        directed = graph.is_directed()
        forward = rows_of(graph, nodes)
        backward = rows_of(graph, nodes, reverse=True) if directed else forward
        weights = {name: weights_of(graph, name, default) for name, default in (defaults or {}).items()}
        multigraph = graph.is_multigraph()
        return cls(nodes, forward, backward, directed=directed, multigraph=multigraph, weights=weights)

    def is_directed(self) -> bool:
        """Say whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Say whether parallel edges were allowed; here they are one."""
        return self.multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return self.find(node) is not None

    def once(self, name: Any, make: Callable[[], Any]) -> Any:
        """Return what is kept under a name; the first call makes it."""
        if name not in self.kept:
            with self.lock:
                if name not in self.kept:
                    self.kept[name] = make()
        return self.kept[name]

    @property
    def vertices(self) -> dict[Hashable, int]:
        """The vertex of each node."""
        found: dict[Hashable, int] = self.once(
            "vertices", lambda: dict(zip(self.nodes, range(len(self.nodes)), strict=True))
        )
        return found

    def find(self, node: object) -> int | None:
        """Return the vertex of a node, or None for what is no node, hashable or not."""
        try:
            return self.vertices.get(node)
        except TypeError:
            return None

    def take(self, vertices: NDArray[Any]) -> list[Any]:
        """List the nodes of vertices."""
        numbers = vertices.tolist()
        return numbers if self._is_range else list(map(self.nodes.__getitem__, numbers))

    @property
    def ascending(self) -> Rows:
        """The forward rows with ascending neighbours."""
        from gravel.kernels.inputs import csr

        found: Rows = self.once("ascending", lambda: Rows(*csr(tuple(self.forward))))
        return found

    def to_networkx(self) -> Any:
        """Make a NetworkX graph with the same nodes and edges, without attributes and parallel edges."""
        import networkx

        kinds = {
            (False, False): networkx.Graph,
            (True, False): networkx.DiGraph,
            (False, True): networkx.MultiGraph,
            (True, True): networkx.MultiDiGraph,
        }
        graph = kinds[self.directed, self.multigraph]()
        graph.add_nodes_from(self.nodes)
        offsets, columns = self.forward
        sources = numpy.repeat(numpy.arange(len(self)), numpy.diff(offsets))
        once = slice(None) if self.directed else sources <= columns
        graph.add_edges_from(zip(self.take(sources[once]), self.take(columns[once]), strict=True))
        return graph
