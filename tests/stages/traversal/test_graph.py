"""Where traverse has the rows of a graph: what it states, refuses, and does."""

import json

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.placement.pinned import PinnedRefused
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.memory import Capacity, refuse_what_cannot_fit
from gravel.stages.artifacts import Graph
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.memory import placing_of, plan_for
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from tests.stages.traversal.placement_case import (
    CPU,
    FRIENDSTER,
    GB,
    GPU,
    M,
    N,
    just_too_small,
    need,
    run,
    stored,
    symmetric_graph,
)
from tests.stages.traverse_case import compressed, plain, renumbered
from tests.zoo import scipy_distances, zoo

GRAPHS = {graph.name: graph for graph in zoo()}


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
    # What `persistent` takes for every graph: `auto` may choose it.
    assert need(GPU, small).device_bytes < 21 << 20
    assert need(GPU, small, strategy="direction_optimizing").device_bytes < 1 << 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"placement": "device", "device_memory": "5.8GB"},
            "placement 'device' needs 45.5 GB of device memory; it",
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
            {"bfs": refused}, Capacity(110 * GB, "the machine's memory", lambda: (140 * GB, "a GPU"))
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
    """Rows that are not streamed are mapped, and no part of what is stated."""

    def placement(machine, **parameters):
        return placing_of(TraverseParameters(**parameters), FRIENDSTER, machine).plan.placement

    small = Machine(backend="cpu", threads=2, host_memory=6 * GB)
    assert placement(CPU) == placement(CPU, placement="pinned") == "host"
    assert placement(CPU, host_memory="1GB") == placement(small) == "streamed"
    capped = need(CPU, host_memory="1GB")
    assert not capped.refusal
    assert max(need(CPU).host_bytes, need(small).host_bytes, capped.host_bytes) < 3 * GB
    assert "streaming needs" in need(CPU, host_memory="1kB").refusal


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"placement": "split", "algorithm": "components", "strategy": "afforest_tiles"},
            "takes placement auto, device or pinned, and placement split is for strategy auto or afforest",
        ),
        (
            {"placement": "split", "strategy": "two_phase"},
            "strategy two_phase and placement split do not go together; strategy two_phase takes placement "
            "auto, device or pinned, and placement split is for strategy auto or host_rows",
        ),
        (
            {"placement": "streamed", "strategy": "hybrid"},
            "placement streamed is for strategy auto or streamed",
        ),
        (
            {"placement": "pinned", "strategy": "streamed"},
            "strategy streamed takes placement auto or streamed",
        ),
        (
            {"placement": "streamed", "algorithm": "components", "strategy": "afforest"},
            "strategy afforest takes placement auto, device, split or pinned",
        ),
        ({"placement": "here"}, "Input should be 'auto'"),
        ({"device_memory": "5.8 parrots"}, "byte unit"),
        ({"host_memory": 0}, "greater than 0"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message):
    with pytest.raises(ValidationError, match=message):
        TraverseParameters(**parameters)


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
    plan = plan_for(TraverseParameters(), compressed(graph), CPU)
    assert plan.plan.placement == "host"


def test_another_version_is_another_recipe():
    assert STAGE.version >= 3


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["auto", "device", "split", "pinned", "streamed"])
@pytest.mark.parametrize("kind", ["graph", "ordering", "stored"])
def test_every_placement_on_a_gpu(tmp_path, placement, kind):
    graph = symmetric_graph(2, 200_000 if placement == "split" else 30_000)
    given = {"graph": lambda g: g, "ordering": renumbered, "stored": lambda g: stored(tmp_path, g)}[kind](
        graph
    )
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"sources": {"random": 3}}
    usual, _, _ = run(given, **options)
    if placement == "split":
        options["device_memory"] = just_too_small(given)
    traversal, measurement, _ = run(given, machine, placement=placement, statistics=True, **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    used = "device" if placement == "auto" else placement
    assert measurement.asked["placement"] == used
    if used in ("split", "pinned", "streamed"):
        # So near the cap everything is kept on the device in a split.
        assert all((search["link_bytes"] == 0) == (used == "split") for search in measurement.searches)
        assert any(note.startswith(f"placement {used}: ") for note in measurement.notes)


@pytest.mark.gpu
@pytest.mark.parametrize("cap", ["14MB", "18MB", "1GB"])
def test_a_split_reads_over_the_link_what_the_device_has_no_room_for(cap):
    graph = symmetric_graph(3, 200_000)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"sources": {"random": 3}, "output": "both"}
    usual, _, _ = run(graph, **options)
    traversal, measurement, _ = run(graph, machine, placement="split", device_memory=cap, **options)
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert numpy.array_equal(traversal.predecessor, usual.predecessor)
    assert measurement.asked["placement"] == ("device" if cap == "1GB" else "split")
    assert cap == "1GB" or all(search["link_bytes"] > 0 for search in measurement.searches)


@pytest.mark.gpu
def test_refused_pinned_memory_is_said(monkeypatch):
    def refuse(array, host=None):
        raise PinnedRefused("not today")

    monkeypatch.setattr("gravel.kernels.placement.placed.pin", refuse)
    graph = symmetric_graph(4)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, sources={"random": 2})
    traversal, measurement, _ = run(graph, machine, placement="pinned", sources={"random": 2})
    assert numpy.array_equal(traversal.distance, usual.distance)
    assert measurement.asked["placement"] == "device"
    assert any("the system refuses pinned memory (not today)" in note for note in measurement.notes)
