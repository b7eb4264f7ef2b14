"""Where traverse has the rows of a graph while it finds components."""

import numpy
import pytest

from gravel.stages.stage import Machine
from gravel.stages.traversal.need import plan_for
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.placing import extent_of
from tests.stages.placement_case import (
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
