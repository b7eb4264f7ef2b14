"""The graph that the backend's functions search: rows, and the nodes that they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.conversion.networkx import Rows, is_range, nodes_of, rows_of
from gravel.networkx.weights import Weights, weights_of


class GravelGraph:
    """What `convert_from_nx` makes of a NetworkX graph. It never changes.

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
        self.kept: dict[Any, Any] = {}  # what `gravel.networkx.device` has on a GPU
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

    @cached_property
    def vertices(self) -> dict[Hashable, int]:
        """The vertex of each node."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

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

    @cached_property
    def ascending(self) -> Rows:
        """The forward rows with ascending neighbours."""
        from gravel.kernels.inputs import csr

        return Rows(*csr(tuple(self.forward)))

    @cached_property
    def component(self) -> NDArray[Any]:
        """For each vertex the smallest vertex of its component, without regard to directions."""
        from gravel.kernels.arrays import on_host
        from gravel.kernels.components import components
        from gravel.networkx.device import everything_on_gpu, rows_on_gpu

        rows = rows_on_gpu(self) if everything_on_gpu() else self.ascending
        label: NDArray[Any] = on_host(components(*rows, symmetric=not self.directed).component)
        return label

    @cached_property
    def is_connected(self) -> bool:
        """Whether there is one component, without regard to directions."""
        return not bool(self.component.any()) and len(self) > 0

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
