"""Kernels that read and write rows, over whole and damaged bytes: what the drill of sanitizers runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cupy
import numpy

from gravel.kernels.bfs import prepare_rows as search_rows
from gravel.kernels.components import prepare_rows as join_rows
from gravel.kernels.layouts import EncodedRows, decode, device_rows, encode
from gravel.kernels.layouts.counting import list_units
from gravel.kernels.layouts.varint.checkpoints import add_checkpoints
from tests.kernels.conformance import csr_of
from tests.kernels.layouts.visits import first_neighbours, visit_kernel

GRID = (4,), (128,)
DAMAGED = 6
"""Streams with a few bytes changed, and one of random bytes besides."""


def hubs() -> tuple[Any, Any]:
    """Long and short rows of every kind, uint32."""
    random = numpy.random.default_rng(2)
    rows = [
        numpy.sort(random.integers(0, 1 << 32, 1500)),
        numpy.array([0, 0, (1 << 32) - 1]),
        numpy.arange(700),
        numpy.array([], int),
        numpy.cumsum(random.integers(1, 4, 600)),
        numpy.full(300, 77),
        numpy.arange(257) * 7,
    ]
    offsets = numpy.cumsum([0, *map(len, rows)]).astype(numpy.int64)
    return offsets, numpy.concatenate(rows).astype(numpy.uint32)


def visit_all(rows: EncodedRows) -> None:
    """Visit all units, one by one and 32 to a warp, with neighbours below 5,000 alone; both must agree."""
    unit_rows, units = list_units(rows)
    count = numpy.uint64(len(units))
    arguments = *device_rows(rows, bound=5000), unit_rows, units, count
    counts = cupy.zeros(len(units), cupy.int64)
    tallied, sums = (cupy.zeros(len(units), cupy.uint64) for _ in range(2))
    visit_kernel(rows, "measure_units")(*GRID, (*arguments, counts))
    visit_kernel(rows, "tally_units")(*GRID, (*arguments, tallied, sums))
    total = int(counts.sum())
    columns = cupy.zeros(total, rows.dtype)
    places = cupy.cumsum(counts) - counts
    visit_kernel(rows, "write_units")(*GRID, (*arguments, places, numpy.uint64(total), columns))
    first_neighbours(rows, 2, 0, bound=5000)
    assert total == 0 or int(columns.max()) < 5000
    assert int(sums.sum()) >= int(columns[:1].sum())


def read_parts(layout: str) -> None:
    """Search and join rows whose stream comes in parts, whole and damaged."""
    offsets, columns = csr_of("skewed_random", True)
    good = encode(layout, offsets, columns)
    random = numpy.random.default_rng(4)
    parts: dict[str, Any] = {"strategy": "streamed", "symmetric": True, "buffer_bytes": 4096, "buffers": 2}
    for trial in range(DAMAGED + 1):
        stream = good.arrays["stream"].copy()
        if trial:
            some = slice(None) if trial == DAMAGED else random.integers(0, len(stream), 1 << trial)
            stream[some] = random.integers(0, 256, stream[some].shape)
        byte_offsets = cupy.asarray(good.arrays["byte_offsets"])
        rows = replace(good, arrays={"byte_offsets": byte_offsets, "stream": stream})
        distance = search_rows(rows, output="both", **parts).run(0).distance
        assert trial or int(distance.max()) > 1
        component = join_rows(rows, **parts).run().component
        assert int((component > cupy.arange(len(component), dtype=component.dtype)).sum()) == 0


def read_layout(layout: str) -> None:
    """Write rows, read them, and read what is left of them when bytes change."""
    offsets, columns = (cupy.asarray(array) for array in hubs())
    good = encode(layout, offsets, columns, bound=1 << 32)
    assert bool((decode(good, bound=1 << 32)[1] == columns).all())
    visit_all(good)
    if layout == "csr":
        return
    read_parts(layout)
    if layout == "varint":
        visit_all(add_checkpoints(good, columns, offsets))
    random = numpy.random.default_rng(3)
    for trial in range(DAMAGED + 1):
        stream = good.arrays["stream"].get()
        some = slice(None) if trial == DAMAGED else random.integers(0, len(stream), 1 << trial)
        stream[some] = random.integers(0, 256, stream[some].shape)
        bad = replace(good, arrays={**good.arrays, "stream": cupy.asarray(stream)})
        visit_all(bad)
        try:
            decode(bad, bound=1 << 32)
        except ValueError:
            continue
