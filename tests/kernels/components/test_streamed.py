"""Components of rows that come in parts or shards: each part is read once, wherever it is cut."""

import importlib
import itertools

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.components import components, components_of_rows
from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.layouts.layout import body_name
from gravel.kernels.layouts.parts import LINE
from tests.kernels.components.test_components import csr_of
from tests.kernels.conformance import csr_of as rows_of_zoo
from tests.kernels.conformance import fetch, large_graph, place
from tests.kernels.counted import stored
from tests.zoo import scipy_components, zoo

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def of_shards(backend, csr, cuts, *, symmetric):
    module = importlib.import_module(f"gravel.kernels.components.{backend}.streamed")
    offsets, columns = csr
    shards = (
        (a, offsets[a : b + 1] - offsets[a], columns[offsets[a] : offsets[b]])
        for a, b in itertools.pairwise(cuts)
    )
    return module.components_of_shards(shards, len(offsets) - 1, columns.dtype, symmetric=symmetric)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_every_part_is_read_once(layout, backend, symmetric):
    csr = large_graph(9)
    if not symmetric:
        tail = numpy.repeat(numpy.arange(len(csr[0]) - 1), numpy.diff(csr[0]))
        kept = numpy.random.default_rng(1).random(len(tail)) < 0.3
        csr = csr_of(numpy.stack([tail[kept], csr[1][kept].astype(int)], axis=1), len(csr[0]) - 1)
    rows = stored(encode(layout, *csr), backend)
    search = prepare(rows, symmetric=symmetric, strategy="streamed", buffer_bytes=1 << 16)
    for run in (1, 2):
        found = search.run()
        assert found.strategy == "streamed"
        numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))
        reads = rows.arrays[body_name(rows)].reads
        assert (reads >= run).all()
        # But for the lines that two parts of a stream share.
        assert (reads > run).sum() <= (layout != "csr") * LINE * (len(reads) // (1 << 15) + 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_of_the_zoo(layout, backend):
    for graph in zoo():
        for symmetric in (True, False):
            for index in (numpy.uint32, numpy.uint64):
                csr = graph.csr(symmetric=symmetric, index=index)
                rows = encode(layout, *place(backend, *csr))
                found = components_of_rows(rows, symmetric=symmetric, strategy="streamed", buffer_bytes=4096)
                assert found.component.dtype == index
                numpy.testing.assert_array_equal(
                    fetch(found.component), scipy_components(*csr), err_msg=graph.name
                )


@pytest.mark.parametrize("backend", BACKENDS)
def test_shards_of_the_zoo(backend):
    for graph in zoo():
        for symmetric in (True, False):
            csr = graph.csr(symmetric=symmetric)
            n = graph.vertex_count
            found = of_shards(backend, csr, sorted({0, n // 3, n // 2, n}), symmetric=symmetric)
            numpy.testing.assert_array_equal(
                fetch(found.component), scipy_components(*csr), err_msg=graph.name
            )


@settings(max_examples=40, deadline=None)
@given(data=draw.data())
def test_random_cuts(data):
    n = data.draw(draw.integers(1, 60))
    vertex = draw.integers(0, n - 1)
    csr = csr_of(data.draw(draw.lists(draw.tuples(vertex, vertex), max_size=150)), n)
    cuts = sorted({0, n, *data.draw(draw.lists(vertex, max_size=5))})
    numpy.testing.assert_array_equal(
        of_shards("cpu", csr, cuts, symmetric=False).component, scipy_components(*csr)
    )
    found = components(
        *csr, symmetric=False, strategy="streamed", buffer_bytes=4 * data.draw(draw.integers(1, 20))
    )
    numpy.testing.assert_array_equal(found.component, scipy_components(*csr))


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("vertices", [0, 1, 5000])
def test_labels_come_back_as_on_the_cpu(index, vertices):
    import cupy

    from gravel.kernels.components.cuda.relabel import components_back as on_device
    from gravel.kernels.relabel import components_back

    random = numpy.random.default_rng(3)
    permutation = random.permutation(vertices).astype(index)
    component = numpy.minimum(random.integers(0, 40, vertices), numpy.arange(vertices)).astype(index)
    expected, smallest = numpy.empty_like(component), numpy.empty_like(component)
    components_back(permutation, component, smallest, expected)
    labels, taken = on_device(permutation, cupy.asarray(component))
    numpy.testing.assert_array_equal(labels.get(), expected)
    assert labels.dtype == index
    assert taken >= 0


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "csr"])
def test_damaged_rows_are_named_on_the_cpu(layout):
    rows = encode(layout, *rows_of_zoo("star_300", True))
    offsets, stream = rows.arrays["byte_offsets"], rows.arrays["stream"]
    hub = int(numpy.argmax(numpy.diff(offsets)))
    stream[offsets[hub] : offsets[hub + 1]] = 0xFF
    with pytest.raises(ValueError, match=f"row {hub} of the compressed graph is damaged"):
        components_of_rows(rows, symmetric=True, strategy="streamed")


def test_unknown_strategies_are_refused():
    with pytest.raises(ValueError, match="strategy 'tiles' does not read encoded rows; there are afforest"):
        components_of_rows(encode("varint", *rows_of_zoo("one_edge", True)), symmetric=True, strategy="tiles")
