"""The checks of strongly connected components: they pass what SciPy finds, and tell each kind of fault."""

import numpy
import pytest

from gravel.kernels.strong_components import strong_components
from gravel.kernels.verify.cuda.memory import GraphSize, plan_strong_components
from gravel.kernels.verify.cuda.resources import Resources
from gravel.kernels.verify.strong_components import RULES, check_strong_components
from tests.kernels.cuda_case import fast_csr, names, peak_of, rmat
from tests.kernels.strong_components.test_strong_components import (
    both_rows,
    chain_of_cycles,
    expected,
    random_graphs,
)
from tests.kernels.verify.damage import HUBS, ZOO, damaged_components
from tests.zoo import zoo

ROOM = 8 << 30


def broken(rows, component):
    """Return the rules that labels break."""
    checks = check_strong_components(*rows, component)
    return {check.name for check in checks if not check.passed}


@pytest.mark.parametrize("graph", list(zoo()), ids=lambda graph: graph.name)
def test_what_is_right_passes(graph):
    rows = both_rows(graph)
    checks = check_strong_components(*rows[:2], expected(*rows[:2]))
    assert [check.name for check in checks] == list(RULES)
    assert all(check.passed for check in checks)


def test_any_other_labels_fail():
    chosen = numpy.random.default_rng(3)
    for rows in random_graphs():
        right = expected(*rows)
        assert not broken(rows, right)
        n = len(right)
        for _ in range(20):
            wrong = right.copy()
            wrong[chosen.integers(0, n)] = chosen.integers(0, n)
            if (wrong != right).any():
                assert broken(rows, wrong)


def test_each_fault_is_told():
    rows = chain_of_cycles(3, 4, 2)
    right = expected(*rows).astype(numpy.int64)
    assert broken(rows, numpy.full(12, 12)) == {"ranges"}
    assert broken(rows, numpy.full(12, -1)) == {"ranges"}
    assert "smallest" in broken(rows, numpy.where(right == right.max(), 11, right))
    # Each vertex alone: the arcs of a cycle lead from label to label.
    assert broken(rows, numpy.arange(12)) == {"acyclic"}
    # All in one: the last cycle does not reach the first.
    assert broken(rows, numpy.zeros(12, numpy.int64)) & {"from_label", "to_label"}
    path = numpy.array([0, 1, 1], numpy.int64), numpy.array([1], numpy.uint32)
    assert broken(path, numpy.array([0, 0])) == {"to_label"}
    back = numpy.array([0, 0, 1], numpy.int64), numpy.array([0], numpy.uint32)
    assert broken(back, numpy.array([0, 0])) == {"from_label"}
    with pytest.raises(ValueError, match="the graph has 12 vertices"):
        broken(rows, right[:5])


def check_on_gpu(rows, *, place=lambda array: array, seed=0, **options):
    from gravel.kernels.verify.cuda.strong_components import check_strong_components as on_gpu

    right = strong_components(*rows).component.astype(numpy.int64)
    for name, labels in damaged_components(right, seed):
        found = on_gpu(*map(place, (*rows, labels)), Resources(ROOM, **options))
        assert found == check_strong_components(*rows, labels), name
        assert all(each.passed for each in found) is (not name), name


@pytest.mark.gpu
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("graph", [*ZOO, HUBS, rmat(12), rmat(17)], ids=names)
def test_every_damage_is_found_as_the_cpu_finds_it(graph, index):
    import cupy

    rows = fast_csr(graph, symmetric=False, index=index)
    check_on_gpu(rows)
    check_on_gpu(rows, place=cupy.asarray)


@pytest.mark.gpu
def test_random_graphs_and_cycles_in_a_chain():
    for seed, rows in enumerate(random_graphs()):
        check_on_gpu(rows, seed=seed)
    for count, length in ((2000, 2), (3, 5000), (400, 50)):
        check_on_gpu(chain_of_cycles(count, length, count))


@pytest.mark.gpu
@pytest.mark.parametrize("block", [32, 64, 128, 256, 512, 1024])
def test_every_block(block):
    check_on_gpu(fast_csr(rmat(12), symmetric=False), block=block)


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [15, 18])
def test_the_memory_is_what_is_stated(scale):
    from gravel.kernels.verify.cuda.strong_components import check_strong_components as on_gpu

    rows = fast_csr(rmat(scale, 8), symmetric=False)
    labels = strong_components(*rows).component
    planned = plan_strong_components(GraphSize(1 << scale, len(rows[1]), 4), 4, ROOM)
    assert planned is not None
    peak = peak_of(lambda: on_gpu(*rows, labels, Resources(ROOM)))
    assert peak <= planned.device_bytes <= 1.2 * peak + (8 << 20)
