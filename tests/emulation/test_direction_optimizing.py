"""The direction-optimizing search of columns, on CPU threads, against SciPy, and when it puts rows off."""

import numpy
import pytest

from gravel.kernels.bfs.cuda.deferred_rows import DeferredRows, find_deferred_rows
from gravel.kernels.bfs.cuda.direction_optimizing import prepare
from gravel.kernels.bfs.query import Query
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.order import apply, permutation
from gravel.stages.ingest import read_edges
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.bfs.test_direction_optimizing import DEFERRED_ROWS, TUNINGS
from tests.kernels.conformance import ALWAYS_PULL, check, csr_of, long_rows, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import DATA, needs_data

pytestmark = pytest.mark.usefixtures("on_cpu")

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates")
STEPS = (
    "pull_uncached",
    "pull_more_groups",
    "pull_by_degree",
    "pull_by_degree_groups",
    "alternate",
    "unqueued_and_pull",
    "push",
    "team_spills",
)


def search(csr, output, **constants):
    placed = (strict_cupy.on_device(array) for array in csr)
    constants = {"block": grid_kernels.THREADS} | constants
    made = prepare(columns_as_rows(*placed), Query(symmetric=True, output=output), **constants)
    for source in sources_of(len(csr[0]) - 1, 2):
        check(made.run(source), csr, source, output)
    return made


@pytest.mark.parametrize("deferred_rows", DEFERRED_ROWS)
@pytest.mark.parametrize(("index", "output"), [(numpy.uint32, "distance"), (numpy.uint64, "both")])
def test_every_step(index, output, deferred_rows) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True, index=index)
    for csr in (*(csr_of(name, True, index) for name in SMALL), skewed):
        for constants in ({}, *(TUNINGS[name] for name in STEPS)):
            search(csr, output, deferred_rows=deferred_rows, **constants)


@pytest.mark.parametrize("deferred_rows", DEFERRED_ROWS)
@pytest.mark.parametrize("output", ["distance", "both"])
def test_long_rows(output, deferred_rows) -> None:
    search(fast_csr(long_rows(), symmetric=True), output, deferred_rows=deferred_rows, **ALWAYS_PULL)


def deferred_rows_of(csr, kept=2) -> DeferredRows:
    offsets, columns = map(strict_cupy.on_device, csr)
    longer = strict_cupy.on_device(numpy.flatnonzero(numpy.diff(csr[0]) > 128))
    return find_deferred_rows(offsets, columns, longer, kept=kept)


def stars(*, joined: bool, index=numpy.uint32):
    """Three hubs of 3,000 leaves each, which if joined are neighbours of one another."""
    hubs = 3
    leaves = hubs + numpy.arange(3000 * hubs)
    sources, targets = numpy.repeat(numpy.arange(hubs), 3000), leaves
    if joined:
        sources = numpy.concatenate([sources, [0, 0, 1]])
        targets = numpy.concatenate([targets, [1, 2, 2]])
    keys = numpy.sort(numpy.concatenate([sources * 9003 + targets, targets * 9003 + sources]))
    offsets = numpy.zeros(9004, numpy.int64)
    numpy.cumsum(numpy.bincount(keys // 9003, minlength=9003), out=offsets[1:])
    return offsets, (keys % 9003).astype(index)


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_rows_are_far_where_their_first_arcs_lead_to_nothing_near_the_largest(index) -> None:
    assert deferred_rows_of(stars(joined=False, index=index)) == DeferredRows(2306, 3, 2)
    assert deferred_rows_of(stars(joined=True, index=index)) == DeferredRows(2306, 3, 0)
    assert deferred_rows_of(stars(joined=False, index=index), kept=1000) == DeferredRows(3304, 0, 0)
    assert deferred_rows_of(csr_of("path_33", True, index)) == DeferredRows(2306, 0, 0)


def in_order(csr, order):
    if order == "natural":
        return csr
    return apply(*csr, permutation(order, *csr, **({"seed": 5} if order == "random" else {})))


@pytest.mark.parametrize("order", ["natural", "degree", "random"])
def test_no_row_of_a_kronecker_graph_is_far(order) -> None:
    source, target = generate("rmat", scale=16, edge_factor=16, seed=1, backend="cpu")
    csr = in_order(build(source, target, 1 << 16)[:2], order)
    assert deferred_rows_of(csr) == DeferredRows(2306, 17, 0)


@needs_data
@pytest.mark.parametrize("order", ["natural", "degree", "random"])
def test_most_long_rows_of_a_crawl_are_far(order) -> None:
    edges, _ = read_edges(DATA / "cnr-2000.graph-txt.gz")
    csr = in_order(build(edges.source, edges.target, edges.vertex_count)[:2], order)
    assert deferred_rows_of(csr) == DeferredRows(2306, 89, 77)


@needs_data
@pytest.mark.parametrize("name", ["ego-Twitter.undirected.jlg.gz", "facebook_combined.txt.xz"])
def test_no_row_of_a_social_graph_is_far(name) -> None:
    edges, _ = read_edges(DATA / name)
    assert deferred_rows_of(build(edges.source, edges.target, edges.vertex_count)[:2]).far == 0


def test_the_choice_is_made_by_the_graph_and_said() -> None:
    apart, joined = (search(stars(joined=way), "distance") for way in (False, True))
    assert apart.notes == [
        "bottom-up levels read the longest rows by whole blocks: 2 of 3 rows of 2,306 arcs and more meet no"
        " neighbour of the largest among their first 258"
    ]
    assert "as all others: 0 of 3 rows" in joined.notes[0]
    assert "no row has 2,306 arcs" in search(csr_of("star_300", True), "distance").notes[0]
    assert search(stars(joined=False), "both", deferred_rows=False).notes == []
