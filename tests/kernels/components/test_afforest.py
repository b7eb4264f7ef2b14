"""Afforest on CUDA against SciPy."""

import numpy
import pytest

from gravel.kernels.components import components
from gravel.kernels.csr import build
from gravel.kernels.order import apply, permutation
from tests.kernels.cuda_case import ZOO, fast_csr, names, on_device, rmat
from tests.zoo import ZooGraph, scipy_components

pytestmark = pytest.mark.gpu

WAYS = (
    ("afforest", {}),
    ("afforest", {"rounds": 2}),
    ("afforest", {"block": 256}),
    ("afforest_tiles", {}),
    ("afforest_tiles", {"rounds": 1, "probes": 0}),
    ("afforest_tiles", {"prune": False, "probes": 2}),
    ("afforest_tiles", {"giant": "first", "probes": 0}),
    ("afforest_tiles", {"block": 1024, "probes": 0, "rounds": 2}),
)


def graph_of(name: str, vertices: int, pairs: object) -> ZooGraph:
    array = numpy.asarray(pairs, numpy.uint32)
    return ZooGraph(name, vertices, array[:, 0].copy(), array[:, 1].copy())


def two_giants() -> ZooGraph:
    """Two large parts with a hub each, and many small ones."""
    random = numpy.random.default_rng(5)
    low, high = random.integers(0, 9000, (12000, 2)), random.integers(9000, 18000, (12000, 2))
    hubs = [(17, i) for i in range(9000)] + [(17999, i) for i in range(9000, 18000)]
    small = [(18000 + 3 * i, 18001 + 3 * i) for i in range(500)]
    return graph_of("two_giants", 20000, numpy.concatenate([low, high, hubs, small]))


def tiles() -> list[ZooGraph]:
    """Shapes that a tile of 2048 vertices could get wrong."""
    n = 6 * 2048 + 17
    at = numpy.arange(n)
    stride = numpy.stack([at[:-2048], at[2048:]], axis=1)
    path = numpy.stack([at[:-1], at[1:]], axis=1)
    random = numpy.random.default_rng(9)
    shuffled = random.permutation(n)[path]
    grid = numpy.arange(300 * 300).reshape(300, 300)
    sides = [(grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])]
    edges = numpy.concatenate([numpy.stack([a.ravel(), b.ravel()], axis=1) for a, b in sides])
    pairs = random.permutation(200_000).reshape(-1, 2)
    return [
        graph_of("stride", n, stride),
        graph_of("path", n, path),
        graph_of("shuffled_path", n, shuffled),
        graph_of("grid_300", 90_000, edges),
        graph_of("shuffled_grid", 90_000, random.permutation(90_000)[edges]),
        graph_of("pairs", 200_000, pairs),
    ]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, rmat(14), rmat(12, 1), two_giants(), *tiles()], ids=names)
def test_components(graph, index, symmetric) -> None:
    offsets, columns = fast_csr(graph, symmetric=symmetric, index=index)
    expected = scipy_components(offsets, columns)
    for strategy, tuning in WAYS:
        result = components(*on_device(offsets, columns), symmetric=symmetric, strategy=strategy, **tuning)
        assert result.component.dtype == index
        numpy.testing.assert_array_equal(result.component.get(), expected, err_msg=f"{strategy} {tuning}")


def test_millions_of_tiny_components() -> None:
    """Pairs and triples all over the numbers; every label is known beforehand."""
    import cupy

    from gravel.kernels import csr

    n = 6_000_000
    shuffled = cupy.random.RandomState(4).permutation(n).astype(cupy.uint32)
    pairs, triples = shuffled[: n // 2].reshape(-1, 2), shuffled[n // 2 :].reshape(-1, 3)
    source = cupy.concatenate([pairs[:, 0], triples[:, 0], triples[:, 1]])
    target = cupy.concatenate([pairs[:, 1], triples[:, 1], triples[:, 2]])
    rows = csr.build(source, target, n)
    expected = cupy.empty(n, cupy.uint32)
    for groups in (pairs, triples):
        expected[groups] = groups.min(axis=1, keepdims=True)
    for strategy, tuning in WAYS:
        found = components(rows.row_offsets, rows.column_indices, symmetric=True, strategy=strategy, **tuning)
        assert bool((found.component == expected).all()), f"{strategy} {tuning}"


def test_what_cannot_be_is_refused() -> None:
    csr = on_device(*fast_csr(rmat(5), symmetric=True))
    for tuning, message in (
        ({"block": 256}, "512 or 1024"),
        ({"rounds": 0}, "1 to 4"),
        ({"rounds": 5}, "1 to 4"),
        ({"giant": "last"}, "sampled or first"),
    ):
        with pytest.raises(ValueError, match=message):
            components(*csr, symmetric=True, strategy="afforest_tiles", **tuning)


def test_a_large_component_that_first_neighbours_do_not_show() -> None:
    """After Cuthill-McKee hooks make as many trees as first neighbours; a second vote has to find it."""
    rng = numpy.random.default_rng(1)
    n = 200_000
    source, target = rng.integers(0, n, (2, 8 * n)).astype(numpy.uint32)
    offsets, columns, _ = build(source, target, n)
    csr = apply(offsets, columns, permutation("rcm", offsets, columns))
    found = components(*on_device(*csr), symmetric=True, strategy="afforest_tiles", probes=0)
    numpy.testing.assert_array_equal(found.component.get(), scipy_components(*csr))
