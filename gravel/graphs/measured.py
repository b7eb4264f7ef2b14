"""Measures of a graph as its methods: centralities, distances and their extremes."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from gravel.errors import tell_of_memory
from gravel.memory import refuse_need
from gravel.progress import measured, report, shown

if TYPE_CHECKING:
    import threading

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows
    from gravel.progress import Progress
    from gravel.results.measures import Distances, EdgeMeasure, Estimate, Measure
    from gravel.stages.turning import Direction

Method = TypeVar("Method", bound=Callable[..., Any])


def one_at_a_time(method: Method) -> Method:
    """Run one method of a graph at a time; methods of one thread may call each other."""

    @functools.wraps(method)
    def run(graph: Any, /, *given: Any, **asked: Any) -> Any:
        with graph._lock:
            try:
                return method(graph, *given, **asked)
            except KeyboardInterrupt as stopped:
                forget(stopped)
                raise

    return cast(Method, run)


def forget(stopped: KeyboardInterrupt) -> None:
    """Clear the frames of an interrupted call: a notebook keeps the traceback, which keeps their memory."""
    traceback.clear_frames(stopped.__traceback__)


class MeasuredGraph:
    """The measures of a `gravel.Graph`."""

    _rows: PlacedRows
    _ids: Ids
    _lock: threading.RLock
    bfs: Callable[..., Any]

    def __init_subclass__(cls) -> None:
        tell_of_memory(cls)

    @one_at_a_time
    def closeness(
        self,
        vertices: Any = None,
        *,
        k: int | None = None,
        seed: int = 0,
        wf_improved: bool = True,
        by: Literal["arcs", "weights"] = "arcs",
        direction: Direction = "out",
        progress: Progress | None = None,
    ) -> Measure:
        """Compute closeness: the reciprocal of the mean distance to the vertices that a vertex reaches.

        Parameters
        ----------
        vertices : the ids to compute it for; all by default.
        k : estimate it from the distances to so many vertices, drawn among those that others may reach
            (Eppstein and Wang, 2004). A vertex counts those other than itself that it reaches; their share
            stands for the share of all vertices. By default, and from a `k` of all, values are exact.
        seed : of the drawn vertices.
        wf_improved : multiply by the share of the other vertices that it reaches, as NetworkX does.
        by : count "arcs", or add up their "weights", on the CPU also where the graph is on a GPU.
        direction : as of `bfs`. In a directed graph "out" takes distances from the vertex, "in" those to it.
            NetworkX's closeness and harmonic centrality are those of "in".
        progress : is called with the vertices that are done and how many there are. By default, in a notebook
            and at a terminal, a call of more than 2 seconds shows how far it is.

        Estimates have `errors`: the largest standard errors that the sample allows, by the smallest and the
        largest distance of each vertex and the share that it reaches (Bhatia and Davis, 2000).

        Raises ValueError for a vertex listed twice, a `k` below 1, weights that are missing, negative or not
        finite, and for rows that a GPU would read in host memory; `UnknownVertex`; and `NotEnoughMemory`
        where the narrowest batch does not fit.
        """
        from gravel.graphs.centralities import closeness

        with measured("closeness", progress) as report:
            asked = (k, seed, wf_improved, by, direction, report)
            return closeness(self._rows, self._ids, vertices, *asked)

    @one_at_a_time
    def harmonic(
        self, vertices: Any = None, *, direction: Direction = "out", progress: Progress | None = None
    ) -> Measure:
        """Compute harmonic centrality: the sum of 1 / distance over all other vertices; as `closeness`."""
        from gravel.graphs.measures import by_sources

        rows = self._rows.in_direction(direction)
        with measured("harmonic", progress) as report:
            return by_sources(rows, self._ids, "harmonic", vertices, report)

    @one_at_a_time
    def neighbourhood(
        self,
        hops: int,
        vertices: Any = None,
        *,
        direction: Direction = "out",
        progress: Progress | None = None,
    ) -> Measure:
        """Count the vertices within so many hops, the vertex itself included; else as `closeness`.

        Hops beyond the largest distance count all that is reached.
        """
        from gravel.graphs.measures import neighbourhood

        with measured("neighbourhood", progress) as report:
            return neighbourhood(self._rows.in_direction(direction), self._ids, hops, vertices, report)

    @one_at_a_time
    def eccentricity(
        self, vertices: Any = None, *, direction: Direction = "out", progress: Progress | None = None
    ) -> Measure:
        """Compute eccentricities: the largest distance to a vertex that is reached; else as `closeness`.

        For all vertices of an undirected graph, few searches bound most of the others. NetworkX's of a
        directed graph are those of "out", and defined if every vertex reaches all others.
        """
        from gravel.graphs.measures import eccentricity

        with measured("eccentricity", progress) as report:
            return eccentricity(self._rows.in_direction(direction), self._ids, vertices, report)

    @one_at_a_time
    def diameter(self, *, direction: Direction = "out", progress: Progress | None = None) -> int:
        """Return the largest distance within a component; raises as `closeness`, and without vertices.

        `progress` is called with the vertices whose eccentricity is decided and how many there are.

        A directed graph has one with `direction` "both": else ValueError.
        """
        from gravel.graphs.measures import extreme

        with measured("diameter", progress) as report:
            return extreme(self._rows.in_direction(direction), "diameter", report)

    @one_at_a_time
    def radius(self, *, direction: Direction = "out", progress: Progress | None = None) -> int:
        """Return the smallest eccentricity; parameters and errors as of `diameter`."""
        from gravel.graphs.measures import extreme

        with measured("radius", progress) as report:
            return extreme(self._rows.in_direction(direction), "radius", report)

    @one_at_a_time
    def average_path_length(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        confidence: float = 0.95,
        direction: Direction = "out",
        progress: Progress | None = None,
    ) -> Estimate:
        """Compute the mean distance between vertices that reach each other.

        Parameters
        ----------
        k : search from so many vertices, drawn among those with edges, and estimate; by default from all.
        seed : of the drawn vertices.
        confidence : with which the mean of all pairs lies between the bounds of the estimate.
        direction : as of `bfs`.
        progress : is called with the searches that are done and how many there are.

        Raises as `closeness`, and ValueError for a `k` below 1. Without edges the mean is NaN.
        """
        from gravel.graphs.measured_rows import searched_rows
        from gravel.graphs.measures import drawn, fitting, since
        from gravel.kernels.distances.average import mean_distance
        from gravel.kernels.distances.many import aggregate_rows
        from gravel.kernels.layouts.units import offsets_of
        from gravel.results.measures import Estimate

        rows = self._rows.in_direction(direction)
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")
        started = time.perf_counter()
        there = searched_rows(rows, "average_path_length")
        starts, candidates = drawn(offsets_of(there.rows), there.permutation, k, seed)
        options: dict[str, Any] = {"memory": there.memory, "split": there.split}
        options["symmetric"] = not rows.directed
        with measured("average_path_length", progress, "sources") as report:
            found = fitting(lambda: aggregate_rows(there.rows, starts, progress=report, **options))
        value, low, high = mean_distance(found, candidates, confidence)
        return Estimate(value, low, high, confidence, len(starts), since(started))

    @one_at_a_time
    @shown("distances")
    def distances(self, sources: Any, targets: Any = None, *, direction: Direction = "out") -> Distances:
        """Find the distance from each source to each target, by a search from each of the fewer.

        Parameters
        ----------
        sources, targets : ids; all vertices by default.
        direction : as of `bfs`.

        Raises as `bfs`, ValueError for a vertex listed twice, and `NotEnoughMemory` for more distances than
        fit.
        """
        import numpy

        from gravel.graphs.measured_rows import found_together
        from gravel.graphs.measures import chosen_vertices, since
        from gravel.kernels.arrays import on_host
        from gravel.results.measures import Distances
        from gravel.stages.sizes import Need

        rows, ids = self._rows, self._ids
        begins, ends = chosen_vertices(ids, sources), chosen_vertices(ids, targets)
        size = 4 * len(begins) * len(ends)
        what = f"{len(begins):,} x {len(ends):,} distances"
        refuse_need(what, Need(size, 0, ()), rows.machine, rows.host_memory, "Ask for fewer at a time")
        started = time.perf_counter()
        array = numpy.empty((len(begins), len(ends)), numpy.int32)
        starts, others, into = begins, ends, array
        if len(ends) < len(begins):  # the smaller set is searched from, against the direction
            starts, others, into = ends, begins, array.T
            opposite: dict[Direction, Direction] = {"out": "in", "in": "out"}
            direction = opposite.get(direction, direction)
        if not found_together(rows.in_direction(direction), starts, others, into):
            for place, name in enumerate(ids.listed(starts)):
                found = self.bfs(name, "distance", direction=direction).distance
                into[place] = on_host(found.array[others])
                report(place + 1, len(starts), "searches")
        return Distances(ids, begins, ends, array, since(started))

    @one_at_a_time
    def betweenness(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        normalized: bool = True,
        endpoints: bool = False,
        by: Literal["arcs", "weights"] = "arcs",
        direction: Direction = "out",
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
        by : as of `closeness`. Paths by weights are of equal length where their sums are, added up from the
            source on. Arcs of weight zero count as in NetworkX, with the neighbours of a vertex in the order
            of the rows; where shortest paths contain them, their number has no definition.
        direction : as of `bfs`. Against all arcs the same paths lead back, so "in" differs from "out" only
            for a sample.
        progress : as of `closeness`, of searches.

        Estimates have `errors`: the largest standard errors that the sample allows. They follow from the
        share of each vertex and the most that one source could give (Bhatia and Davis, 2000).

        Raises as `closeness`, and ValueError for more than 10^308 shortest paths.
        """
        from gravel.graphs.centralities import betweenness

        rows = self._rows.in_direction(direction)
        with measured("betweenness", progress, "sources") as report:
            asked = (k, seed, normalized, endpoints, by, direction, report)
            return betweenness(rows, self._ids, *asked)

    @one_at_a_time
    def edge_betweenness(
        self,
        k: int | None = None,
        *,
        seed: int = 0,
        normalized: bool = True,
        by: Literal["arcs", "weights"] = "arcs",
        direction: Direction = "out",
        progress: Progress | None = None,
    ) -> EdgeMeasure:
        """Compute how many shortest paths go through each edge; parameters and errors as `betweenness`.

        The ends of an arc are in its direction, those of an edge ascend.
        """
        from gravel.graphs.centralities import edge_betweenness

        rows = self._rows.in_direction(direction)
        with measured("edge_betweenness", progress, "sources") as report:
            return edge_betweenness(rows, self._ids, k, seed, normalized, by, direction, report)

    @one_at_a_time
    def pagerank(
        self,
        *,
        damping: float = 0.85,
        tolerance: float = 1e-6,
        personalization: Any = None,
        max_iterations: int = 100,
        by: Literal["auto", "arcs", "weights"] = "auto",
        direction: Direction = "out",
        progress: Progress | None = None,
    ) -> Measure:
        """Compute PageRank: how often a random surfer is at each vertex; the ranks add up to 1.

        Parameters
        ----------
        damping : the probability to follow an arc; else the surfer jumps to any vertex.
        tolerance : stop where all ranks together change by less than this times the number of vertices.
        personalization : where the surfer jumps to, also from vertices without arcs: a mapping of ids to
            numbers, or ids, one as often as another; by default every vertex.
        max_iterations : of the power method.
        by : follow each arc of a vertex as often ("arcs"), or by their "weights"; "auto" takes weights if any
            are there.
        direction : as of `bfs`; ranks flow along arcs ("out") or against them ("in"). With "both", arcs that
            lead both ways have the smaller weight.
        progress : is called with the iterations that are done and how many there are at most.

        Start, rule to stop, iterations and ranks are those of NetworkX. Equal calls have equal results to the
        last bit, on the CPU with any number of threads.

        Raises ArithmeticError, with the residual, where `max_iterations` are too few; ValueError for a value
        that a parameter cannot have, negative weights, and rows that a GPU would read in host memory;
        `UnknownVertex`; and `NotEnoughMemory`.
        """
        from gravel.graphs.measures import pagerank

        asked = {"damping": damping, "tolerance": tolerance, "max_iterations": max_iterations}
        return pagerank(self._rows, self._ids, direction, by, personalization, progress=progress, **asked)


tell_of_memory(MeasuredGraph)
