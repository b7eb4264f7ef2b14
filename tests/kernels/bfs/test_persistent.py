"""The search of deep graphs: every way through it, over the zoo, hubs, paths and lattices."""

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.layouts.registry import encoded_layouts
from tests.kernels.conformance import GRAPHS, check, csr_of, prepared, search_all
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.zoo import ZooGraph

pytestmark = pytest.mark.gpu

TINY = {"target": 2, "share": 1, "capacity": 32, "block": 64}
TUNINGS = {
    "default": {},
    "every_hop": {"hops": 1, "calm_hops": 1, "target": 4},
    "many_parts": {"hops": 64, "calm_hops": 64, "target": 1, "uneven": 1.0},
    "three_parts": {"hops": 5, "target": 3, "blocks": 3, "block": 32},
    "one_block": {"blocks": 1, "target": 8},
    "overflows": {**TINY, "narrow_max_retries": 1 << 20},
    "overflows_once": {**TINY, "narrow_max_retries": 0, "blocks": 5},
    "no_rows": {"row_limit": 0, "narrow_max_retries": 1 << 20, "hops": 7},
    "never_narrow": {"narrow_below": 0.0, "wide_from": 0.0, "narrow_max_retries": 0},
    "full_warps": {"share": 128, "target": 2048, "hops": 3},
    "wide_records": {"width": 8, "target": 16, "hops": 3},
    "narrow_records": {"width": 4, "target": 16, "hops": 3, "ahead": 0},
    "looks_far_ahead": {"ahead": 1 << 20, "target": 1, "block": 512},
}


def lattice(side: int) -> ZooGraph:
    at = numpy.arange(side**3).reshape(side, side, side)
    ends = [(at[:-1], at[1:]), (at[:, :-1], at[:, 1:]), (at[:, :, :-1], at[:, :, 1:])]
    source, target = (numpy.concatenate([pair[i].ravel() for pair in ends]) for i in (0, 1))
    return ZooGraph(f"lattice_{side}", side**3, source.astype(numpy.uint32), target.astype(numpy.uint32))


def scattered_grid(side: int) -> ZooGraph:
    """A grid whose numbers follow nothing, with a few shortcuts that make parts overtake one another."""
    random = numpy.random.default_rng(2)
    at = random.permutation(side * side).reshape(side, side)
    short = random.integers(0, side * side, (2, side // 4))
    source = numpy.concatenate([at[:-1].ravel(), at[:, :-1].ravel(), short[0]])
    target = numpy.concatenate([at[1:].ravel(), at[:, 1:].ravel(), short[1]])
    return ZooGraph(
        f"scattered_{side}", side * side, source.astype(numpy.uint32), target.astype(numpy.uint32)
    )


def hubs_and_leaves() -> ZooGraph:
    """Hubs whose rows a warp, a block and the whole grid read."""
    hubs = [(0, 300_000), (1, 140_000), (2, 130_000), (3, 20_000), (4, 2_000)]
    random = numpy.random.default_rng(4)
    source = numpy.concatenate([numpy.full(degree, hub) for hub, degree in hubs])
    target = numpy.concatenate([random.choice(400_000, degree, replace=False) for _, degree in hubs])
    return ZooGraph("hubs", 400_000, source.astype(numpy.uint32), target.astype(numpy.uint32))


LARGE = [lattice(24), scattered_grid(150), rmat(13)]


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_zoo(name, symmetric, tuning) -> None:
    for output in ("distance", "both"):
        options = {"symmetric": symmetric, "output": output, **TUNINGS[tuning]}
        search_all(csr_of(name, symmetric), "persistent", **options)


@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("output", ["distance", "predecessor"])
@pytest.mark.parametrize("graph", LARGE, ids=names)
def test_large_graphs(graph, output, tuning) -> None:
    search_all(fast_csr(graph, symmetric=True), "persistent", output=output, **TUNINGS[tuning])


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
@pytest.mark.parametrize("width", [4, 8])
def test_wide_vertices_and_predecessors(monkeypatch, index, narrow, width) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
    for graph in LARGE:
        options = {"width": width, "target": 32}
        directed, both = (fast_csr(graph, symmetric=each, index=index) for each in (False, True))
        search_all(directed, "persistent", symmetric=False, **options)
        search_all(both, "persistent", output="distance", **options)


@pytest.mark.parametrize("layout", encoded_layouts())
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("output", ["distance", "both"])
def test_encoded_rows(output, tuning, layout) -> None:
    for graph in (*LARGE, hubs_and_leaves()):
        csr = fast_csr(graph, symmetric=True)
        search_all(csr, "persistent", layout, output=output, count=2, **TUNINGS[tuning])


@pytest.mark.parametrize("layout", encoded_layouts())
def test_arcs_of_encoded_rows_are_counted(layout) -> None:
    csr = fast_csr(LARGE[1], symmetric=True)
    search = prepared(csr, "persistent", layout, "cuda", statistics=True)
    check(search.run(5), csr, 5, "both", statistics=True)


@pytest.mark.parametrize("max_depth", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("tuning", ["default", "many_parts", "overflows", "never_narrow"])
def test_depth_is_bounded(max_depth, tuning) -> None:
    some = ("path_33", "path_1000", "grid_13x17", "star_300", "two_parts")
    large = [fast_csr(graph, symmetric=True) for graph in LARGE]
    for csr in (*large, *(csr_of(name, True) for name in some)):
        for output in ("distance", "both"):
            search_all(csr, "persistent", output=output, max_depth=max_depth, **TUNINGS[tuning])


@pytest.mark.parametrize("tuning", TUNINGS)
def test_every_arc_is_counted(tuning) -> None:
    for graph in LARGE:
        offsets, columns = fast_csr(graph, symmetric=True)
        options = {**TUNINGS[tuning], "statistics": True}
        search = prepare(*on_device(offsets, columns), strategy="persistent", symmetric=True, **options)
        result = search.run(5)
        arcs = numpy.diff(offsets)[result.distance.get() >= 0].sum()
        assert result.expanded is not None
        assert len(result.expanded) == len(result.directions)
        assert sum(result.expanded) >= arcs


def test_a_lone_warp_does_nothing_twice() -> None:
    offsets, columns = fast_csr(LARGE[0], symmetric=True)
    options = {"statistics": True, "blocks": 1, "block": 32, "capacity": 1024, "wide_from": 1.0}
    search = prepare(*on_device(offsets, columns), strategy="persistent", symmetric=True, **options)
    assert sum(search.run(5).expanded) == len(columns)


@pytest.mark.parametrize("tuning", ["default", "never_narrow"])
def test_rows_for_a_block_and_for_the_whole_grid(tuning) -> None:
    graph = hubs_and_leaves()
    for symmetric in (True, False):
        csr = fast_csr(graph, symmetric=symmetric)
        search_all(csr, "persistent", symmetric=symmetric, **TUNINGS[tuning])


def test_repeated_searches_agree() -> None:
    offsets, columns = fast_csr(LARGE[1], symmetric=True)
    search = prepare(*on_device(offsets, columns), strategy="persistent", symmetric=True, target=4)
    first = [search.run(s).predecessor.get() for s in (3, 77)]
    for _ in range(5):
        for source, expected in zip((3, 77), first, strict=True):
            numpy.testing.assert_array_equal(search.run(source).predecessor.get(), expected)


def test_searches_with_other_settings_live_side_by_side() -> None:
    offsets, columns = fast_csr(LARGE[1], symmetric=True)
    arrays = on_device(offsets, columns)
    large = prepare(*arrays, strategy="persistent", symmetric=True)
    small = prepare(*arrays, strategy="persistent", symmetric=True, block=64, capacity=32)
    numpy.testing.assert_array_equal(small.run(3).distance.get(), large.run(3).distance.get())


@pytest.mark.parametrize(
    ("option", "told"),
    [({"block": 100}, "multiple of 32"), ({"hops": 65}, "1 to 64"), ({"width": 5}, "4 or 8")],
)
def test_unfit_constants_are_refused(option, told) -> None:
    arrays = on_device(*fast_csr(ZOO[0], symmetric=True))
    with pytest.raises(ValueError, match=told):
        prepare(*arrays, strategy="persistent", symmetric=True, **option)
