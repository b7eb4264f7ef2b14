"""Components of encoded rows in every layout, on the CPU and on the GPU, against SciPy."""

import numpy
import pytest

from kernels.components.rows import components, prepare
from kernels.layouts import LAYOUTS, EncodedRows, encode
from tests.kernels.conformance import fetch, large_graph
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.test_cuda_components import tiles, two_giants
from tests.zoo import scipy_components, zoo

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def on(backend, rows):
    if backend == "cpu":
        return rows
    import cupy

    arrays = {name: cupy.asarray(array) for name, array in rows.arrays.items()}
    return EncodedRows(rows.layout, rows.vertex_count, rows.arc_count, rows.dtype, arrays)


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
    from kernels.placement.pinned import buffer, pin

    csr = large_graph(6)
    encoded = encode(layout, *csr)
    held = {}
    for name, array in encoded.arrays.items():
        held[name] = buffer(len(array), array.dtype)
        held[name][:] = array
    pinned = {name: pin(array) for name, array in held.items()}
    views = {name: each.view() for name, each in pinned.items()}
    rows = EncodedRows(layout, encoded.vertex_count, encoded.arc_count, encoded.dtype, views)
    found = components(rows, symmetric=True)
    numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))


@pytest.mark.gpu
def test_heads_are_shared_and_checked():
    csr = large_graph(7)
    first = prepare(on("cuda", encode("varint", *csr)), symmetric=True)
    again = prepare(on("cuda", encode("csr", *csr)), symmetric=True, heads=first.heads)
    assert again.prepare_milliseconds == 0.0
    numpy.testing.assert_array_equal(again.run().component.get(), scipy_components(*csr))
    with pytest.raises(ValueError, match="are expected"):
        prepare(on("cuda", encode("csr", *csr)), symmetric=True, rounds=3, heads=first.heads)
    for tuning, message in (({"rounds": 0}, "1 to 4"), ({"giant": "last"}, "sampled or first")):
        with pytest.raises(ValueError, match=message):
            prepare(on("cuda", encode("csr", *csr)), symmetric=True, **tuning)
