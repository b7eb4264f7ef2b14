"""compress writes any graph as bytes within bounded memory, and decompress gives it back."""

from __future__ import annotations

import gzip
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy
import pytest
from pydantic import ValidationError
from scipy.sparse import csr_array

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.layouts import LAYOUTS, decode, encode
from gravel.stages.artifacts import Graph, Ordering, Partition
from gravel.stages.compress import STAGE, CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import read_edges
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.rows import encoding as module
from gravel.stages.rows.decoding import decompress
from gravel.stages.rows.ranges import row_ranges
from gravel.stages.stage import Extent, Machine
from tests.kernels.cuda_case import rmat
from tests.stages.preparing_case import Refusing, packed_on_cpu, placed, same_bytes
from tests.stages.preparing_case import graph_of as graph_in_memory
from tests.stages.test_detection import COUNTS
from tests.stages.traverse_case import as_graph
from tests.zoo import DATA, needs_data, zoo

CODECS = ("csr", "varint", "blocks", "elias_fano")


def graph_of(csr: tuple[numpy.ndarray, numpy.ndarray], **facts: Any) -> Graph:
    facts = {"symmetric": True, "deduplicated": True, **facts}
    return Graph(
        row_offsets=csr[0],
        column_indices=csr[1],
        vertex_count=len(csr[0]) - 1,
        arc_count=len(csr[1]),
        **facts,
    )


def pack(graph: Graph | Partition, codec: str) -> Any:
    return compress(PlainContext(), CompressParameters(codec=codec), input=graph)


@pytest.mark.parametrize("codec", CODECS)
def test_graphs_come_back(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "row_ranges", lambda offsets: row_ranges(offsets, rows=50, arcs=70))
    for member in zoo():
        graph = graph_of(member.csr(), loop_count=3)
        packed = pack(graph, codec)
        assert len(packed.byte_offsets) == member.vertex_count + 1
        assert packed.byte_offsets[-1] == len(packed.stream) == packed.statistics["stream_bytes"]
        again = decompress(packed)
        assert numpy.array_equal(again.row_offsets, graph.row_offsets)
        assert numpy.array_equal(again.column_indices, graph.column_indices)
        assert again.column_indices.dtype == graph.column_indices.dtype
        assert replace(again, row_offsets=None, column_indices=None) == replace(
            graph, row_offsets=None, column_indices=None
        )


@pytest.mark.parametrize("codec", CODECS)
def test_partitions_come_back_subgraph_by_subgraph(codec: str) -> None:
    for member in zoo():
        whole = graph_of(member.csr())
        parts = partition(PlainContext(), PartitionParameters(ranks=3, threshold=4), input=whole)
        packed = pack(parts, codec)
        assert len(packed.subgraphs) == 12
        again = decompress(packed)
        assert isinstance(again, Partition)
        assert set(again.arrays) == set(parts.arrays)
        for name, array in parts.arrays.items():
            assert numpy.array_equal(again.arrays[name], array), name
            assert again.arrays[name].dtype == array.dtype, name
        assert (again.ranks, again.threshold, again.arc_count) == (3, 4, whole.arc_count)


def test_an_orderings_permutation_is_kept() -> None:
    offsets, columns = next(graph for graph in zoo() if graph.name == "path_33").csr()
    permutation = numpy.arange(33, dtype=numpy.uint32)
    facts = {"vertex_count": 33, "arc_count": 64, "symmetric": True, "deduplicated": True}
    ordering = Ordering(
        row_offsets=offsets, column_indices=columns, permutation=permutation, method="original", **facts
    )
    assert pack(ordering, "varint").permutation is permutation
    parts = partition(PlainContext(), PartitionParameters(ranks=2, threshold=1), input=ordering)
    assert pack(parts, "varint").permutation is permutation
    assert decompress(pack(parts, "varint")).permutation is permutation


def test_ratios_count_as_the_report_does() -> None:
    offsets, columns = next(graph for graph in zoo() if graph.name == "complete_40").csr()
    told = pack(graph_of((offsets, columns)), "varint").statistics
    assert told["stream_bytes"] == 40 * 39
    assert told["bits_per_arc"] == 8
    assert told["ratio_of_columns"] == 4
    assert told["ratio_of_csr"] == pytest.approx((8 * 41 + 4 * 1560) / (8 * 41 + 1560))
    plain = pack(graph_of((offsets, columns)), "csr").statistics
    assert plain["ratio_of_columns"] == plain["ratio_of_csr"] == 1


def test_row_ranges_cover_rows_within_their_bounds() -> None:
    offsets = numpy.cumsum([0, 3, 0, 0, 9, 1, 1, 1, 0, 30, 0, 2])
    ranges = list(row_ranges(offsets, rows=3, arcs=5))
    rows = [first + i for first, part in ranges for i in range(len(part) - 1)]
    assert rows == list(range(11))
    for first, part in ranges:
        assert numpy.array_equal(part, offsets[first : first + len(part)])
        assert len(part) <= 4
        assert part[-1] - part[0] <= 5 or len(part) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"stream": numpy.full(64, 255, numpy.uint8)}, "is damaged"),
        ({"stream": numpy.full(64, 127, numpy.uint8)}, "not in the graph"),
        ({"arc_count": 65}, "should hold 65"),
        ({"codec": "csr"}, "64 columns of uint32"),
    ],
)
def test_damaged_bytes_are_refused(change: dict[str, Any], reason: str) -> None:
    packed = pack(graph_of(next(graph for graph in zoo() if graph.name == "path_33").csr()), "varint")
    with pytest.raises(StageError, match=reason):
        decompress(replace(packed, **change))


@pytest.mark.parametrize("codec", ["blocks", "elias_fano"])
@pytest.mark.parametrize("arcs", [63, 65, 1 << 40])
def test_other_numbers_of_arcs_are_refused(codec: str, arcs: int) -> None:
    packed = pack(graph_of(next(graph for graph in zoo() if graph.name == "path_33").csr()), codec)
    with pytest.raises(StageError, match=f"holds 64 arcs; it should hold {arcs}"):
        decompress(replace(packed, arc_count=arcs))


@pytest.mark.parametrize("codec", CODECS)
def test_a_stream_of_another_length_is_refused(codec: str) -> None:
    packed = pack(graph_of(next(graph for graph in zoo() if graph.name == "path_33").csr()), codec)
    for stream in (packed.stream[:-1], numpy.append(packed.stream, numpy.uint8(0))):
        with pytest.raises(StageError, match=r"bytes"):
            decompress(replace(packed, stream=stream))


@pytest.mark.parametrize("codec", ["varint", "blocks", "elias_fano"])
def test_rows_that_do_not_ascend_are_refused(codec: str) -> None:
    offsets, columns = next(graph for graph in zoo() if graph.name == "path_33").csr()
    columns[14] = 0
    with pytest.raises(StageError, match="row 7 does not ascend") as refused:
        pack(graph_of((offsets, columns)), codec)
    assert refused.value.hint


@pytest.mark.parametrize("codec", CODECS)
def test_rows_in_ranges_are_written_as_at_once(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(next(graph for graph in zoo() if graph.name == "skewed_random").csr())
    whole = pack(graph, codec)
    monkeypatch.setattr(module, "row_ranges", lambda offsets: row_ranges(offsets, rows=7, arcs=70))
    parts = pack(graph, codec)
    assert numpy.array_equal(parts.byte_offsets, whole.byte_offsets)
    assert numpy.array_equal(parts.stream, whole.stream)


@pytest.mark.parametrize("codec", ["varint", "blocks", "elias_fano"])
def test_memory_stays_within_the_stated_need(codec: str) -> None:
    n, degree = 1 << 16, 48
    columns = numpy.tile(numpy.arange(degree, dtype=numpy.uint32) * 1000, n)
    graph = graph_of((numpy.arange(n + 1, dtype=numpy.int64) * degree, columns))
    extent = Extent(kind="Graph", vertices=n, arcs=len(columns))
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    need = STAGE.estimate(CompressParameters(codec=codec), {"input": (extent,)}, machine)
    pack(graph, codec)

    class Discard:
        def append(self, rows: numpy.ndarray) -> None:
            rows.copy()

        def close(self) -> numpy.ndarray:
            return numpy.empty(0)

    context = PlainContext()
    context.sink = lambda dtype, row_shape=(), *, rows=None: Discard()  # type: ignore[method-assign,assignment,return-value]
    tracemalloc.start()
    compress(context, CompressParameters(codec=codec), input=graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < need.host_bytes


@needs_data
def test_a_crawl_takes_six_bits_an_arc_or_less() -> None:
    with gzip.open(DATA / "cnr-2000.graph-txt.gz") as file:
        n = int(file.readline())
        lines = [numpy.array(line.split(), numpy.int32) for line in file]
    source = numpy.repeat(numpy.arange(n, dtype=numpy.int32), [len(line) for line in lines])
    target = numpy.concatenate(lines)
    both = (numpy.concatenate((source, target)), numpy.concatenate((target, source)))
    keep = both[0] != both[1]
    rows, columns = both[0][keep], both[1][keep]
    matrix = csr_array((numpy.ones(len(rows), numpy.bool_), (rows, columns)), (n, n))
    matrix.sum_duplicates()
    graph = graph_of((matrix.indptr.astype(numpy.int64), matrix.indices.astype(numpy.uint32)))
    assert graph.arc_count == 2 * 2_738_969
    for codec, bits in (("varint", 9.9), ("blocks", 5.58), ("elias_fano", 13.77)):
        packed = pack(graph, codec)
        assert packed.statistics["bits_per_arc"] == pytest.approx(bits, abs=0.01)
        assert packed.statistics["bits_per_arc_with_offsets"] == pytest.approx(
            bits + 64 * (n + 1) / graph.arc_count, abs=0.01
        )
        assert numpy.array_equal(decompress(packed).column_indices, graph.column_indices)


def test_a_kronecker_graph_takes_what_elias_fano_takes_or_a_tenth_more() -> None:
    ends = generate("rmat", first=0, count=16 << 14, scale=14, edge_factor=16, seed=1)
    made = build(*ends, 1 << 14)
    graph = graph_of((made.row_offsets, made.column_indices))
    taken = {codec: pack(graph, codec).statistics["bits_per_arc"] for codec in ("blocks", "elias_fano")}
    assert taken["blocks"] < 1.1 * taken["elias_fano"]


@pytest.mark.gpu
@pytest.mark.parametrize("codec", CODECS)
def test_a_gpu_writes_and_reads_the_same_bytes(codec: str) -> None:
    import cupy

    machine = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
    for member in zoo():
        graph = graph_of(member.csr())
        packed = compress(PlainContext(machine), CompressParameters(codec=codec), input=graph)
        expected = pack(graph, codec)
        assert numpy.array_equal(packed.byte_offsets, expected.byte_offsets)
        assert numpy.array_equal(packed.stream, expected.stream)
        again = decompress(packed, backend="cuda")
        assert isinstance(again.column_indices, cupy.ndarray)
        assert numpy.array_equal(cupy.asnumpy(again.row_offsets), graph.row_offsets)
        assert numpy.array_equal(cupy.asnumpy(again.column_indices), graph.column_indices)


def advised(graph, **advice):
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    return compress(context, CompressParameters(codec="auto", advice=advice), input=graph), context.messages


def test_auto_packs_what_does_not_fit_and_says_why():
    graph = kron(15)
    memory = 48 * graph.vertex_count + 2 * graph.arc_count
    made, messages = advised(graph, searches=10**12, device_memory=memory)
    advice = made.statistics["advice"]
    assert made.codec == advice["choice"] != "csr"
    assert messages == [f"codec: auto is {made.codec}; {advice['reason']}"]
    assert advice["for"]["device_memory"] == memory
    assert advice["considered"][0]["bits_per_arc"] == pytest.approx(made.statistics["bits_per_arc"], rel=0.02)
    again = decompress(made)
    assert again.column_indices.tolist() == graph.column_indices.tolist()
    plain, _ = advised(graph, searches=10**12)
    assert plain.codec == "csr"


def test_auto_chooses_for_graphs_alone():
    part = partition(PlainContext(), PartitionParameters(ranks=2), input=kron(8))
    with pytest.raises(StageError, match="partition"):
        advised(part)


def test_advice_is_part_of_auto_alone():
    given = {"searches": 5, "device_memory": "1GB"}
    assert CompressParameters(codec="csr", advice=given) == CompressParameters(codec="csr")
    assert CompressParameters(codec="auto") == CompressParameters(codec="auto", advice={"searches": 1000})
    assert CompressParameters(codec="auto", advice=given) != CompressParameters(codec="auto")
    with pytest.raises(ValidationError, match="searches"):
        CompressParameters(codec="csr", advice={"searches": 0})


def kron(scale):
    ends = generate("rmat", first=0, count=16 << scale, scale=scale, edge_factor=16, seed=1)
    made = build(*ends, 1 << scale)
    return as_graph(made.row_offsets, made.column_indices)


def test_columns_in_memory_are_their_own_bytes():
    graph = kron(8)
    packed = compress(PlainContext(), CompressParameters(codec="csr"), input=graph)
    assert numpy.shares_memory(packed.stream, graph.column_indices)
    assert numpy.array_equal(packed.byte_offsets, graph.row_offsets * graph.column_indices.itemsize)
    assert numpy.array_equal(decompress(packed).column_indices, graph.column_indices)


@pytest.mark.parametrize("codec", [*CODECS, "auto"])
def test_arrays_of_a_device_are_asked_for(codec: str) -> None:
    for member in (rmat(9), *zoo()):
        graph = graph_in_memory(member)
        same_bytes(packed_on_cpu(placed(graph, Refusing), codec), packed_on_cpu(graph, codec))


@needs_data
@pytest.mark.parametrize("name", list(COUNTS))
def test_real_graphs_come_back(name: str) -> None:
    edges, _ = read_edges(DATA / name)
    pairs = numpy.asarray(edges.source), numpy.asarray(edges.target)
    for raw in (False, True):
        direction = "as_given" if raw else "both"
        built = build(*pairs, edges.vertex_count, direction=direction, keep_duplicates=raw, keep_loops=raw)
        for layout in LAYOUTS:
            again = decode(encode(layout, built.row_offsets, built.column_indices))
            assert numpy.array_equal(again[0], built.row_offsets), layout
            assert numpy.array_equal(again[1], built.column_indices), layout
