"""Every named variant of every components strategy, over every small graph and some that are larger."""

import numpy
import pytest

from gravel.kernels.components import components
from gravel.kernels.components.strategies import STRATEGIES
from tests.kernels.components.test_components import check
from tests.kernels.conformance import large_graph, place
from tests.zoo import zoo

VARIANTS = [
    ("afforest", {"giant": "first"}, ("cpu",)),
    ("afforest", {"prune": False}, ("cpu",)),
    ("afforest", {"prune": False, "giant": "first"}, ("cpu",)),
    ("afforest", {"rounds": 1}, ("cpu", "cuda")),
    ("afforest", {"block": 1024}, ("cuda",)),
    ("afforest_tiles", {"giant": "first"}, ("cuda",)),
    ("afforest_tiles", {"prune": False}, ("cuda",)),
    ("afforest_tiles", {"prune": False, "giant": "first"}, ("cuda",)),
    ("afforest_tiles", {"rounds": 1}, ("cuda",)),
    ("afforest_tiles", {"probes": 0}, ("cuda",)),
    ("afforest_tiles", {"probes": 8, "rounds": 2}, ("cuda",)),
    ("afforest_tiles", {"block": 1024}, ("cuda",)),
    ("streamed", {"buffer_bytes": 8}, ("cpu", "cuda")),
    ("streamed", {"buffer_bytes": 1000, "buffers": 2}, ("cpu", "cuda")),
]


def on_each_backend(variants):
    return [
        pytest.param(
            name,
            tuning,
            backend,
            id=f"{name}-{tuning}-{backend}",
            marks=[pytest.mark.gpu] if backend == "cuda" else [],
        )
        for name, tuning, backends in variants
        for backend in backends
    ]


@pytest.mark.parametrize(("strategy", "tuning", "backend"), on_each_backend(VARIANTS))
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_zoo(strategy, tuning, backend, symmetric):
    check_zoo(strategy, tuning, backend, symmetric=symmetric)


def check_zoo(strategy, tuning, backend, *, symmetric):
    for graph in zoo():
        for index in (numpy.uint32, numpy.uint64):
            csr = graph.csr(symmetric=symmetric, index=index)
            found = components(*place(backend, *csr), symmetric=symmetric, strategy=strategy, **tuning)
            assert found.component.dtype == index
            check(found, csr, graph.name)


@pytest.mark.parametrize(("strategy", "tuning", "backend"), on_each_backend(VARIANTS))
def test_large(strategy, tuning, backend):
    csr = large_graph(12)
    tuning = tuning | ({"buffer_bytes": 1 << 14} if strategy == "streamed" else {})
    check(components(*place(backend, *csr), symmetric=True, strategy=strategy, **tuning), csr)


def test_each_variant_is_of_a_strategy_that_there_is():
    assert {name for name, _, _ in VARIANTS} | {"label_propagation"} == set(STRATEGIES)


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    ("strategy", "tuning", "message"),
    [
        ("afforest", {"giant": "last"}, "sampled or first"),
        ("streamed", {"buffers": 1}, "2 or more"),
        ("streamed", {"buffer_bytes": 3}, "a column takes 4"),
    ],
)
def test_what_cannot_be_is_refused(backend, strategy, tuning, message):
    csr = place(backend, *large_graph(1))
    if (strategy, backend) == ("afforest", "cuda"):
        strategy = "afforest_tiles"  # which has these parts to choose there
    with pytest.raises(ValueError, match=message):
        components(*csr, symmetric=True, strategy=strategy, **tuning)
