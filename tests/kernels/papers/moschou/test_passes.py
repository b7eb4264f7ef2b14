"""Components by passes over all arcs, of columns and of encoded rows, against SciPy."""

import numpy
import pytest

from gravel.kernels.components import components
from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.papers.components import STRATEGIES
from tests.kernels.components.test_afforest_rows import BACKENDS, on
from tests.kernels.components.test_components import check
from tests.kernels.components.test_strategies import check_zoo, on_each_backend
from tests.kernels.conformance import fetch, large_graph, place
from tests.zoo import scipy_components, zoo

VARIANTS = [
    ("afforest_single_pass", {"giant": "sampled"}, ("cpu", "cuda")),
    ("afforest_single_pass", {"prune": False}, ("cpu", "cuda")),
    ("afforest_multi_pass", {"giant": "sampled"}, ("cpu", "cuda")),
    ("afforest_multi_pass", {"prune": False}, ("cpu", "cuda")),
    ("afforest_multi_pass", {"giant": "sampled", "prune": False}, ("cpu", "cuda")),
]


@pytest.mark.parametrize(("strategy", "tuning", "backend"), on_each_backend(VARIANTS))
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_zoo(strategy, tuning, backend, symmetric):
    check_zoo(strategy, tuning, backend, symmetric=symmetric)


@pytest.mark.parametrize(("strategy", "tuning", "backend"), on_each_backend(VARIANTS))
def test_large(strategy, tuning, backend):
    csr = large_graph(12)
    check(components(*place(backend, *csr), symmetric=True, strategy=strategy, **tuning), csr)


def test_each_variant_is_of_a_strategy_that_there_is():
    assert {name for name, _, _ in VARIANTS} == set(STRATEGIES)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_cannot_be_is_refused(backend):
    csr = place(backend, *large_graph(1))
    with pytest.raises(ValueError, match="sampled or first"):
        components(*csr, symmetric=True, strategy="afforest_multi_pass", giant="last")


@pytest.mark.parametrize("giant", ["sampled", "first"])
def test_passes_are_counted(giant):
    csr = large_graph(3)
    once = components(*csr, symmetric=True, strategy="afforest_single_pass", giant=giant)
    assert once.passes == 1
    until = components(*csr, symmetric=True, strategy="afforest_multi_pass", giant=giant)
    assert until.converged
    assert until.passes >= 2  # the last one only finds that nothing changes


def test_a_pass_that_links_nothing_has_not_converged(monkeypatch):
    monkeypatch.setattr("gravel.kernels.papers.moschou.passes_cpu._pass", lambda *given: True)
    found = components(*large_graph(3), symmetric=True, strategy="afforest_single_pass")
    assert not found.converged


WAYS = [
    (name, prune, giant)
    for name in ("single", "multi")
    for prune in (True, False)
    for giant in ("first", "sampled")
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("layout", "decoder"), [*((layout, "warp") for layout in LAYOUTS), ("varint", "one_lane")]
)
def test_passes_over_all_arcs(layout, decoder, backend):
    """One pass has all components or says that it has parts of them; passes go on until they have all."""
    if backend == "cpu" and decoder == "one_lane":
        pytest.skip("one lane decodes on GPUs alone")
    tuning = {"decoder": decoder} if backend == "cuda" else {}
    for csr in [graph.csr(symmetric=True, index=numpy.uint32) for graph in zoo()] + [large_graph(5)]:
        expected = scipy_components(*csr)
        for name, prune, giant in WAYS:
            search = prepare(
                on(backend, encode(layout, *csr)),
                symmetric=True,
                strategy=f"afforest_{name}_pass",
                prune=prune,
                giant=giant,
                **tuning,
            )
            found = search.run()
            labels = fetch(found.component)
            assert (found.passes == 1) if name == "single" else found.converged
            assert (expected[labels] == expected).all()
            if found.converged:
                numpy.testing.assert_array_equal(labels, expected)


def test_a_pass_over_rows_that_links_nothing_has_not_converged(monkeypatch):
    monkeypatch.setattr("gravel.kernels.papers.moschou.passes_cpu._pass", lambda *given: True)
    found = prepare(encode("varint", *large_graph(3)), symmetric=True, strategy="afforest_single_pass").run()
    assert not found.converged


def test_passes_refuse_what_cannot_be():
    rows = encode("varint", *large_graph(3))
    with pytest.raises(ValueError, match="sampled or first"):
        prepare(rows, symmetric=True, strategy="afforest_multi_pass", giant="last").run()
    rows.arrays["stream"][rows.arrays["byte_offsets"][-1] - 1] |= 128
    with pytest.raises(ValueError, match="row"):
        prepare(rows, symmetric=True, strategy="afforest_multi_pass")
