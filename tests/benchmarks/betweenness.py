"""Betweenness and closeness: milliseconds a source.

    python -m tests.benchmarks.betweenness kron14 kron16 grid150 --backend cpu
    python -m tests.benchmarks.betweenness kron18 kron21 grid1200

Graphs are named as in `tests.benchmarks.graphs`. Times are medians of repeated batches of drawn sources, on a
GPU by events. Sums are checked: those of vertices against the distances of the same sources, and on a GPU
against the CPU at scale 16 and below. Other libraries are in `tests.benchmarks.measures`.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy

from gravel.kernels.betweenness.interface import Wanted
from gravel.kernels.betweenness.sums import arranged, betweenness, prepare
from gravel.kernels.distances.many import aggregate
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import parser_of, timed

SMALL = 1 << 16
"""Vertices up to which a GPU is checked against the CPU."""


def sources_of(rows: tuple[Any, Any], count: int, backend: str) -> Any:
    """Draw vertices that have arcs."""
    degrees = numpy.diff(rows[0] if backend == "cpu" else rows[0].get())
    return numpy.random.default_rng(count).permutation(numpy.flatnonzero(degrees))[:count]


def check(rows: tuple[Any, Any], sources: Any, total: Any, backend: str) -> None:
    """Compare the sum over vertices with the distances, and the sums of a small graph with the CPU's."""
    found = aggregate(*rows, sources, symmetric=True)
    expected = float((found.total - (found.reached - 1)).sum())
    assert abs(total.sum() - expected) <= 1e-8 * expected, (total.sum(), expected)
    if backend == "cuda" and len(total) <= SMALL:
        host = rows[0].get(), rows[1].get()
        assert numpy.allclose(total, betweenness(host, host, sources), rtol=1e-9, atol=1e-9)


def measure(name: str, rows: tuple[Any, Any], chosen: argparse.Namespace) -> None:
    """Time each form and print a line for each."""
    forms: dict[str, dict[str, Any]] = {"vertices": {}, "edges": {"of_arcs": True}}
    deeps = (False, True) if chosen.backend == "cuda" else (None,)
    for form, options in forms.items():
        for deep in deeps:
            sums: Any = prepare(Wanted(rows, rows, chosen.sources, **options), deep=deep)
            drawn = sources_of(rows, chosen.sources, chosen.backend)
            drawn = arranged(rows, rows, drawn)
            times = []
            for repeat in range(1 + chosen.repeats):
                before = sums.get()
                clock, events = 0.0, 0.0
                for first in range(0, len(drawn), sums.batch):
                    some = drawn[first : first + sums.batch]
                    clock += timed(lambda sums=sums, some=some: sums.run(some))[0]
                    events += getattr(sums, "milliseconds", 0.0)
                if repeat:
                    times.append((events or clock) / len(drawn))
                elif form == "vertices":
                    check(rows, drawn, sums.get() - before, chosen.backend)
            arcs = len(rows[1]) / statistics.median(times) / 1e6
            print(
                f"{name:>10} betweenness of {form:8} {sums.form:>12}: "
                f"{statistics.median(times):9.4f} ms each of {len(drawn)} sources, {arcs:7.2f} G arcs/s, "
                f"{sums.bytes / 1e6:,.0f} MB",
                flush=True,
            )
    drawn = sources_of(rows, max(chosen.sources, 1024), chosen.backend)
    aggregate(*rows, drawn, symmetric=True)
    each = min(timed(lambda: aggregate(*rows, drawn, symmetric=True))[0] for _ in range(2)) / len(drawn)
    print(f"{name:>10} closeness of {len(drawn)} vertices: {each:9.4f} ms each", flush=True)


def main() -> None:
    """Measure all that is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--sources", type=int, default=256)
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    for name in chosen.graphs:
        rows = rows_of(name, chosen.backend)
        print(f"{name}: {len(rows[0]) - 1:,} vertices, {len(rows[1]):,} arcs")
        measure(name, rows, chosen)


if __name__ == "__main__":
    main()
