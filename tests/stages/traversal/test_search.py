"""Where traverse has the rows of a compressed graph: pinned, split, or streamed as they are stored."""

import numpy
import pytest

from gravel.kernels.placement.pinned import PinnedRefused
from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.errors import StageError
from gravel.stages.stage import Machine
from tests.stages.traversal.placement_case import (
    CODECS,
    CPU,
    GB,
    GPU,
    PACKED,
    M,
    N,
    just_too_small,
    need,
    packed,
    run,
    stored,
    symmetric_graph,
)
from tests.stages.traverse_case import compressed, plain, renumbered
from tests.zoo import zoo

GRAPHS = {graph.name: graph for graph in zoo()}


def test_compressed_rows_are_placed_as_they_are():
    capped = need(GPU, PACKED, device_memory="3GB")
    assert not capped.refusal
    assert capped.device_bytes <= 3 * GB
    # The stream is read once, and neither decoded nor copied; offsets of bytes and of columns lie beside it.
    assert M < capped.host_bytes < M + 72 * N
    whole = need(GPU, PACKED, placement="device")
    assert M + 8 * N < whole.device_bytes < 4 * M
    split = need(GPU, PACKED, placement="split", device_memory="5GB")
    assert not split.refusal
    assert split.device_bytes <= 5 * GB
    # Not even the first neighbours of every vertex fit.
    assert "placement: pinned" in need(GPU, PACKED, placement="split", device_memory="3GB").refusal
    refused = need(GPU, PACKED, placement="pinned", host_memory="1GB").refusal
    assert "3.61 GB of host memory for rows" in refused
    # Streamed ones are not decoded either, and take three buffers of them.
    for options in ({}, {"algorithm": "components"}):
        for machine in (GPU, CPU):
            streamed = need(machine, PACKED, placement="streamed", host_memory="200MB", **options)
            assert not streamed.refusal
            assert streamed.host_bytes < 80 * N
    small = need(GPU, PACKED, device_memory="2.4GB", host_memory="1GB", sources={"random": 1})
    assert not small.refusal
    assert small.device_bytes <= 2.4 * GB
    assert need(GPU, PACKED, algorithm="components", placement="pinned").host_bytes < 4 * M


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", ["graph", "ordering"])
def test_stored_encoded_rows_are_streamed_as_they_are(tmp_path, codec, kind):
    graph = symmetric_graph(3, 6000)
    given = packed(renumbered(graph) if kind == "ordering" else graph, codec)
    cap = 4 * 4096
    options = {"sources": {"vertices": [0, 3]}}
    usual, expected, _ = run(given, **options)
    traversal, measurement, told = run(stored(tmp_path, given), host_memory=cap, **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    assert measurement.strategy == "streamed"
    assert measurement.asked["placement"] == "streamed"
    assert any(unit == "parts of a level" for _, _, unit in told)
    assert any(note.startswith("placement streamed: ") for note in measurement.notes)
    for one, other in zip(measurement.searches, expected.searches, strict=True):
        assert all(one[name] == other[name] for name in ("reached", "arcs", "edges", "depth"))
    if codec != "csr":
        assert measurement.asked["layout"] == codec
        assert f"rows of layout {codec} were searched as they are" in measurement.notes
    joined, measurement, _ = run(stored(tmp_path, given), host_memory=cap, algorithm="components")
    assert numpy.array_equal(joined.component, run(given, algorithm="components")[0].component)
    assert measurement.strategy == "streamed"
    assert measurement.asked.get("layout") == (None if codec == "csr" else codec)


@pytest.mark.parametrize("codec", CODECS)
def test_no_more_of_a_stream_is_in_memory_than_buffers_hold(tmp_path, codec):
    given = stored(tmp_path, packed(symmetric_graph(3, 6000), codec))
    asked = []
    kind = type(given.stream)
    real = kind.read_into

    def watched(array, out, first=0):
        if array.dtype == numpy.uint8:
            asked.append(out.nbytes)
        real(array, out, first)

    kind.read_into = watched
    try:
        _, measurement, _ = run(given, host_memory=3 * 4096, sources={"random": 2}, statistics=True)
    finally:
        kind.read_into = real
    assert measurement.strategy == "streamed"
    # Rows are counted once, in ranges of 8 MiB, of which this graph is one.
    counted = [size for size in asked if size > 4096]
    assert len(counted) <= (codec != "csr")


@pytest.mark.parametrize("codec", [None, "blocks"])
def test_streamed_rows_with_loops_and_duplicates_count_their_edges(tmp_path, codec):
    offsets, columns = GRAPHS["duplicates_and_loops"].csr(raw=True)
    graph = Graph(
        row_offsets=offsets, column_indices=columns, vertex_count=6, arc_count=len(columns),
        symmetric=True, deduplicated=False, loop_count=4,
    )  # fmt: skip
    given = graph if codec is None else packed(graph, codec)
    options = {"sources": {"vertices": [2]}}
    _, usual, _ = run(graph, **options)
    _, measurement, _ = run(stored(tmp_path, given), placement="streamed", **options)
    assert measurement.searches[0]["edges"] == usual.searches[0]["edges"]


def test_streamed_streams_that_are_damaged_are_refused():
    good = packed(plain(GRAPHS["path_33"]), "varint")
    cut = numpy.array(good.stream)
    cut[-1] |= 128
    for damage in (
        {"stream": cut},
        {"stream": good.stream[:-1]},
        {"arc_count": good.arc_count + 1},
        {"byte_offsets": numpy.array(good.byte_offsets)[::-1].copy()},
    ):
        with pytest.raises(StageError) as caught:
            run(CompressedGraph(**{**vars(good), **damage}), placement="streamed", sources={"vertices": [0]})
        assert "damaged" in str(caught.value.hint)
    columns = packed(plain(GRAPHS["path_33"]), "csr")
    cut_short = CompressedGraph(**{**vars(columns), "stream": columns.stream[:-4]})
    with pytest.raises(StageError, match="the stream has 252 bytes; 64 columns of uint32 were expected"):
        run(cut_short, placement="streamed", sources={"vertices": [0]})


def test_a_row_that_no_buffer_holds_is_refused_with_numbers():
    given = packed(plain(GRAPHS["skewed_random"]), "varint")
    for algorithm in ("bfs", "components"):
        with pytest.raises(
            StageError, match=r"row \d+ lies in .* bytes of the stream, and a buffer holds 128"
        ):
            run(given, placement="streamed", tuning={"buffer_bytes": 128}, algorithm=algorithm)


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["auto", "split", "pinned", "streamed"])
@pytest.mark.parametrize("kind", ["compressed", "compressed_ordering"])
def test_every_placement_of_compressed_rows_on_a_gpu(placement, kind):
    graph = symmetric_graph(6, 100_000, 16) if placement == "split" else symmetric_graph(6)
    given = compressed(renumbered(graph) if kind == "compressed_ordering" else graph)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"sources": {"random": 3}}
    usual, _, _ = run(graph, **options)
    if placement == "split":
        options["device_memory"] = just_too_small(given)
    traversal, measurement, _ = run(given, machine, placement=placement, statistics=True, **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert measurement.asked["placement"] == ("device" if placement == "auto" else placement)
    if placement in ("split", "pinned"):
        assert measurement.strategy == "host_rows"
        assert measurement.asked["layout"] == "varint"
        assert all(search["link_bytes"] is not None for search in measurement.searches)


@pytest.mark.gpu
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", ["graph", "ordering"])
def test_stored_encoded_rows_are_streamed_to_a_gpu(tmp_path, codec, kind):
    graph = symmetric_graph(7, drawn=16)
    given = stored(tmp_path, packed(renumbered(graph) if kind == "ordering" else graph, codec))
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    limits = {"host_memory": "150KB", "device_memory": "3MB"}
    usual, expected, _ = run(given, sources={"random": 3})
    traversal, measurement, _ = run(given, machine, sources={"random": 3}, **limits)
    assert measurement.asked["placement"] == "streamed"
    assert measurement.strategy == "streamed"
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    assert all(search["link_bytes"] > 0 for search in measurement.searches)
    for one, other in zip(measurement.searches, expected.searches, strict=True):
        assert all(one[name] == other[name] for name in ("reached", "arcs", "edges", "depth"))
    usual, _, _ = run(given, algorithm="components")
    limits["device_memory"] = "2MB"
    traversal, measurement, _ = run(given, machine, algorithm="components", **limits)
    assert measurement.strategy == "streamed"
    assert numpy.array_equal(traversal.component, usual.component)


@pytest.mark.gpu
@pytest.mark.parametrize(("algorithm", "cap"), [("bfs", "5.1MB"), ("components", "2.1MB")])
def test_encoded_rows_are_streamed_where_pinned_memory_is_refused(monkeypatch, algorithm, cap):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("gravel.kernels.placement.placed.pin", refuse)
    monkeypatch.setattr("gravel.kernels.placement.copied.pin", refuse)
    given = packed(symmetric_graph(7, drawn=16), "blocks")
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(given, algorithm=algorithm)
    traversal, measurement, _ = run(
        given, machine, algorithm=algorithm, placement="pinned", device_memory=cap
    )
    label = "distance" if algorithm == "bfs" else "component"
    assert numpy.array_equal(getattr(traversal, label), getattr(usual, label))
    assert measurement.strategy == "streamed"
    assert any("the system refuses pinned memory (not today)" in note for note in measurement.notes)
