"""Searches from many sources at once beside one at a time: milliseconds a source, and what the levels read.

    python -m tests.benchmarks.many_sources kron20 kron22 kron24 grid1200 --sources 64 256 1024
    python -m tests.benchmarks.many_sources kron22 --layouts varint --placements pinned split streamed
    python -m tests.benchmarks.many_sources kron16 kron18 grid300 --backend cpu --sources 64 1024

Graphs are named as in `tests.benchmarks.graphs`. Times are medians of repeated batches: on a GPU by events,
which count the launches between levels, on a CPU by the clock. Some sources of each batch are checked against
a search of their own. "as if" is what the levels that pulled would have read had no row ended early: 4 bytes
of a column and a row of bits for each arc of the graph, over the time of the whole batch. With `--layouts`
encoded rows are searched on a GPU, too, and with `--placements` also rows of all layouts in host memory.
Other libraries are in `tests.benchmarks.measures`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs import prepare as prepare_search
from gravel.kernels.bfs import prepare_rows
from gravel.kernels.distances import many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.layouts import EncodedRows, columns_as_rows, encode
from gravel.kernels.layouts.layout import body_name
from gravel.stages.measuring.rows import Sizes
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import parser_of, timed

CHECKED = 6
"""Sources of a batch that are searched from alone as well."""

BATCHES = 16
"""Batches over which sources are put in order."""


def check(rows: tuple[Any, Any], sources: Any, found: Aggregates) -> list[float]:
    """Compare some sources with searches of their own; returns the milliseconds of these."""
    alone = prepare_search(*rows, symmetric=True, output="distance")
    alone.run(int(sources[0]))
    times = []
    for i in numpy.linspace(0, len(sources) - 1, CHECKED).astype(int).tolist():
        result = alone.run(int(sources[i]))
        times.append(result.milliseconds)
        distance: Any = result.distance if backend_of(rows[0]) == "cpu" else result.distance.get()
        distance = distance[distance >= 0].astype(numpy.int64)
        expected = len(distance), int(distance.sum()), int(distance.max())
        assert (found.reached[i], found.total[i], found.eccentricity[i]) == expected, sources[i]
        inverse = (1 / distance[distance > 0]).sum()
        assert abs(found.reciprocal[i] - inverse) <= 1e-9 * inverse, sources[i]
    return times


def measure(name: str, rows: tuple[Any, Any], count: int, chosen: argparse.Namespace) -> None:
    """Time batches of so many sources and print a line."""
    degrees = numpy.diff(rows[0] if chosen.backend == "cpu" else rows[0].get())
    drawn = numpy.random.default_rng(count).permutation(numpy.flatnonzero(degrees))[
        : (1 + chosen.repeats) * count
    ]
    searches: Any = many.prepare(*rows, symmetric=True, sources=count, batch=count, vertices=chosen.vertices)
    times, found = [], Aggregates.empty(count)
    for repeat in range(1 + chosen.repeats):
        sources = drawn[repeat * count : (repeat + 1) * count]
        found = Aggregates.empty(len(sources))
        clock, _ = timed(lambda sources=sources, found=found: many.run_all(searches, sources, found))
        one_run = searches.batch >= len(sources)
        times.append(searches.milliseconds if one_run and hasattr(searches, "milliseconds") else clock)
    alone = check(rows, sources, found)
    batch = statistics.median(times[1:])
    levels = getattr(searches, "levels", [])
    pulls = sum(direction == "pull" for direction, _, _ in levels)
    read = pulls * len(rows[1]) * (4 + 4 * getattr(searches, "words", 0))
    arcs = float(found.reached.mean()) / max(1, numpy.count_nonzero(degrees)) * len(rows[1])
    print(
        f"{name:>10} {count:5} sources {batch / count:9.4f} ms each, {batch:9.2f} together; one alone "
        f"{statistics.median(alone):8.3f}; {arcs * count / batch / 1e6:8.1f} G arcs/s of all sources; "
        f"{'independent' if searches.independent else f'{pulls} of {len(levels)} levels pulled'}, "
        f"as if {read / batch / 1e6:6.0f} GB/s; {searches.bytes / 1e6:,.0f} MB",
        flush=True,
    )
    if chosen.levels:
        for direction, vertices, arcs_ahead in levels:
            print(f"{'':>12}{direction} {vertices:,} vertices, {arcs_ahead:,} arcs ahead")


def placed(rows: EncodedRows, placement: str) -> tuple[EncodedRows, dict[str, Any]]:
    """Put what grows with the arcs where it is asked for; a split has half of it on the GPU."""
    from gravel.kernels.placement.pinned import pin

    if placement == "device":
        return rows, {}
    name = body_name(rows)
    body = rows.arrays[name].get()
    if placement == "streamed":
        return replace(rows, arrays=rows.arrays | {name: body}), {}
    there = replace(rows, arrays=rows.arrays | {name: pin(body).view()})
    return there, {"split": True} if placement == "split" else {}


def measure_layouts(name: str, rows: tuple[Any, Any], count: int, chosen: argparse.Namespace) -> None:
    """Time batches on a GPU over encoded rows, and over rows in host memory."""
    sources = numpy.random.default_rng(count).permutation(numpy.flatnonzero(numpy.diff(rows[0].get())))[
        :count
    ]
    expected = None
    for layout in dict.fromkeys(("csr", *chosen.layouts)):
        encoded = columns_as_rows(*rows) if layout == "csr" else encode(layout, *rows)
        sizes = Sizes(len(rows[0]) - 1, len(rows[1]), len(encoded.arrays.get("stream", ())) or None)
        for placement in dict.fromkeys(("device", *chosen.placements)):
            there, options = placed(encoded, placement)
            given: Any = {
                "symmetric": True,
                "sources": count,
                "batch": count,
                "independent": False,
                **options,
            }
            if placement == "split":
                given["memory"] = sizes.batch(count, encoded=layout != "csr") + sizes.body // 2
            searches: Any = many.prepare_rows(there, **given)
            times = []
            for _ in range(1 + chosen.repeats):
                found = Aggregates.empty(count)
                searches.run(sources, found)
                times.append(searches.milliseconds)
            expected = found.total if expected is None else expected
            assert (found.total == expected).all(), layout
            taken = statistics.median(times[1:])
            copied = f", {searches.link_bytes / 1e9:.2f} GB copied" if placement == "streamed" else ""
            print(
                f"{name:>10} {count:5} sources {taken:9.2f} ms together, rows {layout}, {placement}{copied}",
                flush=True,
            )
            del searches, there


def measure_order(name: str, rows: tuple[Any, Any], chosen: argparse.Namespace) -> None:
    """Time batches whose sources run in step beside batches in random order, in turns."""
    from gravel.kernels.distances.in_step import in_step

    degrees = numpy.diff(rows[0] if chosen.backend == "cpu" else rows[0].get())
    count = max(chosen.sources) * BATCHES
    drawn = numpy.random.default_rng(7).permutation(numpy.flatnonzero(degrees))[:count]
    batch = max(chosen.sources)
    searches: Any = many.prepare(*rows, symmetric=True, sources=len(drawn), batch=batch)
    found, times = {}, {"random": [], "in step": []}
    many.run_all(searches, drawn[:batch], Aggregates.empty(len(drawn[:batch])))
    for _ in range(chosen.repeats):
        for order in times:
            place = numpy.arange(len(drawn))
            begun = time.perf_counter()
            if order == "in step":
                place = in_step(*rows, drawn)
                assert place is not None
            results = Aggregates.empty(len(drawn))
            many.run_all(searches, drawn[place], results)
            times[order].append((time.perf_counter() - begun) * 1e3)
            found[order] = results.back(place)
    for one in ("reached", "total", "eccentricity", "reciprocal"):
        assert (getattr(found["random"], one) == getattr(found["in step"], one)).all()
    each = {order: statistics.median(several) / len(drawn) for order, several in times.items()}
    print(
        f"{name:>10} {len(drawn):5} sources in batches of {searches.batch}: random order "
        f"{each['random']:.4f} ms each, in step {each['in step']:.4f} (with the search that orders them)",
        flush=True,
    )


def measure_words(name: str, rows: tuple[Any, Any], chosen: argparse.Namespace) -> None:
    """Time the strategy that labels all vertices for 64 sources."""
    degrees = numpy.diff(rows[0] if chosen.backend == "cpu" else rows[0].get())
    sources = numpy.random.default_rng(64).permutation(numpy.flatnonzero(degrees))[:64].tolist()
    plain = None
    for layout in ("csr", *chosen.layouts):
        for output in ("distance", "both"):
            given: Any = {"symmetric": True, "strategy": "multi_source", "output": output}
            search: Any = prepare_rows(encode(layout, *rows), **given)
            batches = [search.run_many(sources) for _ in range(1 + chosen.repeats)]
            batch = statistics.median(each.milliseconds for each in batches[1:])
            if plain is None and output == "distance":
                plain = batches[-1].distance.copy()
            same = bool((plain == batches[-1].distance).all())
            print(
                f"{name:>10}    64 sources {batch / 64:9.4f} ms each, labels {output}, rows {layout}"
                f"{'' if same else ': DISTANCES DIFFER'} (multi_source)",
                flush=True,
            )
            del search, batches


def main() -> None:
    """Measure all that is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--sources", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--layouts", nargs="*", default=[], help="of encoded rows that are searched, too")
    parser.add_argument(
        "--placements", nargs="*", default=[], choices=("pinned", "split", "streamed"), help="of rows, too"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--vertices", action="store_true", help="sums for each vertex as well")
    parser.add_argument("--levels", action="store_true", help="print the levels of the last batch")
    chosen = parser.parse_args()
    for name in chosen.graphs:
        rows = rows_of(name, chosen.backend)
        print(f"{name}: {len(rows[0]) - 1:,} vertices, {len(rows[1]):,} arcs")
        for count in chosen.sources:
            measure(name, rows, count, chosen)
            if (chosen.layouts or chosen.placements) and chosen.backend == "cuda":
                measure_layouts(name, rows, count, chosen)
        measure_order(name, rows, chosen)
        measure_words(name, rows, chosen)


if __name__ == "__main__":
    main()
