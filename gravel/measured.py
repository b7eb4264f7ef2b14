"""What a graph can measure: centralities, distances and their extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gravel.averages import Estimate
    from gravel.betweenness import EdgeMeasure
    from gravel.distances import Distances
    from gravel.graphs import Direction, Graph
    from gravel.measures import Measure, Progress


class MeasuredGraph:
    """The measures of a `gravel.Graph`."""

    @property
    def _graph(self) -> Graph:
        return cast("Graph", self)

    def closeness(
        self, vertices: Any = None, *, wf_improved: bool = True, progress: Progress | None = None
    ) -> Measure:
        """Compute closeness: the reciprocal of the mean distance to the vertices that a vertex reaches.

        Parameters
        ----------
        vertices : the ids to compute it for; all by default.
        wf_improved : multiply by the share of the other vertices that it reaches, as NetworkX does.
        progress : is called with the vertices that are done and how many there are.

        Raises ValueError for a directed graph, for a vertex listed twice, and for rows that a GPU would read
        in host memory; `UnknownVertex`; and `NotEnoughMemory` where the narrowest batch does not fit.
        """
        from gravel.measures import closeness

        return closeness(self._graph, vertices, wf_improved, progress)

    def harmonic(self, vertices: Any = None, *, progress: Progress | None = None) -> Measure:
        """Compute harmonic centrality: the sum of 1 / distance over all other vertices; as `closeness`."""
        from gravel.measures import harmonic

        return harmonic(self._graph, vertices, progress)

    def neighbourhood(self, hops: int, vertices: Any = None, *, progress: Progress | None = None) -> Measure:
        """Count the vertices within so many hops, the vertex itself included; else as `closeness`."""
        from gravel.measures import neighbourhood

        return neighbourhood(self._graph, hops, vertices, progress)

    def eccentricity(self, vertices: Any = None, *, progress: Progress | None = None) -> Measure:
        """Compute eccentricities: the largest distance to a vertex of the same component.

        For all vertices, few searches bound most of the others. Else as `closeness`.
        """
        from gravel.measures import eccentricity

        return eccentricity(self._graph, vertices, progress)

    def diameter(self) -> int:
        """Return the largest distance within a component; raises as `closeness`, and without vertices."""
        from gravel.measures import extreme

        return extreme(self._graph, "diameter")

    def radius(self) -> int:
        """Return the smallest eccentricity; raises as `closeness`, and without vertices."""
        from gravel.measures import extreme

        return extreme(self._graph, "radius")

    def average_path_length(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        confidence: float = 0.95,
        progress: Progress | None = None,
    ) -> Estimate:
        """Compute the mean distance between vertices that reach each other.

        Parameters
        ----------
        k : search from so many vertices, drawn among those with edges, and estimate; by default from all.
        seed : of the drawn vertices.
        confidence : with which the mean of all pairs lies between the bounds of the estimate.
        progress : is called with the searches that are done and how many there are.

        Raises as `closeness`, and ValueError for a `k` below 1. Without edges the mean is NaN.
        """
        from gravel.averages import average_path_length

        return average_path_length(self._graph, k, seed, confidence, progress)

    def distances(self, sources: Any, targets: Any = None, *, direction: Direction = "out") -> Distances:
        """Find the distance from each source to each target, by a search from each of the fewer.

        Parameters
        ----------
        sources, targets : ids; all vertices by default.
        direction : as of `bfs`.

        Raises as `bfs`, ValueError for a vertex listed twice, and `NotEnoughMemory` for more distances than
        fit.
        """
        from gravel.distances import distances

        return distances(self._graph, sources, targets, direction)

    def betweenness(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        normalized: bool = True,
        endpoints: bool = False,
        progress: Progress | None = None,
    ) -> Measure:
        """Compute betweenness: how many of the shortest paths between two others go through a vertex.

        Of several shortest paths between two vertices, each counts for its part.

        Parameters
        ----------
        k : search from so many vertices, drawn among those with edges, and estimate; by default from all.
        seed : of the drawn vertices.
        normalized : divide by the number of pairs of other vertices, so that 1 is the most.
        endpoints : count a path for its ends, too.
        progress : is called with the searches that are done and how many there are.

        Raises as `closeness`, and ValueError for a `k` below 1 and for more than 10^308 shortest paths.
        """
        from gravel.betweenness import betweenness

        return betweenness(self._graph, k, seed, normalized, endpoints, progress)

    def edge_betweenness(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        normalized: bool = True,
        progress: Progress | None = None,
    ) -> EdgeMeasure:
        """Compute how many shortest paths go through each edge; parameters and errors as `betweenness`."""
        from gravel.betweenness import edge_betweenness

        return edge_betweenness(self._graph, k, seed, normalized, progress)
