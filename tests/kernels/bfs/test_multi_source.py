"""Many searches at once give what each gives alone."""

import numpy
import pytest

from gravel.kernels.bfs import BatchSearch, prepare
from gravel.kernels.layouts.registry import encoded_layouts
from tests.kernels.conformance import COLUMNS, OUTPUTS, csr_of, expected, fetch, hubs, place, prepared
from tests.kernels.cuda_case import fast_csr, on_device, rmat
from tests.zoo import scipy_distances, zoo

ON = [pytest.param("cpu"), pytest.param("cuda", marks=pytest.mark.gpu)]
GRAPHS = [graph for graph in zoo() if graph.vertex_count]
TUNINGS = {
    "default": {},
    "push": {"alpha": 0.0},
    "pull": {"alpha": 1e18, "beta": 1e18},
    "alternate": {"alpha": 1e18, "beta": 0.0},
}


def check_batch(search, csr, sources, *, output, max_depth=None) -> None:
    batch = search.run_many(sources)
    n = len(csr[0]) - 1
    assert batch.sources == tuple(sources)
    assert batch.milliseconds > 0
    distance, predecessor = fetch(batch.distance), fetch(batch.predecessor)
    deepest = 0
    for i, source in enumerate(sources):
        hops, tree = expected(csr, source, max_depth)
        deepest = max(deepest, int(hops.max()))
        if distance is not None:
            assert distance.dtype == numpy.int32
            numpy.testing.assert_array_equal(distance[i], hops)
        if predecessor is not None:
            numpy.testing.assert_array_equal(predecessor[i], tree)
    assert (distance is None) == (output == "predecessor")
    assert (predecessor is None) == (output == "distance")
    assert len(batch.directions) == min(deepest + 1, n if max_depth is None else max_depth)


def sources_of(n, count):
    return numpy.random.default_rng(n).integers(0, n, count).tolist()


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("layout", [COLUMNS, *encoded_layouts()])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_a_batch_of_any_size(backend, layout, output, symmetric) -> None:
    for graph in GRAPHS:
        csr = csr_of(graph.name, symmetric)
        search = prepared(csr, "multi_source", layout, backend, symmetric=symmetric, output=output)
        assert isinstance(search, BatchSearch)
        assert search.batch == 64
        # Sources repeat where there are few vertices; the small batch comes last, after a larger one.
        for count in (64, 3):
            check_batch(search, csr, sources_of(graph.vertex_count, count), output=output)


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("max_depth", [0, 1, 3])
def test_depth_is_bounded(backend, max_depth) -> None:
    for graph in GRAPHS:
        csr = csr_of(graph.name, True)
        search = prepare(*place(backend, *csr), strategy="multi_source", symmetric=True, max_depth=max_depth)
        check_batch(search, csr, sources_of(graph.vertex_count, 5), output="both", max_depth=max_depth)


@pytest.mark.parametrize("backend", ON)
def test_searches_are_listed_one_by_one(backend) -> None:
    csr = GRAPHS[-1].csr()
    search = prepare(*place(backend, *csr), strategy="multi_source", symmetric=True, batch=4)
    batch = search.run_many([5, 0, 7, 5])
    listed = batch.searches()
    assert [result.source for result in listed] == [5, 0, 7, 5]
    assert {result.batch for result in listed} == {4}
    assert sum(result.milliseconds for result in listed) == pytest.approx(batch.milliseconds)
    numpy.testing.assert_array_equal(fetch(listed[2].distance), scipy_distances(*csr, 7))
    alone = search.run(0)
    assert alone.batch == 1
    numpy.testing.assert_array_equal(fetch(alone.distance), scipy_distances(*csr, 0))


@pytest.mark.parametrize("backend", ON)
def test_what_cannot_be_is_refused(backend) -> None:
    placed = place(backend, *GRAPHS[-1].csr())
    search = prepare(*placed, strategy="multi_source", symmetric=True, batch=2)
    for sources in ([], [0, 1, 2]):
        with pytest.raises(ValueError, match="1 to 2 sources"):
            search.run_many(sources)
    with pytest.raises(ValueError, match="source 60 is not a vertex"):
        search.run_many([0, 60])
    for batch in (0, 65):
        with pytest.raises(ValueError, match="1 to 64"):
            prepare(*placed, strategy="multi_source", symmetric=True, batch=batch)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", [COLUMNS, *encoded_layouts()])
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("output", ["both", "distance"])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_directions_change_nothing(monkeypatch, tuning, output, index, layout) -> None:
    for graph in (*GRAPHS, rmat(13)) if layout == COLUMNS else (rmat(13), hubs()):
        csr = fast_csr(graph, symmetric=True, index=index)
        for narrow in (1, 1 << 31):
            monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
            search = prepared(csr, "multi_source", layout, "cuda", output=output, **TUNINGS[tuning])
            check_batch(search, csr, sources_of(graph.vertex_count, 33), output=output)


@pytest.mark.gpu
def test_bottom_up_levels_are_taken() -> None:
    csr = fast_csr(rmat(13), symmetric=True)
    search = prepare(*on_device(*csr), strategy="multi_source", symmetric=True)
    assert "pull" in search.run_many(sources_of(1 << 13, 64)).directions
