"""Every real graph beside the checkout comes back from every codec, both ways and with its duplicates."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.layouts import LAYOUTS, decode, encode
from gravel.stages.ingest import read_edges
from tests.stages.test_ingest_data import COUNTS
from tests.zoo import DATA, needs_data

pytestmark = needs_data


@pytest.mark.parametrize("name", list(COUNTS))
def test_real_graphs_come_back(name: str) -> None:
    edges, _ = read_edges(DATA / name)
    pairs = numpy.asarray(edges.source), numpy.asarray(edges.target)
    for raw in (False, True):
        direction = "as_given" if raw else "both"
        built = build(*pairs, edges.vertex_count, direction=direction, keep_duplicates=raw, keep_loops=raw)
        for layout in LAYOUTS:
            again = decode(encode(layout, built.row_offsets, built.column_indices))
            assert numpy.array_equal(again[0], built.row_offsets), layout
            assert numpy.array_equal(again[1], built.column_indices), layout
