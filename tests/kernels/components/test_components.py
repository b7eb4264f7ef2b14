"""What every components strategy must do; a strategy is tested here as soon as it is registered."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.components import TILES_FROM, components, default_on
from gravel.kernels.ids.distinct import distinct
from gravel.kernels.strategy import strategies_in
from tests.kernels.conformance import fetch, large_graph, place
from tests.zoo import scipy_components, zoo

STRATEGIES = strategies_in("gravel.kernels.components")
ON_EACH_BACKEND = [
    pytest.param(name, backend, id=f"{name}-{backend}", marks=[pytest.mark.gpu] if backend == "cuda" else [])
    for name, strategy in sorted(STRATEGIES.items())
    for backend in ("cpu", "cuda")
    if getattr(strategy, backend)
]
UNFINISHED = {"afforest_single_pass"}
"""Strategies that may leave a component in parts, if they say so."""

ON_CPU = [parameter for parameter in ON_EACH_BACKEND if parameter.values[1] == "cpu"]


def csr_of(pairs, n):
    keys = distinct(numpy.asarray(pairs, numpy.int64).reshape(-1, 2) @ numpy.array([n, 1]))
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(keys // n, minlength=n))
    return offsets, (keys % n).astype(numpy.uint32)


def check(found, csr, message=""):
    expected = scipy_components(*csr)
    if found.strategy in UNFINISHED:
        assert found.converged == numpy.array_equal(fetch(found.component), expected), message
    else:
        assert found.converged
        numpy.testing.assert_array_equal(fetch(found.component), expected, err_msg=message)


def test_the_registry_holds_the_strategies():
    assert {"afforest", "afforest_tiles", "label_propagation", "streamed"} <= set(STRATEGIES)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_zoo(strategy, backend, index, symmetric):
    for graph in zoo():
        csr = graph.csr(symmetric=symmetric, index=index)
        found = components(*place(backend, *csr), symmetric=symmetric, strategy=strategy)
        assert found.strategy == strategy
        assert found.component.dtype == index
        check(found, csr, graph.name)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
def test_large(strategy, backend):
    csr = large_graph(11)
    found = components(*place(backend, *csr), symmetric=True, strategy=strategy)
    check(found, csr)


@pytest.mark.parametrize(("strategy", "backend"), ON_EACH_BACKEND)
def test_arcs_that_only_the_largest_component_stores(strategy, backend):
    """Small components hang on the largest one by arcs out of it alone, late in its lists."""
    random = numpy.random.default_rng(2)
    core, n = 3000, 4000
    inside = random.integers(0, core, (30_000, 2))
    outside = numpy.stack([random.integers(0, core, 1200), random.integers(core, n, 1200)], axis=1)
    csr = csr_of(numpy.concatenate([inside, outside]), n)
    found = components(*place(backend, *csr), symmetric=False, strategy=strategy)
    check(found, csr)


@pytest.mark.parametrize(("strategy", "backend"), ON_CPU)
@settings(max_examples=60, deadline=None)
@given(data=draw.data())
def test_random_graphs(strategy, backend, data):
    n = data.draw(draw.integers(1, 120))
    vertex = draw.integers(0, n - 1)
    pairs = data.draw(draw.lists(draw.tuples(vertex, vertex), max_size=200))
    symmetric = data.draw(draw.booleans())
    if symmetric:
        pairs = pairs + [(v, u) for u, v in pairs]
    csr = csr_of(pairs, n)
    found = components(*csr, symmetric=symmetric, strategy=strategy)
    check(found, csr)


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
@pytest.mark.parametrize("samples", [1, 1024])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_afforest_whatever_its_constants(rounds, samples, threads, monkeypatch):
    monkeypatch.setattr("gravel.kernels.components.cpu.afforest.thread_count", lambda: threads)
    csr = large_graph(rounds)
    found = components(*csr, symmetric=True, strategy="afforest", rounds=rounds, samples=samples)
    numpy.testing.assert_array_equal(found.component, scipy_components(*csr))


def test_what_cannot_be_is_refused():
    csr = next(zoo()).csr()
    with pytest.raises(ValueError, match="afforest"):
        components(*csr, symmetric=True, strategy="afforst")
    with pytest.raises(ValueError, match="rounds"):
        components(*csr, symmetric=True, strategy="afforest", rounds=0)


def test_tiles_are_for_large_graphs_on_gpus():
    assert default_on("cpu", 1 << 30) == default_on("cuda", TILES_FROM - 1) == "afforest"
    assert default_on("cuda", TILES_FROM) == "afforest_tiles"
