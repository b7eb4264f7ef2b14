"""partition and compress on a GPU make what they make on the CPU, from arrays wherever they are."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.arrays import backend_of
from gravel.kernels.partition import census, census_cpu, chunks, chunks_cuda, shares
from gravel.kernels.partition.layout import packed_bits
from gravel.kernels.partition.stripes import stripe_rows
from gravel.stages.context import PlainContext
from gravel.stages.partitioning import on_device
from tests.gravel.samples import by_id, random_edges
from tests.kernels.cuda_case import fast_csr, rmat
from tests.stages.preparing_case import (
    ASKED,
    CODECS,
    Keeping,
    divided,
    divided_on_cpu,
    graph_of,
    machine,
    packed,
    packed_on_cpu,
    placed,
    same_bytes,
    same_partition,
    words,
)
from tests.zoo import zoo

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

LARGE = rmat(16)
MEMBERS = [*zoo(), rmat(11), LARGE]
AMPLE = 8 << 30


@pytest.mark.parametrize("asked", ASKED, ids=words)
def test_a_graph_is_divided_as_by_the_cpu(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for member in MEMBERS:
        graph = graph_of(member, symmetric=member is LARGE)
        expected = divided_on_cpu(graph, **asked)
        for context in (Keeping(machine("cuda", AMPLE)), PlainContext(machine("cuda", AMPLE))):
            found = divided(context, placed(graph, cupy.asarray), **asked)
            same_partition(found, expected)
            kinds = {backend_of(array) for array in found.arrays.values()}
            assert kinds == {"cuda" if context.keeps_device_arrays else "cpu"}
        with monkeypatch.context() as small:
            small.setattr(on_device, "RANGE_ARCS", 1 << 17 if member is LARGE else 256)
            small.setattr(on_device, "LEAST_ARCS", 16)
            small.setattr(on_device, "whole_bytes", lambda size: AMPLE + 1)
            same_partition(divided(Keeping(machine("cuda", AMPLE)), graph, **asked), expected)


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.uint64])
def test_shares_and_counts_of_large_ranges(dtype: Any) -> None:
    offsets, columns = fast_csr(rmat(18), symmetric=True, index=dtype)
    lengths = numpy.diff(offsets)
    above = lengths > 40
    host = shares.index_delegates(packed_bits(above), lengths[above])
    rows = [(0, cupy.asarray(offsets))]
    vertices, index = chunks_cuda.index_delegates(lambda: rows, len(lengths), 40, dtype)
    assert numpy.array_equal(vertices.get(), numpy.flatnonzero(above))
    degrees = census.capped(lengths)
    for first, last in ((0, len(lengths)), (1001, 200_003)):
        rows = offsets[first : last + 1], columns[offsets[first] : offsets[last]]
        given = tuple(map(cupy.asarray, rows))
        for ranks, low, high in ((1, 0, 1), (8, 0, 8), (64, 0, 64), (100, 50, 66)):
            asked = {"ranks": ranks, "low": low, "high": high}
            for found, expected in (
                (
                    chunks_cuda.split_rows(*given, first, index, **asked),
                    chunks.split_rows(*rows, first, host, **asked),
                ),
                (chunks_cuda.split_rows(*given, first, None, **asked), stripe_rows(*rows, first, **asked)),
            ):
                for mine, wanted in zip(found, expected, strict=True):
                    for here, there in zip(mine, wanted, strict=True):
                        assert list(here) == list(there)
                        for name, array in there.items():
                            assert numpy.array_equal(here[name].get(), array), name
        ends = cupy.zeros((2, census.LARGEST + 1), numpy.int64)
        chunks_cuda.count_rows(*given, first, cupy.asarray(degrees), ends[0], ends[1])
        assert numpy.array_equal(ends.get(), census_cpu.count_rows(*rows, first, degrees))


@pytest.mark.parametrize("codec", CODECS)
def test_the_bytes_are_those_of_the_cpu(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for member in MEMBERS:
        graph = graph_of(member, symmetric=member is LARGE)
        expected = packed_on_cpu(graph, codec)
        for place in (cupy.asarray, lambda array: array):
            for context in (Keeping(machine("cuda", AMPLE)), PlainContext(machine("cuda", AMPLE))):
                found = packed(context, placed(graph, place), codec)
                same_bytes(found, expected)
                stays = context.keeps_device_arrays and (codec != "csr" or place is cupy.asarray)
                assert (backend_of(found.stream) == "cuda") is stays
        if codec != "csr":
            parts = divided_on_cpu(graph, ranks=3, threshold=6)
            same_bytes(packed(Keeping(machine("cuda", AMPLE)), parts, codec), packed_on_cpu(parts, codec))


@pytest.mark.parametrize("layout", [*CODECS, "auto"])
def test_graphs_made_on_the_device_are_compressed_and_searched(layout: str) -> None:
    import gravel

    source, target = random_edges()
    made = gravel.graph((cupy.asarray(source), cupy.asarray(target)))
    vertex = int(source[0])
    assert by_id(made.compress(layout).bfs(vertex)) == by_id(made.bfs(vertex))
