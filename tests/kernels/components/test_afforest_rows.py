"""Components of encoded rows in every layout, on the CPU and on the GPU, against SciPy."""

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.components import components_of_rows as components
from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS, encode
from tests.kernels.components.test_afforest import graph_of, tiles, two_giants
from tests.kernels.conformance import fetch, large_graph
from tests.kernels.cuda_case import fast_csr, pinned, rmat
from tests.zoo import scipy_components, zoo

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def on(backend, rows):
    if backend == "cpu":
        return rows
    import cupy

    arrays = {name: cupy.asarray(array) for name, array in rows.arrays.items()}
    return replace(rows, arrays=arrays)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_zoo(layout, backend, symmetric):
    for graph in zoo():
        for index in (numpy.uint32, numpy.uint64):
            csr = graph.csr(symmetric=symmetric, index=index)
            found = components(on(backend, encode(layout, *csr)), symmetric=symmetric)
            assert found.component.dtype == index
            numpy.testing.assert_array_equal(
                fetch(found.component), scipy_components(*csr), err_msg=graph.name
            )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large(layout, backend):
    csr = large_graph(5)
    found = components(on(backend, encode(layout, *csr)), symmetric=True)
    numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "tuning", [{"prune": False}, {"giant": "first"}, {"sampled_every": 1}, {"sampled_every": 10**9}], ids=str
)
def test_variants_on_the_cpu(layout, tuning):
    csr = large_graph(8)
    for symmetric in (True, False):
        if layout == "csr":
            tuning = {name: value for name, value in tuning.items() if name != "sampled_every"}
        search = prepare(encode(layout, *csr), symmetric=symmetric, **tuning)
        for _ in range(2):
            numpy.testing.assert_array_equal(search.run().component, scipy_components(*csr))


def test_rows_of_the_largest_component_are_not_decoded(monkeypatch):
    """A row is decoded only if it is sampled, or outside the largest component."""
    from gravel.kernels.components.cpu import afforest_encoded as cpu
    from gravel.kernels.components.cpu.afforest import SAMPLED_EVERY

    n = 20_000
    hub = numpy.stack([numpy.zeros(n - 1001, int), numpy.arange(1, n - 1000)], axis=1)
    pairs = [(i, i + 1) for i in range(n - 1000, n - 1, 2)]
    graph = graph_of("hub_and_pairs", n, numpy.concatenate([hub, pairs]))
    csr = fast_csr(graph, symmetric=True)
    read = []

    def spied(rows, first, last, every, sampled, component, giant, buffer):
        for v in range(first, last):
            if (v % every == 0) == sampled and not (giant >= 0 and component[v] == giant):
                read.append(v)
        return joined(rows, first, last, every, sampled, component, giant, buffer)

    joined = cpu._join_rows
    monkeypatch.setattr(cpu, "_join_rows", spied)
    found = prepare(encode("varint", *csr), symmetric=True).run()
    numpy.testing.assert_array_equal(found.component, scipy_components(*csr))
    assert len(read) < n // SAMPLED_EVERY + 1001


def test_damaged_bytes_are_refused_on_the_cpu():
    rows = encode("varint", *large_graph(8))
    rows.arrays["stream"][rows.arrays["byte_offsets"][-1] - 1] |= 128
    with pytest.raises(ValueError, match="row"):
        prepare(rows, symmetric=True)
    for tuning, message in (({"sampled_every": 0}, "at least 1"), ({"giant": "last"}, "sampled or first")):
        with pytest.raises(ValueError, match=message):
            prepare(encode("varint", *large_graph(8)), symmetric=True, **tuning)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_every_shape_again_and_again(layout):
    """Hubs that are split over the grid, long chains of tiles, and workspace that is used twice."""
    for graph in (rmat(14), two_giants(), *tiles()):
        for symmetric in (True, False):
            csr = fast_csr(graph, symmetric=symmetric)
            expected = scipy_components(*csr)
            rows = on("cuda", encode(layout, *csr))
            for tuning in ({}, {"rounds": 1}, {"rounds": 4, "prune": False}, {"giant": "first"}):
                search = prepare(rows, symmetric=symmetric, **tuning)
                for _ in range(2):
                    numpy.testing.assert_array_equal(
                        search.run().component.get(), expected, err_msg=f"{graph.name} {tuning}"
                    )


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_in_pinned_memory(layout):
    csr = large_graph(6)
    found = components(pinned(encode(layout, *csr)), symmetric=True)
    numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_rows_that_the_device_keeps_in_part(layout, index):
    for graph in (*zoo(), rmat(14), two_giants(), *tiles()):
        for symmetric in (True, False):
            csr = fast_csr(graph, symmetric=symmetric, index=index)
            expected = scipy_components(*csr)
            rows = pinned(encode(layout, *csr))
            offsets = 8 * len(csr[0])
            keeps = (0, offsets + csr[1].nbytes // 2, 1 << 30) if layout == "csr" else (0,)
            for keep in keeps:
                for tuning in ({}, {"rounds": 4}, {"rounds": 1, "prune": False}, {"giant": "first"}):
                    search = prepare(rows, symmetric=symmetric, keep=keep, **tuning)
                    for _ in range(2):
                        numpy.testing.assert_array_equal(
                            search.run().component.get(), expected, err_msg=f"{graph.name} {keep} {tuning}"
                        )


@pytest.mark.gpu
def test_what_is_kept_fits_its_budget():
    csr = large_graph(6)
    rows = pinned(encode("csr", *csr))
    offsets = 8 * len(csr[0])
    for budget, columns in (
        (offsets + 100, False),
        (offsets + csr[1].nbytes * 3 // 4, True),
        (1 << 30, True),
    ):
        kept = prepare(rows, symmetric=True, keep=budget).kept
        assert kept.nbytes <= budget + len(csr[0])
        assert (kept.columns is not None) == columns
    with pytest.raises(ValueError, match="keep is -1; it must be 0 or more"):
        prepare(rows, symmetric=True, keep=-1)


@pytest.mark.gpu
def test_heads_are_shared_and_checked():
    csr = large_graph(7)
    first = prepare(on("cuda", encode("varint", *csr)), symmetric=True)
    again = first.beside(on("cuda", encode("csr", *csr)))
    assert again.prepare_milliseconds == 0.0
    numpy.testing.assert_array_equal(again.run().component.get(), scipy_components(*csr))
    with pytest.raises(ValueError, match="are expected"):
        first.beside(on("cuda", encode("csr", csr[0][:-1], csr[1][: csr[0][-2]])))
    for layout, tuning, message in (
        ("varint", {"rounds": 0}, "1 to 4"),
        ("csr", {"rounds": -1}, "at least 0"),
        ("csr", {"giant": "last"}, "sampled or first"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(on("cuda", encode(layout, *csr)), symmetric=True, **tuning)
