"""compress on an emulated GPU: the bytes of the CPU, at once and in ranges, and where memory is short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.arrays import backend_of
from gravel.kernels.layouts import decode
from gravel.stages.artifacts import Ordering, Partition
from gravel.stages.compress import STAGE, CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.ranks.partition import read_encoded_ranks
from gravel.stages.rows import encoding
from gravel.stages.rows.decoding import decompress
from gravel.stages.rows.encoded import columns_as_stored, read_rows
from gravel.stages.rows.ranges import row_ranges
from gravel.stages.stage import Extent
from tests.emulation.strict_cupy import on_device
from tests.emulation.verify_case import Pool, Stored, emulate
from tests.kernels.cuda_case import rmat
from tests.stages.preparing_case import (
    CODECS,
    Keeping,
    graph_of,
    machine,
    packed,
    packed_on_cpu,
    placed,
    same_bytes,
)
from tests.zoo import zoo

ZOO = list(zoo())
SKEWED = rmat(9)


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    return emulate(monkeypatch)


def in_small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    def ranges(row_offsets: Any) -> Any:
        return row_ranges(row_offsets, rows=50, arcs=700)

    monkeypatch.setattr(encoding, "row_ranges", ranges)


@pytest.mark.parametrize("codec", CODECS)
def test_the_gpu_writes_the_bytes_of_the_cpu(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for member in [*ZOO, SKEWED]:
        graph = graph_of(member, symmetric=False)
        expected = packed_on_cpu(graph, codec)
        same_bytes(packed(Keeping(machine("cuda")), graph, codec), expected)
        with monkeypatch.context() as small:
            in_small_ranges(small)
            found = packed(PlainContext(machine("cuda")), graph, codec)
        same_bytes(found, expected)
        assert type(found.stream) is type(found.byte_offsets) is numpy.ndarray


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("place", [on_device, Stored], ids=["on the device", "stored"])
def test_arrays_wherever_they_are(codec: str, place: Any) -> None:
    graph = graph_of(SKEWED, index=numpy.uint64)
    there = placed(graph, place)
    expected = packed_on_cpu(graph, codec)
    for context in (Keeping(machine("cuda")), PlainContext(machine("cuda")), PlainContext(machine("cpu"))):
        found = packed(context, there, codec)
        same_bytes(found, expected)
        stays = context.keeps_device_arrays and (codec != "csr" or place is on_device)
        assert (backend_of(found.stream) == "cuda") is stays


@pytest.mark.parametrize("codec", ["varint", "blocks"])
def test_partitions(codec: str) -> None:
    whole = partition(PlainContext(), PartitionParameters(ranks=3, threshold=4), input=graph_of(SKEWED))
    expected = packed_on_cpu(whole, codec)
    found = packed(Keeping(machine("cuda")), whole, codec)
    same_bytes(found, expected)
    assert backend_of(found.stream) == "cuda"
    same_bytes(packed(PlainContext(machine("cuda")), whole, codec), expected)


@pytest.mark.parametrize("codec", CODECS)
def test_what_stays_on_the_device_is_read_from_there(codec: str) -> None:
    graph = graph_of(SKEWED)
    there = placed(graph, on_device)
    made = packed(Keeping(machine("cuda")), there, codec)
    found = [decompress(made)]
    if codec == "csr":
        again = columns_as_stored(made)
        found.append(replace(again, column_indices=again.column_indices[: graph.arc_count]))
    else:
        rows = read_rows(made)
        assert not any(backend_of(array) == "cuda" for array in rows.arrays.values())
        offsets, columns = decode(rows)
        found.append(replace(graph, row_offsets=offsets, column_indices=columns))
    for each in found:
        assert numpy.array_equal(each.row_offsets, graph.row_offsets)
        assert numpy.array_equal(each.column_indices, graph.column_indices)
    if codec in ("varint", "blocks"):
        parts = partition(PlainContext(), PartitionParameters(ranks=2, threshold=4), input=graph)
        made = packed(Keeping(machine("cuda")), parts, codec)
        again = decompress(made)
        assert isinstance(again, Partition)
        for name, array in parts.arrays.items():
            assert numpy.array_equal(again.arrays[name], array), name
        assert len(read_encoded_ranks(made).parts) == 2


def test_auto_reads_arrays_of_the_device() -> None:
    graph = graph_of(SKEWED)
    there = placed(graph, on_device)
    same_bytes(packed(Keeping(machine("cuda")), there, "auto"), packed_on_cpu(graph, "auto"))


def test_an_order_is_told() -> None:
    graph = graph_of(SKEWED)
    permutation = numpy.arange(graph.vertex_count, dtype=numpy.uint32)
    ordering = Ordering(**vars(graph), permutation=permutation, method="x", statistics={"mean_gap": 1.0})
    found = packed(Keeping(machine("cuda")), ordering, "varint")
    assert found.permutation is permutation
    assert found.statistics["order"] == {"method": "x", "mean_gap": 1.0}


@pytest.mark.parametrize("codec", ["varint", "blocks", "elias_fano"])
@pytest.mark.parametrize("kind", [Keeping, PlainContext])
def test_rows_that_do_not_ascend_are_refused(codec: str, kind: Any) -> None:
    graph = graph_of(next(graph for graph in ZOO if graph.name == "path_33"))
    graph.column_indices[14] = 0
    with pytest.raises(StageError, match="rows from 0 on: row 7 does not ascend"):
        packed(kind(machine("cuda")), graph, codec)


@pytest.mark.parametrize("codec", ["varint", "blocks", "elias_fano"])
def test_less_room_than_stated(codec: str, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(SKEWED)
    expected = packed_on_cpu(graph, codec)
    told = {}
    for limit in (1 << 40, 40_000, 9_000, 500):
        pool.limit = limit
        context = Keeping(machine("cuda"))
        found = packed(context, graph, codec)
        same_bytes(found, expected)
        told[limit] = context.messages
        assert (backend_of(found.stream) == "cuda") is (limit == 1 << 40)
        del found
        assert not pool.used
    assert not told[1 << 40]
    assert "not encoded on the GPU at once" in told[40_000][0]
    assert any("ranges become smaller" in line for line in told[9_000])
    assert not any("not encoded on the GPU in ranges" in line for line in told[9_000])
    assert "not encoded on the GPU in ranges" in told[500][-1]


@pytest.mark.parametrize("codec", ["varint", "blocks", "elias_fano", "csr"])
@pytest.mark.parametrize("kind", [Keeping, PlainContext])
def test_no_more_is_taken_than_stated(
    codec: str, kind: Any, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_ranges(monkeypatch)
    monkeypatch.setattr(encoding, "ARCS_AT_ONCE", 700)
    monkeypatch.setattr(encoding, "ROWS_AT_ONCE", 50)
    graph = graph_of(rmat(10))
    extent = Extent(kind="Graph", vertices=graph.vertex_count, arcs=graph.arc_count)
    parameters = CompressParameters(codec=codec)
    stated = []
    for room in (1 << 30, 60_000):
        need = STAGE.estimate(parameters, {"input": (extent,)}, machine("cuda", room))
        pool.peak = 0
        context = kind(machine("cuda", room))
        found = compress(context, parameters, input=graph)
        same_bytes(found, packed_on_cpu(graph, codec))
        assert pool.peak <= need.device_bytes <= room
        assert not context.messages
        stated.append(need.device_bytes)
        del found
    assert stated == [0, 0] if codec == "csr" else stated[0] > stated[1] > 0
    # Rows that the GPU has no room for are the CPU's from the start.
    need = STAGE.estimate(parameters, {"input": (extent,)}, machine("cuda", 1000))
    assert need.device_bytes == 0
    assert ("on the CPU: compress needs" in need.note) is (codec != "csr")
    assert need.host_bytes >= STAGE.estimate(parameters, {"input": (extent,)}, machine("cpu")).host_bytes
    same_bytes(compress(kind(machine("cuda", 1000)), parameters, input=graph), packed_on_cpu(graph, codec))
