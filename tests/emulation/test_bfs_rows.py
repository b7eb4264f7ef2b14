"""The search of encoded rows, on CPU threads, against SciPy: two blocks that race, over small graphs."""

import numpy
import pytest

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import strict_cupy
from tests.kernels.conformance import STEPS as TUNINGS
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.cuda_case import fast_csr, rmat

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates")
STEPS = ("pull_uncached", "alternate", "unqueued_and_pull", "push", "team_spills")


def search(csr, layout, output, *, strategy="direction_optimizing", symmetric=True, **constants) -> None:
    placed = strict_cupy.encoded(layout, csr)
    made = prepare(placed, strategy=strategy, symmetric=symmetric, output=output, **constants)
    for source in sources_of(len(csr[0]) - 1, 2):
        check(made.run(source), csr, source, output)


@pytest.mark.parametrize(
    ("layout", "index"),
    [("blocks", numpy.uint64)]
    + [
        pytest.param(layout, index, marks=pytest.mark.slow)
        for layout in LAYOUTS
        for index in (numpy.uint32, numpy.uint64)
        if index is numpy.uint32 or layout != "blocks"
    ],
)
def test_every_step(layout, index) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True, index=index)
    narrow = index is numpy.uint32
    for csr in [*(csr_of(name, True, index) for name in SMALL), skewed] if narrow else [skewed]:
        for constants in ({}, *(TUNINGS[name] for name in STEPS)):
            for output in ("both", "distance") if narrow else ("both",):
                search(csr, layout, output, **constants)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_top_down_on_directed_graphs(layout) -> None:
    csr = fast_csr(rmat(8, 8), symmetric=False)
    for constants in ({}, {"team_limit": 0}, {"team_blocks": 1}):
        search(csr, layout, "both", strategy="top_down", symmetric=False, **constants)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_one_lane_that_decodes_for_its_warp(index) -> None:
    skewed = fast_csr(rmat(9, 8), symmetric=True, index=index)
    for csr in [*(csr_of(name, True, index) for name in SMALL), skewed]:
        for constants in ({}, {"team_limit": 0}):
            search(csr, "varint", "both", strategy="top_down", decoder="one_lane", **constants)
    with pytest.raises(ValueError, match="reads varint rows; these are blocks"):
        search(skewed, "blocks", "both", strategy="top_down", decoder="one_lane")
