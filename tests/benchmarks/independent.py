"""Searches of their own on deep graphs: where bits lie, threads of a block, layouts, the order of sources.

    python -m tests.benchmarks.independent USA-road-NE.pace.gr.xz grid1000 tree1000000 --sources 64 264 1024

Graphs are named as in `tests.benchmarks.many_sources`; `treeN` is a random tree of N vertices, deep
enough to be searched so. Some sources are checked against the CPU, and all results of a variant against those
of the first.
Times are medians of events around a batch, of all variants and then again, so that a drift shows.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from gravel.kernels.cuda import shared_bytes
from gravel.kernels.distances import independent_cuda, many
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.layouts import columns_as_rows, encode
from gravel.kernels.placement.device_copies import on_device
from tests.benchmarks.many_sources import rows_of

CHECKED = 6
"""Sources of a batch that are searched on the CPU as well."""

WINDOW = 2000
"""The parent of a vertex of a tree is one of so many before it."""

FIELDS = ("reached", "total", "reciprocal", "eccentricity")

VARIANTS = {
    "as chosen": None,
    "bits shared, 1 x 1024": (True, 1024, 1),
    "bits shared, 1 x 768": (True, 768, 1),
    "bits shared, 1 x 512": (True, 512, 1),
    "bits shared, 2 x 512": (True, 512, 2),
    "bits beside, 2 x 512": (False, 512, 2),
    "bits beside, 4 x 256": (False, 256, 4),
}
"""Whether the bits are in shared memory, and blocks of how many threads on a multiprocessor."""


def tree(vertices: int) -> tuple[Any, Any]:
    """Draw a tree whose vertices have parents a little before them."""
    from gravel.kernels import csr

    child = numpy.arange(1, vertices)
    back = numpy.random.default_rng(1).integers(1, numpy.minimum(child, WINDOW) + 1)
    rows = csr.build((child - back).astype(numpy.uint32), child.astype(numpy.uint32), vertices)
    return on_device(rows.row_offsets), on_device(rows.column_indices)


@contextmanager
def planned(variant: tuple[bool, int, int] | None, vertices: int) -> Iterator[bool]:
    """Prepare searches by a variant; False where a block's bits and frontiers do not fit."""
    if variant is None:
        yield True
        return
    there, threads, blocks = variant
    limit = shared_bytes() // blocks - independent_cuda.STATIC_SHARED * blocks
    taken = 4 * -(-vertices // 32) if there else 0

    def plan(bits: int, item: int) -> tuple[int, int, int, bool]:
        room = min(independent_cuda.MAX_ROOM, (limit - taken) // (2 * item))
        return taken + 2 * room * item, threads, room, there

    before, independent_cuda.shared_plan = independent_cuda.shared_plan, plan
    try:
        yield taken + 8 * independent_cuda.LEAST_ROOM <= limit
    finally:
        independent_cuda.shared_plan = before


def times(rows: Any, sources: Any, repeats: int) -> tuple[Aggregates, list[float], Any]:
    """Search from all sources several times; returns results, later milliseconds, and the search."""
    searches: Any = many.prepare_rows(rows, symmetric=True, sources=len(sources), independent=True)
    taken, found = [], Aggregates.empty(len(sources))
    for _ in range(1 + repeats):
        found = Aggregates.empty(len(sources))
        taken.append(0.0)
        for first in range(0, len(sources), searches.batch):
            part = sources[first : first + searches.batch]
            searches.run(part, found.part(first, first + len(part)))
            taken[-1] += searches.milliseconds
    return found, taken[1:], searches


def same(found: Aggregates, expected: Aggregates) -> bool:
    """Compare to the last bit."""
    return all((getattr(found, each) == getattr(expected, each)).all() for each in FIELDS)


def measure(name: str, rows: tuple[Any, Any], count: int, chosen: argparse.Namespace) -> None:
    """Time all variants, and print a line of each."""
    offsets, columns = (each.get() for each in rows)
    n = len(offsets) - 1
    degrees = numpy.flatnonzero(numpy.diff(offsets))
    sources = numpy.random.default_rng(count).permutation(degrees)[:count]
    expected, _, _ = times(columns_as_rows(*rows), sources, 0)
    few = numpy.linspace(0, len(sources) - 1, CHECKED).astype(int)
    alone = many.aggregate(offsets, columns, sources[few], symmetric=True, independent=True)
    assert all((getattr(expected, each)[few] == getattr(alone, each)).all() for each in FIELDS), name

    def line(what: str, encoded: Any, order: Any, to: Aggregates) -> None:
        found, taken, searches = times(encoded, order, chosen.repeats)
        wrong = "" if same(found, to) else "  RESULTS DIFFER"
        each = statistics.median(taken) / len(order)
        print(
            f"{name[-24:]:>24} {count:5} {what:24} {each:8.4f} ms each  {min(taken) / len(order):8.4f} least"
            f"  {searches.blocks:4} blocks  room {searches._room:5}  {searches.bytes / 1e6:7,.0f} MB{wrong}",
            flush=True,
        )

    for _ in range(2):
        for what, variant in VARIANTS.items():
            with planned(variant, n) as fits:
                if fits:
                    line(what, columns_as_rows(*rows), sources, expected)
    ordered = numpy.sort(sources)
    line(
        "sources by number",
        columns_as_rows(*rows),
        ordered,
        expected.back(numpy.argsort(numpy.argsort(sources))),
    )
    share, independent_cuda.QUEUE_SHARE = independent_cuda.QUEUE_SHARE, 1
    line("queues for all vertices", columns_as_rows(*rows), sources, expected)
    independent_cuda.QUEUE_SHARE = share
    for layout in chosen.layouts:
        line(layout, encode(layout, *rows), sources, expected)


def main() -> None:
    """Measure all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--sources", type=int, nargs="+", default=[64, 264, 1024])
    parser.add_argument("--layouts", nargs="*", default=["varint", "blocks", "elias_fano"])
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    for name in chosen.graphs:
        rows = tree(int(name.removeprefix("tree"))) if name.startswith("tree") else rows_of(name, "cuda")
        print(f"{name}: {len(rows[0]) - 1:,} vertices, {len(rows[1]):,} arcs")
        for count in chosen.sources:
            measure(name, rows, count, chosen)


if __name__ == "__main__":
    main()
