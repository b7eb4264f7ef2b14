"""Where traverse has the rows of a graph: what it states, refuses, and does."""

import json
import re

import numpy
import pytest
from pydantic import ValidationError

from kernels.placement.pinned import PinnedRefused
from pipeline.errors import RequestError
from pipeline.memory import Capacity, refuse_what_cannot_fit
from pipeline.store import Cache
from stages.artifacts import CompressedGraph, Graph
from stages.compress import STAGE as COMPRESS
from stages.compress import CompressParameters
from stages.context import PlainContext
from stages.errors import StageError
from stages.searching.need import estimate
from stages.searching.placing import extent_of, plan_for
from stages.stage import Extent, Machine
from stages.traverse import STAGE, TraverseParameters, traverse
from tests.stages.traverse_case import as_graph, compressed, partitioned, plain, renumbered
from tests.zoo import scipy_distances, zoo

GRAPHS = {graph.name: graph for graph in zoo()}
GB = 10**9
N, M = 65_608_366, 3_612_134_270  # Friendster
FRIENDSTER = Extent(kind="Graph", vertices=N, arcs=M, bytes=8 * N + 4 * M)
PACKED = Extent(kind="CompressedGraph", vertices=N, arcs=M, bytes=8 * N + M)
GPU = Machine(backend="cuda", threads=16, host_memory=110 * GB, device_memory=140 * GB)
CPU = Machine(backend="cpu", threads=2, host_memory=110 * GB)


def need(machine, graph=FRIENDSTER, **parameters):
    return estimate(TraverseParameters(**parameters), {"input": (graph,)}, machine)


def test_a_cap_on_the_device_moves_rows_to_the_host():
    whole = need(GPU)
    assert whole.device_bytes > 4 * M + 8 * N
    assert not whole.refusal
    capped = need(GPU, device_memory="5.8GB")
    assert not capped.refusal
    assert 5 * GB < capped.device_bytes <= 5.8 * GB
    assert 4 * M + 16 * N < capped.host_bytes < 4 * M + 16 * N + 3 * GB
    pinned = need(GPU, device_memory="5.8GB", placement="pinned")
    assert pinned.device_bytes < 2 * GB
    streamed = need(GPU, device_memory="5.8GB", host_memory="1GB")
    assert streamed.host_bytes < 4 * GB
    assert streamed.device_bytes < 2 * GB
    small = Extent(kind="Graph", vertices=1000, arcs=9000, bytes=44_000)
    assert need(GPU, small).device_bytes < 1 << 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"placement": "device", "device_memory": "5.8GB"},
            "placement 'device' needs 46.8 GB of device memory; it",
        ),
        (
            {"placement": "pinned", "host_memory": "8GB"},
            "14.4 GB of host memory for rows; .*what would fit: placement: device, or placement: streamed, "
            "or host_memory of at least 14.4 GB",
        ),
        ({"device_memory": "1GB"}, "no placement fits: streamed, the least, needs .* of device memory"),
        (
            {
                "device_memory": "5GB",
                "algorithm": "components",
                "strategy": "afforest",
                "host_memory": "1GB",
            },
            "no placement fits: pinned, the least",
        ),
    ],
)
def test_what_cannot_fit_is_refused_before_it_starts(parameters, message):
    refused = need(GPU, **parameters)
    assert refused.refusal
    with pytest.raises(RequestError, match=message):
        refuse_what_cannot_fit(
            {"bfs": refused}, Capacity(110 * GB, "the machine's memory", 140 * GB, "a GPU")
        )


def test_what_does_not_fit_the_machine_is_told_as_ever():
    small = Machine(backend="cuda", threads=2, host_memory=110 * GB, device_memory=6 * GB)
    asked = need(small, placement="device")
    assert not asked.refusal
    assert asked.device_bytes > 40 * GB
    # A strategy that wants rows on the device gets them there, or the run is refused.
    assert need(small, strategy="two_phase").device_bytes > 40 * GB
    assert need(small).device_bytes <= 6 * GB


def test_a_cpu_streams_what_exceeds_host_memory():
    whole = need(CPU)
    assert whole.host_bytes > 4 * M + 8 * N
    capped = need(CPU, host_memory="1GB")
    assert not capped.refusal
    assert capped.host_bytes < 8 * N + 3 * GB
    assert need(Machine(backend="cpu", threads=2, host_memory=6 * GB)).host_bytes <= 6 * GB
    assert need(CPU, placement="pinned").host_bytes == whole.host_bytes
    assert "streaming needs" in need(CPU, host_memory="1kB").refusal


def test_components_split_rows_up_to_the_cap():
    components = {"algorithm": "components", "device_memory": "5.8GB"}
    for graph in (FRIENDSTER, PACKED):
        split = need(GPU, graph, placement="split", **components)
        assert not split.refusal
        assert 5 * GB < split.device_bytes <= 5.8 * GB
    assert need(GPU, **components).device_bytes == need(GPU, placement="split", **components).device_bytes
    # Another strategy reads all rows over the link.
    tiles = need(GPU, strategy="afforest_tiles", **components)
    assert tiles.device_bytes < 3 * GB
    least = need(GPU, algorithm="components", placement="split", device_memory="1GB")
    assert "placement 'split' needs" in least.refusal


def test_what_components_keep_is_told():
    parameters = TraverseParameters(algorithm="components", placement="split", device_memory="4MB")
    graph = symmetric_graph(4)
    for given, told in (
        (graph, r"with 2 first neighbours of every vertex and up to .* of further ones on the device"),
        (
            packed(graph, "csr"),
            r"with 4 first neighbours of every vertex and up to .* of further ones on the",
        ),
        (packed(graph, "blocks"), "with 4 first neighbours of every vertex on the device: asked for"),
    ):
        plan = plan_for(parameters, given, GPU).plan
        assert re.search(told, plan.described())
        assert plan.device_bytes <= 4e6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"placement": "split", "algorithm": "components", "strategy": "afforest_tiles"},
            "components of placement split are found by afforest alone, not by afforest_tiles",
        ),
        ({"placement": "split", "strategy": "two_phase"}, "placement split is searched by host_rows alone"),
        (
            {"placement": "streamed", "strategy": "hybrid"},
            "strategy hybrid does not search rows of placement streamed",
        ),
        (
            {"placement": "pinned", "strategy": "streamed"},
            "strategy streamed does not search rows of placement pinned",
        ),
        (
            {"placement": "streamed", "algorithm": "components", "strategy": "afforest"},
            "strategy afforest does not search rows of placement streamed",
        ),
        ({"placement": "here"}, "Input should be 'auto'"),
        ({"device_memory": "5.8 parrots"}, "byte unit"),
        ({"host_memory": 0}, "greater than 0"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message):
    with pytest.raises(ValidationError, match=message):
        TraverseParameters(**parameters)


def run(graph, machine=None, **parameters):
    context = PlainContext(machine or Machine(backend="cpu", threads=2, host_memory=1 << 32))
    told = []
    context.progress = lambda done, total, unit: told.append((done, total, unit))
    return *traverse(context, TraverseParameters(**parameters), input=graph), told


def stored(tmp_path, graph) -> Graph:
    """The graph as it lies in a store, in many small chunks."""
    from pipeline.store.writer import ArtifactWriter

    cache = Cache(tmp_path)
    with ArtifactWriter(cache, chunk_bytes=256, shard_bytes=1024) as writer:
        return cache.open(writer.publish(graph).id)


@pytest.mark.parametrize("name", ["skewed_random", "grid_13x17", "two_parts", "one_vertex", "all_isolated"])
@pytest.mark.parametrize("kind", ["graph", "ordering"])
def test_streamed_searches_label_as_others_do(tmp_path, name, kind):
    graph = plain(GRAPHS[name])
    given = renumbered(graph) if kind == "ordering" else graph
    options = {"sources": {"vertices": [0]}}
    usual, _, _ = run(given, **options)
    traversal, measurement, told = run(stored(tmp_path, given), host_memory="16KB", **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    # Renumbered vertices have predecessors that are the smallest in their own numbering in both.
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    if len(graph.column_indices) * 4 > 16_000:
        assert measurement.strategy == "streamed"
        assert measurement.asked["placement"] == "streamed"
        assert "exceed host memory" in measurement.reason
        assert any(unit == "parts of a level" for _, _, unit in told)
    json.dumps(measurement.asked)


def test_less_than_the_graph_is_in_memory_while_it_is_streamed(tmp_path):
    graph = plain(GRAPHS["skewed_random"])
    given = stored(tmp_path, graph)
    read = []
    real = type(given.column_indices).read_into

    def watched(array, out, first=0):
        read.append((first, len(out)))
        real(array, out, first)

    type(given.column_indices).read_into = watched
    try:
        traversal, measurement, _ = run(given, host_memory=3 * 4096, sources={"random": 2})
    finally:
        type(given.column_indices).read_into = real
    assert measurement.strategy == "streamed"
    assert max(length for _, length in read) * 4 <= 4096
    for row, source in enumerate(traversal.sources):
        expected = scipy_distances(graph.row_offsets, graph.column_indices, int(source))
        assert numpy.array_equal(traversal.distance[row], expected)


def test_streamed_rows_with_loops_and_duplicates_count_their_edges(tmp_path):
    offsets, columns = GRAPHS["duplicates_and_loops"].csr(raw=True)
    graph = Graph(
        row_offsets=offsets, column_indices=columns, vertex_count=6, arc_count=len(columns),
        symmetric=True, deduplicated=False, loop_count=4,
    )  # fmt: skip
    options = {"sources": {"vertices": [2]}}
    _, usual, _ = run(graph, **options)
    _, measurement, _ = run(stored(tmp_path, graph), placement="streamed", **options)
    assert measurement.searches[0]["edges"] == usual.searches[0]["edges"]


def test_statistics_of_a_streamed_search_say_what_they_lack():
    graph = renumbered(plain(GRAPHS["skewed_random"]))
    _, measurement, _ = run(graph, placement="streamed", statistics=True)
    assert "a streamed search does not count the arcs that it gathers" in measurement.notes
    assert measurement.order_milliseconds is None


def test_a_tuning_constant_of_streams():
    graph = plain(GRAPHS["skewed_random"])
    _, measurement, _ = run(graph, placement="streamed", tuning={"buffers": 4, "buffer_bytes": 512})
    assert measurement.strategy == "streamed"
    with pytest.raises(StageError, match="buffers is 1"):
        run(graph, placement="streamed", tuning={"buffers": 1})


def test_placements_of_a_gpu_mean_auto_on_a_cpu():
    graph = plain(GRAPHS["skewed_random"])
    for placement in ("device", "split", "pinned"):
        _, measurement, _ = run(graph, placement=placement)
        assert measurement.strategy == "direction_optimizing"
        assert "placement" not in measurement.asked


def test_a_stage_refuses_before_it_reads():
    class Unreadable:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was read")

    graph = Graph(
        row_offsets=Unreadable(), column_indices=Unreadable(), vertex_count=1000, arc_count=100_000,
        symmetric=True, deduplicated=True,
    )  # fmt: skip
    with pytest.raises(
        StageError, match=r"the graph does not fit: streaming needs .* it may take 100 B"
    ) as refused:
        run(graph, host_memory=100)
    assert "host_memory of at least" in refused.value.hint


def test_partitions_and_compressed_graphs_have_plans_of_their_own():
    graph = plain(GRAPHS["skewed_random"])
    assert plan_for(TraverseParameters(), partitioned(graph), CPU) is None
    plan = plan_for(TraverseParameters(), compressed(graph), CPU)
    assert plan.plan.placement == "host"


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


CODECS = ("csr", "varint", "blocks", "elias_fano")


def packed(graph, codec):
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    return COMPRESS.run(context, CompressParameters(codec=codec), input=graph)


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
    real = kind._read_box

    def watched(array, out, box):
        if array.dtype == numpy.uint8:
            asked.append(out.nbytes)
        real(array, out, box)

    kind._read_box = watched
    try:
        _, measurement, _ = run(given, host_memory=3 * 4096, sources={"random": 2}, statistics=True)
    finally:
        kind._read_box = real
    assert measurement.strategy == "streamed"
    # Rows are counted once, in ranges of 8 MiB, of which this graph is one.
    counted = [size for size in asked if size > 4096]
    assert len(counted) <= (codec != "csr")


def test_streamed_encoded_rows_with_loops_and_duplicates_count_their_edges(tmp_path):
    offsets, columns = GRAPHS["duplicates_and_loops"].csr(raw=True)
    graph = Graph(
        row_offsets=offsets, column_indices=columns, vertex_count=6, arc_count=len(columns),
        symmetric=True, deduplicated=False, loop_count=4,
    )  # fmt: skip
    options = {"sources": {"vertices": [2]}}
    _, usual, _ = run(graph, **options)
    _, measurement, _ = run(stored(tmp_path, packed(graph, "blocks")), placement="streamed", **options)
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


def test_another_version_is_another_recipe():
    assert STAGE.version >= 3


def symmetric_graph(seed, n=30_000):
    random = numpy.random.default_rng(seed)
    pairs = (random.random((4 * n, 2)) ** 3 * n).astype(numpy.int64)
    keys = numpy.unique(numpy.concatenate([pairs, pairs[:, ::-1]]) @ numpy.array([n, 1]))
    keys = keys[keys // n != keys % n]
    offsets = numpy.zeros(n + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(keys // n, minlength=n))
    return as_graph(offsets, (keys % n).astype(numpy.uint32))


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["auto", "device", "split", "pinned", "streamed"])
@pytest.mark.parametrize("kind", ["graph", "ordering", "stored"])
def test_every_placement_on_a_gpu(tmp_path, placement, kind):
    graph = symmetric_graph(2)
    given = {"graph": lambda g: g, "ordering": renumbered, "stored": lambda g: stored(tmp_path, g)}[kind](
        graph
    )
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"sources": {"random": 3}}
    usual, _, _ = run(given, **options)
    traversal, measurement, _ = run(given, machine, placement=placement, statistics=True, **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    used = "device" if placement == "auto" else placement
    assert measurement.asked["placement"] == used
    if used in ("split", "pinned", "streamed"):
        # Without a cap everything is kept on the device in a split.
        assert all((search["link_bytes"] == 0) == (used == "split") for search in measurement.searches)
        assert any(note.startswith(f"placement {used}: ") for note in measurement.notes)


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["auto", "split", "pinned", "streamed"])
@pytest.mark.parametrize("kind", ["compressed", "compressed_ordering"])
def test_every_placement_of_compressed_rows_on_a_gpu(placement, kind):
    graph = symmetric_graph(6)
    given = compressed(renumbered(graph) if kind == "compressed_ordering" else graph)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"sources": {"random": 3}}
    usual, _, _ = run(graph, **options)
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
    graph = symmetric_graph(7)
    given = stored(tmp_path, packed(renumbered(graph) if kind == "ordering" else graph, codec))
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    limits = {"host_memory": "150KB", "device_memory": "2.25MB"}
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
    traversal, measurement, _ = run(given, machine, algorithm="components", **limits)
    assert measurement.strategy == "streamed"
    assert numpy.array_equal(traversal.component, usual.component)


@pytest.mark.gpu
@pytest.mark.parametrize(("algorithm", "cap"), [("bfs", "3MB"), ("components", "2.25MB")])
def test_encoded_rows_are_streamed_where_pinned_memory_is_refused(monkeypatch, algorithm, cap):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("kernels.placement.placed.pin", refuse)
    monkeypatch.setattr("kernels.placement.copied.pin", refuse)
    given = packed(symmetric_graph(7), "blocks")
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(given, algorithm=algorithm)
    traversal, measurement, _ = run(
        given, machine, algorithm=algorithm, placement="pinned", device_memory=cap
    )
    label = "distance" if algorithm == "bfs" else "component"
    assert numpy.array_equal(getattr(traversal, label), getattr(usual, label))
    assert measurement.strategy == "streamed"
    assert any("the system refuses pinned memory (not today)" in note for note in measurement.notes)


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["split", "pinned", "streamed"])
def test_components_of_rows_elsewhere(placement):
    graph = symmetric_graph(4)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, algorithm="components")
    traversal, measurement, _ = run(graph, machine, algorithm="components", placement=placement)
    assert numpy.array_equal(traversal.component, usual.component)
    assert measurement.asked["placement"] == placement
    assert measurement.strategy == ("streamed" if placement == "streamed" else "afforest")
    if placement == "split":
        assert any("2 first neighbours of every vertex and up to" in note for note in measurement.notes)


@pytest.mark.gpu
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("placement", ["split", "pinned"])
def test_components_of_compressed_rows_elsewhere(placement, codec):
    graph = symmetric_graph(4)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, algorithm="components")
    given = packed(renumbered(graph), codec)
    traversal, measurement, _ = run(given, machine, algorithm="components", placement=placement)
    assert numpy.array_equal(traversal.component, usual.component)
    assert measurement.asked["placement"] == placement
    if placement == "split":
        assert measurement.prepare_milliseconds > 0
        told = [note for note in measurement.notes if note.startswith("placement split: ")]
        assert ("of further ones" in told[0]) == (codec == "csr")


@pytest.mark.gpu
def test_split_components_under_a_cap():
    graph = symmetric_graph(5, 200_000)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, algorithm="components")
    for cap in ("7MB", "8.7MB"):
        assert need(machine, extent_of(graph), algorithm="components", device_memory=cap).refusal == ""
        traversal, measurement, _ = run(graph, machine, algorithm="components", device_memory=cap)
        assert numpy.array_equal(traversal.component, usual.component)
        assert measurement.asked["placement"] == "split"


@pytest.mark.gpu
def test_refused_pinned_memory_is_said(monkeypatch):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("kernels.placement.placed.pin", refuse)
    graph = symmetric_graph(4)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, sources={"random": 2})
    traversal, measurement, _ = run(graph, machine, placement="pinned", sources={"random": 2})
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert measurement.asked["placement"] == "device"
    assert any("the system refuses pinned memory (not today)" in note for note in measurement.notes)
