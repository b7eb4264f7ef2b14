"""Labels of searches: components by all strategies, placements and numberings, and types of distances."""

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.context import MemorySink, PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.reorder import STAGE as REORDER
from gravel.stages.stage import Machine
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.labels import Distances, smallest_type
from gravel.stages.traversal.memory import plan_for
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.traversal.placement_case import (
    CODECS,
    FRIENDSTER,
    GB,
    GPU,
    PACKED,
    N,
    just_too_small,
    need,
    packed,
    run,
    symmetric_graph,
)
from tests.stages.traverse_case import renumbered
from tests.zoo import scipy_components

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def context(backend):
    return PlainContext(Machine(backend=backend, threads=2, host_memory=1 << 32, device_memory=1 << 32))


def find(graph, backend, **parameters):
    asked = TraverseParameters(algorithm="components", **parameters)
    return traverse(context(backend), asked, input=graph)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("parameters", "strategy"),
    [
        ({}, "afforest"),
        ({"tuning": {"prune": False}}, "afforest"),
        ({"tuning": {"giant": "first"}}, "afforest"),
        ({"strategy": "afforest_multi_pass", "tuning": {"giant": "sampled"}}, "afforest_multi_pass"),
        ({"strategy": "streamed", "tuning": {"buffer_bytes": 4096}}, "streamed"),
        ({"placement": "streamed"}, "streamed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", [None, "random"])
def test_every_way_finds_the_same_labels(backend, parameters, strategy, order):
    graph = symmetric_graph(4)
    expected = scipy_components(numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices))
    given = graph
    if order:
        asked = REORDER.parameters.model_validate({"method": order})
        given = REORDER.run(context("cpu"), asked, input=graph)
    found, measurement = find(given, backend, **parameters)
    numpy.testing.assert_array_equal(found.component, expected)
    assert measurement.strategy == strategy
    assert len(measurement.searches) >= 3
    back = [search["map_back_milliseconds"] for search in measurement.searches]
    assert all(each > 0 for each in back) if order else back == [0.0] * len(back)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_single_pass_says_how_far_it_came(backend):
    graph = symmetric_graph(4)
    expected = scipy_components(numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices))
    found, measurement = find(graph, backend, strategy="afforest_single_pass")
    whole = numpy.array_equal(found.component, expected)
    note = "1 pass over all arcs" + ("" if whole else " left components in parts")
    assert any(each.startswith(note) for each in measurement.notes)


def test_an_unfinished_pass_is_said(monkeypatch):
    """Threads lose links now and then; here one pass links nothing at all."""
    graph = symmetric_graph(4)
    monkeypatch.setattr("gravel.kernels.papers.moschou.passes_cpu._pass", lambda *given: True)
    found, measurement = find(graph, "cpu", strategy="afforest_single_pass")
    assert (found.component == numpy.arange(graph.vertex_count)).all()
    assert any("left components in parts" in each for each in measurement.notes)


def test_rows_in_parts_are_for_one_strategy():
    graph = symmetric_graph(4)
    small = TraverseParameters(algorithm="components", strategy="afforest", host_memory="100KB")
    with pytest.raises(StageError, match="streamed"):
        traverse(context("cpu"), small, input=graph)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("parameters", "as_it_is"),
    [
        ({}, True),
        ({"tuning": {"prune": False}}, True),
        ({"strategy": "afforest_multi_pass"}, True),
        ({"strategy": "afforest_multi_pass", "tuning": {"prune": False}}, True),
    ],
    ids=str,
)
def test_compressed_graphs_are_searched_as_they_are(backend, parameters, as_it_is):
    graph = symmetric_graph(4)
    expected = scipy_components(numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices))
    packed = COMPRESS.run(
        context("cpu"), COMPRESS.parameters.model_validate({"codec": "varint"}), input=graph
    )
    found, measurement = find(packed, backend, **parameters)
    numpy.testing.assert_array_equal(found.component, expected)
    assert measurement.asked.get("layout") == ("varint" if as_it_is else None)
    assert any(("as they are" if as_it_is else "decoded before") in note for note in measurement.notes)


def test_parts_of_components_are_verified_as_parts(monkeypatch):
    """What says that it is unfinished is checked for merged components, and counted; the rest is whole."""
    graph = symmetric_graph(4)
    monkeypatch.setattr("gravel.kernels.papers.moschou.passes_cpu._pass", lambda *given: True)
    found, _ = find(graph, "cpu", strategy="afforest_single_pass")
    assert not found.converged
    checked = verify(context("cpu"), VerifyParameters(), graph=graph, traversal=found)
    assert [check["check"] for check in checked.checks] == ["ranges", "smallest", "not_merged"]
    (left,) = checked.skipped
    expected = scipy_components(numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices))
    assert left["whole"] == pytest.approx(float((expected == numpy.arange(len(expected))).mean()))
    assert "left components in parts" in left["reason"]
    merged = replace(found, component=numpy.zeros(graph.vertex_count, numpy.uint32))
    with pytest.raises(VerificationFailed, match="not_merged"):
        verify(context("cpu"), VerifyParameters(), graph=graph, traversal=merged)
    with pytest.raises(VerificationFailed, match="edges_agree"):
        verify(context("cpu"), VerifyParameters(), graph=graph, traversal=replace(found, converged=True))


def test_components_of_rows_elsewhere_have_first_neighbours_on_the_device():
    components = {"algorithm": "components", "device_memory": "5.8GB"}
    for graph in (FRIENDSTER, PACKED):
        split, pinned = (need(GPU, graph, placement=place, **components) for place in ("split", "pinned"))
        assert not split.refusal
        assert split.device_bytes == pinned.device_bytes <= 5.8 * GB
    assert need(GPU, **components).device_bytes == need(GPU, placement="split", **components).device_bytes
    # Another strategy reads all rows over the link.
    tiles = need(GPU, placement="pinned", strategy="afforest_tiles", **components)
    pinned = need(GPU, placement="pinned", **components)
    assert tiles.device_bytes == pinned.device_bytes - 2 * 4 * N
    little = {"algorithm": "components", "device_memory": str(tiles.device_bytes)}
    assert need(GPU, placement="pinned", **little).device_bytes == tiles.device_bytes
    least = need(GPU, algorithm="components", placement="split", device_memory="1GB")
    assert "placement 'split' needs" in least.refusal


@pytest.mark.parametrize("placement", ["split", "pinned"])
def test_what_components_keep_is_told(placement):
    graph = symmetric_graph(4, 200_000)
    for given in (graph, packed(graph, "csr"), packed(graph, "blocks")):
        cap = just_too_small(given, algorithm="components")
        parameters = TraverseParameters(algorithm="components", placement=placement, device_memory=cap)
        plan = plan_for(parameters, given, GPU).plan
        assert "with 2 first neighbours of every vertex on the device: " in plan.described()
        assert plan.device_bytes <= int(cap)


@pytest.mark.gpu
@pytest.mark.parametrize("placement", ["split", "pinned", "streamed"])
def test_components_of_rows_elsewhere(placement):
    graph = symmetric_graph(4, 200_000)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    options = {"algorithm": "components", "device_memory": just_too_small(graph, algorithm="components")}
    usual, _, _ = run(graph, algorithm="components")
    traversal, measurement, _ = run(graph, machine, placement=placement, **options)
    assert numpy.array_equal(traversal.component, usual.component)
    assert measurement.asked["placement"] == placement
    assert measurement.strategy == ("streamed" if placement == "streamed" else "afforest")
    if placement == "split":
        assert any("2 first neighbours of every vertex on the" in note for note in measurement.notes)


@pytest.mark.gpu
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("placement", ["split", "pinned"])
def test_components_of_compressed_rows_elsewhere(placement, codec):
    graph = symmetric_graph(4, 200_000)
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    usual, _, _ = run(graph, algorithm="components")
    given = packed(renumbered(graph), codec)
    options = {"algorithm": "components", "device_memory": just_too_small(given, algorithm="components")}
    traversal, measurement, _ = run(given, machine, placement=placement, **options)
    assert numpy.array_equal(traversal.component, usual.component)
    assert measurement.asked["placement"] == placement
    if placement == "split":
        assert measurement.prepare_milliseconds > 0
        assert any(note.startswith("placement split: ") for note in measurement.notes)


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


@pytest.mark.parametrize(
    ("depth", "name"), [(0, "int8"), (127, "int8"), (128, "int16"), (32767, "int16"), (32768, "int32")]
)
def test_smallest_type(depth: int, name: str) -> None:
    assert smallest_type(depth) == numpy.dtype(name)


@pytest.mark.parametrize(
    "depths", [[3, 5], [3, 127, 128, 4], [200, 3], [3, 70_000, 300], [40_000], [127], [32_768, 32_767]]
)
@pytest.mark.parametrize("rows", [None, 4])
def test_rows_are_kept_through_wider_types(depths: list[int], rows: int | None) -> None:
    random = numpy.random.default_rng(1)
    searches = [random.integers(-1, depth + 1, 50).astype(numpy.int32) for depth in depths]
    for depth, distance in zip(depths, searches, strict=True):
        distance[0] = depth

    def make(dtype: Any) -> MemorySink:
        return MemorySink(dtype, (50,), rows=rows)

    written = Distances(make)
    for distance in searches:
        written.append(distance)
    found = written.close()
    assert found.dtype == smallest_type(max(depths))
    numpy.testing.assert_array_equal(found, numpy.stack(searches))


def test_no_search_has_no_rows() -> None:
    assert Distances(lambda dtype: MemorySink(dtype, (5,))).close().shape == (0, 5)
