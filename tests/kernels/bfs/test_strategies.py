"""Searches of more arcs than 32 bits count, made and verified on the device; of more levels than a log."""

from functools import cache

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.strategy import strategies_in
from tests.kernels.cuda_case import path

SCALE, EDGE_FACTOR, PARTS = 26, 36, 16
"""Kronecker, with more than 2^32 arcs when duplicates are gone: 17 GB of columns."""

STRATEGIES = [name for name, each in sorted(strategies_in("gravel.kernels.bfs").items()) if each.cuda]

VERIFY = r"""
// For every vertex: no neighbour is more than one level away, or reached if it is not; some neighbour is one
// level nearer, and the predecessor is the smallest of those.
extern "C" __global__ void verify(const long long* offsets, long long vertices, const unsigned* columns,
                                  const int* distance, long long step, const int* predecessor,
                                  long long tree_step, long long source, int has_tree,
                                  unsigned long long* faults) {
    const long long warps = gridDim.x * (blockDim.x / 32ll);
    for (long long v = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32; v < vertices; v += warps) {
        int near = distance[v * step], smallest = 0x7fffffff;
        bool wrong = (near == 0) != (v == source) || near < -1;
        for (long long k = offsets[v] + threadIdx.x % 32; k < offsets[v + 1]; k += 32) {
            int far = distance[columns[k] * step];
            if ((near < 0) != (far < 0) || near - far > 1 || far - near > 1) wrong = true;
            if (near > 0 && far == near - 1 && int(columns[k]) < smallest) smallest = int(columns[k]);
        }
        for (int lanes = 16; lanes; lanes /= 2) {
            int other = __shfl_xor_sync(0xffffffffu, smallest, lanes);
            smallest = other < smallest ? other : smallest;
        }
        if (near > 0 && smallest == 0x7fffffff) wrong = true;
        if (has_tree && predecessor[v * tree_step] != (near > 0 ? smallest : -1)) wrong = true;
        if (wrong) atomicAdd(faults, 1ull);
    }
}
"""


@cache
def graph():
    """Row offsets and columns, built a range of rows at a time since sorting takes 16 bytes per arc."""
    import cupy

    from gravel.kernels import csr
    from gravel.kernels.generate import generate

    n = 1 << SCALE
    source, target = generate("rmat", scale=SCALE, edge_factor=EDGE_FACTOR, seed=1, backend="cuda")
    columns = cupy.empty(2 * len(source), cupy.uint32)
    offsets = cupy.zeros(n + 1, cupy.int64)
    arcs = 0
    for part in range(PARTS):
        first, last = n * part // PARTS, n * (part + 1) // PARTS
        rows = csr.build(source, target, n, first_vertex=first, last_vertex=last)
        columns[arcs : arcs + len(rows.column_indices)] = rows.column_indices
        offsets[first : last + 1] = rows.row_offsets + arcs
        arcs += len(rows.column_indices)
        del rows
        cupy.get_default_memory_pool().free_all_blocks()
    del source, target
    return offsets, columns[:arcs]


def verify(offsets, columns, result) -> int:
    """Count the vertices whose labels are wrong."""
    import cupy

    kernel = cupy.RawKernel(VERIFY, "verify")
    faults = cupy.zeros(1, cupy.uint64)
    tree = result.distance if result.predecessor is None else result.predecessor
    kernel(
        (4096,),
        (256,),
        (
            offsets,
            numpy.int64(len(offsets) - 1),
            columns,
            result.distance,
            numpy.int64(result.distance.strides[0] // 4),
            tree,
            numpy.int64(tree.strides[0] // 4),
            numpy.int64(result.source),
            numpy.int32(result.predecessor is not None),
            faults,
        ),
    )
    return int(faults[0])


def sources(offsets):
    """The vertex of the last row with arcs, whose arcs lie beyond 2^32, and one in the middle."""
    import cupy

    linked = cupy.flatnonzero(cupy.diff(offsets))
    return int(linked[-1]), int(linked[len(linked) // 2])


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_more_arcs_than_32_bits_count(strategy, output) -> None:
    import cupy

    offsets, columns = graph()
    assert len(columns) > 1 << 32
    options = {"batch": 2} if strategy == "multi_source" else {}
    search = prepare(offsets, columns, strategy=strategy, symmetric=True, output=output, **options)
    reached = []
    for source in sources(offsets):
        result = search.run(source)
        assert verify(offsets, columns, result) == 0
        reached.append(int((result.distance >= 0).sum()))
    # Both are in the giant component, which holds nearly all vertices that have arcs.
    assert reached[0] == reached[1] > 1 << 24
    del search, result
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", ["two_phase", "flex", "host_rows"])
def test_every_level_is_counted(strategy, monkeypatch) -> None:
    import cupy

    for module in ("bfs.cuda.cooperative", "papers.flexbfs.flex", "bfs.cuda.host_rows"):
        monkeypatch.setattr(f"gravel.kernels.{module}.LOGGED_LEVELS", 250)
    offsets, columns = path(700)
    statistics = {} if strategy == "host_rows" else {"statistics": True}
    search = prepare(
        cupy.asarray(offsets),
        cupy.asarray(columns),
        strategy=strategy,
        symmetric=True,
        output="distance",
        **statistics,
    )
    for source in (350, 0, 0):
        found = search.run(source)
        assert numpy.array_equal(
            cupy.asnumpy(found.distance), numpy.abs(numpy.arange(700) - source).astype(numpy.int32)
        )
        assert len(found.directions) >= 350
        if statistics:
            assert found.expanded is not None
            assert len(found.expanded) == len(found.directions)
            assert sum(found.expanded) >= len(columns)
