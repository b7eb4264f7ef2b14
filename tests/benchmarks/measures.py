"""Measures on the CPU beside other libraries: medians of runs in turns, each result compared.

    python -m tests.benchmarks.measures                     # one thread each, in time of the processor
    python -m tests.benchmarks.measures kron16 --only closeness pairs --peers igraph
    python -m tests.benchmarks.measures --threads 2         # by the clock, on an idle machine

`kron16` is a symmetric Graph500 graph (edge factor 16); any other name is a file beside the checkout, whose
arcs count both ways except for `strong`. Weights are uniform, 1 to 255, drawn by the ends of an edge. Sources
have arcs, and are drawn by PCG64(7). Libraries have their graph before the time begins. Gravel searches from
all sources at once; a peer from as many as it does within `--seconds`, and the time of one is compared.
Peers are in `tests.benchmarks.measure_peers`, with what they lack.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

from tests.benchmarks.measure_peers import MEASURES, PEERS, Rows, Works
from tests.benchmarks.program import parser_of

GRAPHS = ("kron16", "kron18", "USA-road-NY.pace.gr.xz", "cnr-2000.graph-txt.gz")

SOURCES = {"betweenness": 256, "edges": 256}
"""Sources of measures that do not have 64."""

CHECKED = 2
"""Sources whose results are compared."""


def rows_of(name: str, *, directed: bool, floats: bool = False) -> Rows:
    """Make the rows of a named graph or a file."""
    from tests.benchmarks import graphs, sssp

    if not directed:
        return Rows(*sssp.rows_of(name, floats=floats), directed=False)
    offsets, columns = graphs.rows_of(name, "cpu", direction="as_given")
    return Rows(offsets, columns, numpy.ones(len(columns), numpy.uint32), directed=True)


def gravel(rows: Rows) -> Works:
    """Return gravel's own calls, made ready as users of `gravel.Graph` have them."""
    from gravel.kernels import point_to_point
    from gravel.kernels.betweenness.sums import betweenness
    from gravel.kernels.bfs import prepare as prepare_search
    from gravel.kernels.distances.closeness import closeness
    from gravel.kernels.distances.eccentricity import eccentricities
    from gravel.kernels.distances.many import aggregate
    from gravel.kernels.sssp import prepare as prepare_paths
    from gravel.kernels.strong_components import strong_components

    plain = rows.row_offsets, rows.column_indices
    if rows.directed:
        return {"strong": lambda: strong_components(*plain).component}
    search = prepare_search(*plain, symmetric=True, output="distance")
    paths = prepare_paths(*plain, rows.weights, predecessor=False)
    pairs = point_to_point.prepare(*plain)

    def sums(sources: list[int]) -> Any:
        return aggregate(*plain, sources, symmetric=True)

    return {
        "distances": lambda sources: [search.run(each).distance.copy() for each in sources],
        "closeness": lambda sources: closeness(sums(sources), rows.vertices, wf_improved=False),
        "harmonic": lambda sources: sums(sources).reciprocal,
        "eccentricity": lambda sources: sums(sources).eccentricity,
        "diameter": lambda: eccentricities(*plain, "diameter", in_parts=True).max(),
        "betweenness": lambda sources: betweenness(plain, plain, sources),
        "edges": lambda sources: betweenness(plain, plain, sources, of_arcs=True),
        "weighted": lambda sources: [paths.run(each).distance.copy() for each in sources],
        "pairs": lambda sources, targets: pairs.run(sources, targets, path=False).length,
        "strong": lambda: strong_components(*plain).component,
    }


def as_array(found: Any) -> Any:
    """Return results as floats, with infinity for what is not reached."""
    if hasattr(found, "to_dense"):
        found = found.to_dense(fill_value=-1)
    elif isinstance(found, list) and found and hasattr(found[0], "to_dense"):
        found = [each.to_dense(fill_value=-1) for each in found]
    values = numpy.asarray(found, numpy.float64)
    return numpy.where((values < 0) | (values > 1e300), numpy.inf, values)


def agree(measure: str, found: Any, expected: Any) -> bool:
    """Say whether two libraries found the same; drawn sources of networkit's betweenness are its own."""
    if measure == "edges":
        # Gravel has a value of each arc, igraph half of those of both arcs of an edge, in another order.
        return bool(numpy.isclose(sum(found), sum(expected) / (1 if len(found) == len(expected) else 2)))
    one, other = as_array(found), as_array(expected)
    if measure == "strong":
        pairs = numpy.unique(numpy.stack([one, other]), axis=1).shape[1]
        return pairs == len(numpy.unique(one)) == len(numpy.unique(other))
    return bool(numpy.allclose(one, other, rtol=1e-9))


class Timed:
    """One measure by one library: the seconds of each run, and from how many sources it searches."""

    def __init__(self, work: Callable[..., Any], arguments: list[Any], clock: Callable[[], float]) -> None:
        self._work, self._arguments, self._clock = work, arguments, clock
        self.count = len(arguments[0]) if arguments else 1
        self.times: list[float] = []

    def first(self) -> tuple[Any, float]:
        """Return results of a few sources, and the seconds of one."""
        some = [each[:CHECKED] for each in self._arguments]
        self._work(*some)
        begun = self._clock()
        found = self._work(*some)
        return found, (self._clock() - begun) / (CHECKED if some else 1)

    def run(self) -> None:
        """Time a run; keeps milliseconds a source."""
        some = [each[: self.count] for each in self._arguments]
        begun = self._clock()
        self._work(*some)
        self.times.append((self._clock() - begun) * 1e3 / self.count)

    def __str__(self) -> str:
        middle = statistics.median(self.times)
        spread = (max(self.times) - min(self.times)) / middle if middle else 0.0
        return f"{middle:12.4f} ms, spread {spread:4.0%}, {self.count:3} a run"


def measure(name: str, measures: list[str], chosen: argparse.Namespace) -> list[str]:
    """Print a line of each measure and library; returns those where gravel is slower."""
    slower = []
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    directed = measures == ["strong"]
    rows = rows_of(name, directed=directed, floats=chosen.floats)
    with_arcs = numpy.flatnonzero(numpy.diff(rows.row_offsets))
    random = numpy.random.default_rng(7)
    print(f"{name}: {rows.vertices:,} vertices, {len(rows.column_indices):,} arcs", flush=True)
    libraries = {"gravel": gravel(rows)} | {peer: PEERS[peer](rows) for peer in chosen.peers}
    for each in measures:
        sources = random.choice(with_arcs, SOURCES.get(each, chosen.sources), replace=False).tolist()
        targets = random.choice(with_arcs, len(sources), replace=False).tolist()
        arguments = {"pairs": [sources, targets], "diameter": [], "strong": []}.get(each, [sources])
        timed = {
            library: Timed(works[each], arguments, clock)
            for library, works in libraries.items()
            if each in works
        }
        expected = None
        for library, one in timed.items():
            found, seconds = one.first()
            expected = found if library == "gravel" else expected
            own = library == "networkit" and each == "betweenness"
            assert own or agree(each, found, expected), f"{library} differs in {each} of {name}"
            if library != "gravel" and arguments:
                one.count = min(one.count, max(CHECKED, int(chosen.seconds / max(seconds, 1e-9))))
        for _ in range(chosen.repeats):
            for one in timed.values():
                one.run()
        base = statistics.median(timed["gravel"].times)
        for library, one in timed.items():
            times = statistics.median(one.times) / base
            print(f"  {each:13} {library:10} {one}  {times:8.2f} x gravel", flush=True)
            if times < 1:
                slower.append(f"{name}, {each}: {library} takes {times:.2f} of gravel's time")
    return slower


def main() -> None:
    """Measure what the command line names."""
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--sources", type=int, default=64)
    parser.add_argument("--floats", action="store_true", help="weights are float32 from 0 to 1")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="the most that a run of a peer takes")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(chosen.threads)
    from gravel.kernels.threads import set_threads

    set_threads(chosen.threads)
    slower = []
    for name in chosen.graphs:
        undirected = [each for each in chosen.only if each != "strong"]
        if undirected:
            slower += measure(name, undirected, chosen)
        if "strong" in chosen.only and not name.startswith(("kron", "USA")):
            slower += measure(name, ["strong"], chosen)
    print("\n".join(slower) or "gravel is faster than each")


if __name__ == "__main__":
    main()
