"""Components of rows that come in parts or shards: each part is read once, wherever it is cut."""

import importlib
import itertools

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.components import components
from tests.kernels.components.test_components import csr_of
from tests.kernels.conformance import fetch, large_graph, place
from tests.zoo import scipy_components, zoo

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Counted:
    """An array that can only be sliced, and knows how often each element was read."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype
        self.reads = numpy.zeros(len(array), int)

    def __len__(self):
        return len(self.array)

    def __getitem__(self, wanted):
        self.reads[wanted] += 1
        return self.array[wanted]


def of_shards(backend, csr, cuts, *, symmetric):
    module = importlib.import_module(f"gravel.kernels.components.{backend}.streamed")
    offsets, columns = csr
    shards = (
        (a, offsets[a : b + 1] - offsets[a], columns[offsets[a] : offsets[b]])
        for a, b in itertools.pairwise(cuts)
    )
    return module.components_of_shards(shards, len(offsets) - 1, columns.dtype, symmetric=symmetric)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_every_column_is_read_once(backend, symmetric):
    csr = large_graph(4)
    if not symmetric:
        tail = numpy.repeat(numpy.arange(len(csr[0]) - 1), numpy.diff(csr[0]))
        kept = numpy.random.default_rng(1).random(len(tail)) < 0.3
        csr = csr_of(numpy.stack([tail[kept], csr[1][kept].astype(int)], axis=1), len(csr[0]) - 1)
    columns = Counted(csr[1])
    found = components(
        *place(backend, csr[0]), columns, symmetric=symmetric, strategy="streamed", buffer_bytes=40_000
    )
    numpy.testing.assert_array_equal(fetch(found.component), scipy_components(*csr))
    assert (columns.reads == 1).all()


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
