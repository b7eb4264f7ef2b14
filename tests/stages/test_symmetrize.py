"""symmetrize: the graph that its parameters ask for, whatever the memory it may use."""

import json
import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.generate import generate
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import EdgeList
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import STAGE, WORKING_BYTES, SymmetrizeParameters
from gravel.stages.symmetrizing import building, edge_parts
from tests.stages.fake_device import fake_device
from tests.zoo import zoo

__all__ = ["fake_device"]

ZOO = list(zoo())


def edge_list(source, target, vertex_count, *, undirected=False):
    return EdgeList(source=source, target=target, vertex_count=vertex_count, undirected=undirected)


def run(edges, *, host_memory=1 << 30, context=None, **parameters):
    context = context or PlainContext(Machine(backend="cpu", threads=2, host_memory=host_memory))
    return STAGE.run(context, SymmetrizeParameters(**parameters), input=edges)


def arcs_of(graph):
    source = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))
    return list(zip(source.tolist(), graph.column_indices.tolist(), strict=True))


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_zoo_as_published(graph):
    found = run(edge_list(graph.source, graph.target, graph.vertex_count))
    offsets, columns = graph.csr()
    assert numpy.array_equal(found.row_offsets, offsets)
    assert numpy.array_equal(found.column_indices, columns)
    assert found.row_offsets.dtype == numpy.int64
    assert found.column_indices.dtype == numpy.uint32
    assert (found.vertex_count, found.arc_count) == (graph.vertex_count, len(columns))
    assert found.symmetric
    assert found.sorted
    assert found.deduplicated
    assert found.loop_count == 0


EDGES = edge_list(
    numpy.array([0, 0, 1, 2, 2, 3], numpy.uint32), numpy.array([1, 1, 0, 2, 2, 1], numpy.uint32), 5
)


@pytest.mark.parametrize(
    ("parameters", "arcs", "loops"),
    [
        ({}, [(0, 1), (1, 0), (1, 3), (3, 1)], 0),
        ({"direction": "as_given"}, [(0, 1), (1, 0), (3, 1)], 0),
        ({"direction": "reverse"}, [(0, 1), (1, 0), (1, 3)], 0),
        ({"self_loops": "keep"}, [(0, 1), (1, 0), (1, 3), (2, 2), (3, 1)], 1),
        (
            {"direction": "as_given", "duplicates": "keep", "self_loops": "keep"},
            [(0, 1), (0, 1), (1, 0), (2, 2), (2, 2), (3, 1)],
            2,
        ),
        ({"duplicates": "keep"}, [(0, 1)] * 3 + [(1, 0)] * 3 + [(1, 3), (3, 1)], 0),
    ],
)
def test_parameters(parameters, arcs, loops):
    found = run(EDGES, **parameters)
    assert arcs_of(found) == arcs
    assert found.loop_count == loops
    assert found.arc_count == len(arcs)
    assert found.symmetric == ("direction" not in parameters)
    assert found.deduplicated == ("duplicates" not in parameters)


@pytest.mark.parametrize("direction", ["as_given", "reverse"])
def test_a_list_declared_undirected_makes_both_arcs(direction):
    undirected = edge_list(EDGES.source, EDGES.target, 5, undirected=True)
    found = run(undirected, direction=direction)
    assert arcs_of(found) == arcs_of(run(EDGES))
    assert found.symmetric


@st.composite
def edge_lists(draw):
    vertices = draw(st.integers(1, 40))
    ends = st.integers(0, vertices - 1)
    edges = numpy.array(draw(st.lists(st.tuples(ends, ends), max_size=100)), numpy.uint32).reshape(-1, 2)
    return edge_list(edges[:, 0].copy(), edges[:, 1].copy(), vertices, undirected=draw(st.booleans()))


PARAMETERS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["both", "as_given", "reverse"]),
        "duplicates": st.sampled_from(["remove", "keep"]),
        "self_loops": st.sampled_from(["remove", "keep"]),
    }
)


@given(edges=edge_lists(), parameters=PARAMETERS, room=st.integers(0, 600), part=st.sampled_from([8, 64]))
@settings(max_examples=60, deadline=None)
def test_ranges_and_parts_change_nothing(edges, parameters, room, part):
    """Little memory and small parts: many ranges, of one row at times, through files."""
    whole = run(edges, **parameters)
    longest = int(numpy.diff(run(edges, **{**parameters, "duplicates": "keep"}).row_offsets).max())
    memory = WORKING_BYTES + 8 * (edges.vertex_count + 2) + 8 + 4 * longest + room
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=memory))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_parts, "PART_BYTES", part)
        found = run(edges, context=context, **parameters)
    assert numpy.array_equal(found.row_offsets, whole.row_offsets)
    assert numpy.array_equal(found.column_indices, whole.column_indices)
    for name in ("arc_count", "symmetric", "deduplicated", "loop_count"):
        assert getattr(found, name) == getattr(whole, name)
    assert not list(context.scratch.iterdir())


def test_ranges_are_said_and_are_as_few_as_fit():
    source, target = generate("rmat", scale=12, edge_factor=16, seed=1)
    edges = edge_list(source, target, 1 << 12, undirected=True)
    loops = int((source == target).sum())
    room = (8 * (1 << 12) + 4 * (2 * len(source) - 2 * loops)) // 3 + 40_000
    context = PlainContext(
        Machine(backend="cpu", threads=1, host_memory=WORKING_BYTES + 8 * ((1 << 12) + 2) + room)
    )
    assert arcs_of(run(edges, context=context)) == arcs_of(run(edges))
    assert len(context.messages) == 1
    assert context.messages[0].startswith("3 source ranges")


def test_lazily_read_arrays_are_read_in_parts(monkeypatch):
    class Lazy:
        def __init__(self, values):
            self.values, self.shape, self.dtype, self.longest = values, values.shape, values.dtype, 0

        def __len__(self):
            return len(self.values)

        def __getitem__(self, key):
            self.longest = max(self.longest, len(self.values[key]))
            return self.values[key]

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("read whole")

    monkeypatch.setattr(edge_parts, "PART_BYTES", 4000)
    source, target = generate("uniform", vertices=500, edges=5000, seed=1)
    lazy = edge_list(Lazy(source), Lazy(target), 500)
    assert arcs_of(run(lazy)) == arcs_of(run(edge_list(source, target, 500)))
    assert lazy.source.longest == lazy.target.longest == 1000


def test_a_wider_dtype_is_accepted():
    wide = edge_list(EDGES.source.astype(numpy.int64), EDGES.target.astype(numpy.int64), 5)
    found = run(wide)
    assert found.column_indices.dtype == numpy.uint32
    assert arcs_of(found) == arcs_of(run(EDGES))


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.int64])
def test_a_vertex_outside_is_named(dtype):
    edges = edge_list(numpy.array([0, 7], dtype), numpy.array([1, 2], dtype), 5)
    with pytest.raises(StageError, match=r"7.* 5"):
        run(edges)


def test_a_negative_vertex_is_named():
    with pytest.raises(StageError, match="-3"):
        run(edge_list(numpy.array([0, -3]), numpy.array([1, 2]), 5))


def test_unequal_ends_are_named():
    with pytest.raises(StageError, match="2 sources and 1 targets"):
        run(edge_list(numpy.zeros(2, numpy.uint32), numpy.zeros(1, numpy.uint32), 5))


def test_a_row_that_cannot_fit_is_named():
    star = edge_list(*generate("star", vertices=1000), 1000)
    memory = WORKING_BYTES + 8 * 1002 + 2000
    with pytest.raises(StageError, match="999 arcs") as caught:
        run(star, host_memory=memory)
    assert caught.value.vertices == (0,)
    assert caught.value.hint


def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch):
    context = PlainContext(
        Machine(backend="cpu", threads=1, host_memory=WORKING_BYTES + 8 * 1002 + 6000), tmp_path
    )

    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gravel.stages.scratch_file.tempfile.TemporaryFile", full)
    path = edge_list(*generate("path", vertices=1000), 1000)
    with pytest.raises(StageError, match="No space left on device"):
        run(path, context=context)


def test_too_few_open_files_are_one_clear_error(tmp_path):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = edge_list(*generate("path", vertices=20_000), 20_000)
    machine = Machine(backend="cpu", threads=1, host_memory=WORKING_BYTES + 8 * 20_002 + 1000)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
        with pytest.raises(StageError, match="Too many open files"):
            run(path, context=PlainContext(machine, tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_progress_ascends_to_the_end():
    class Watched(PlainContext):
        def progress(self, done, total, unit):
            seen.append((done, total, unit))

    seen = []
    source, target = generate("uniform", vertices=500, edges=5000, seed=1)
    memory = WORKING_BYTES + 8 * 502 + 20_000
    run(edge_list(source, target, 500), context=Watched(Machine("cpu", 1, memory)))
    assert seen == sorted(seen)
    assert seen[-1] == (5000, 5000, "edges")


def estimate(vertices, edges, host_memory=1 << 40, backend="cpu", device_memory=0, **parameters):
    machine = Machine(backend, 2, host_memory, device_memory)
    extents = {"input": (Extent(kind="EdgeList", vertices=vertices, arcs=edges),)}
    return STAGE.estimate(SymmetrizeParameters(**parameters), extents, machine)


def test_estimate_follows_the_memory_there_is():
    ample = estimate(1 << 24, 1 << 28)
    arrays = 8 * (1 << 24) + 8 * (1 << 28)
    assert arrays + WORKING_BYTES // 2 < ample.host_bytes < arrays + WORKING_BYTES
    assert ample.outputs[0].arcs == 1 << 29
    assert estimate(1 << 24, 1 << 28, 1 << 30).host_bytes == 1 << 30
    assert estimate(1 << 24, 1 << 28, 1).host_bytes < 1 << 29
    assert not ample.outputs[0].directed
    assert estimate(10, 10, direction="as_given").outputs[0].directed
    cuda = estimate(1 << 24, 1 << 28, backend="cuda", device_memory=8 << 30)
    assert cuda.device_bytes == 8 << 30
    assert cuda.host_bytes < 1 << 30


@pytest.mark.parametrize(("device_memory", "builds"), [(1 << 30, 1), (80_000, 4)])
@pytest.mark.parametrize("part", [1000, 1 << 20])
def test_the_cuda_path_gives_the_same_graph(fake_device, monkeypatch, device_memory, builds, part):
    monkeypatch.setattr(edge_parts, "PART_BYTES", part)
    monkeypatch.setattr(building, "PART_BYTES", part)
    source, target = generate("uniform", vertices=500, edges=5000, seed=1)
    edges = edge_list(source, target, 500)
    parameters = {"duplicates": "keep", "self_loops": "keep"}
    here = run(edges, **parameters)
    there = run(edges, context=PlainContext(Machine("cuda", 2, 1 << 30, device_memory)), **parameters)
    assert arcs_of(here) == arcs_of(there)
    assert here.loop_count == there.loop_count > 0
    assert fake_device == ["build"] * builds


@pytest.mark.gpu
@pytest.mark.parametrize("device_memory", [1 << 30, 1 << 20])
def test_cuda_gives_the_same_graph(device_memory):
    source, target = generate("rmat", scale=12, edge_factor=16, seed=1)
    edges = edge_list(source, target, 1 << 12)
    for parameters in ({}, {"direction": "as_given", "duplicates": "keep", "self_loops": "keep"}):
        here = run(edges, **parameters)
        context = PlainContext(Machine("cuda", 2, 1 << 30, device_memory))
        there = run(edges, context=context, **parameters)
        assert len(context.messages) == (device_memory < 1 << 30)
        assert arcs_of(here) == arcs_of(there)
        assert here.loop_count == there.loop_count


def test_modules_are_light():
    assert "numpy" not in vars(building)
    assert "numpy" not in vars(edge_parts)


CHILD = """
import json, sys
from pathlib import Path

import numpy

from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.symmetrize import STAGE, SymmetrizeParameters

cache, artifact, host_memory = Cache(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
machine = Machine(backend="cpu", threads=2, host_memory=host_memory)
parameters = SymmetrizeParameters()
need = STAGE.estimate(parameters, {"input": (cache.describe(artifact).extent,)}, machine)
context = PlainContext(machine)
with cache.writer() as writer:
    context.sink = writer.sink
    edges = cache.open(artifact)
    with Peak() as peak:
        graph = STAGE.run(context, parameters, input=edges)
print(json.dumps([need.host_bytes, peak.host_bytes, graph.arc_count, len(context.messages)]))
"""

AMPLE = 1 << 40


@pytest.fixture(scope="module")
def stored_edge_lists(tmp_path_factory):
    """Three sizes in a store, as ingest leaves them: edges, and what they are."""
    root = tmp_path_factory.mktemp("cache")
    cache = Cache(root)
    stored = {}
    for scale, edge_factor in ((17, 32), (20, 8), (21, 8)):
        with cache.writer() as writer:
            source, target = writer.sink("uint32"), writer.sink("uint32")
            total = edge_factor << scale
            for first in range(0, total, 1 << 22):
                ends = generate(
                    "rmat", scale=scale, edge_factor=edge_factor, seed=1, first=first, count=1 << 22
                )
                source.append(ends[0])
                target.append(ends[1])
            edges = EdgeList(
                source=source.close(), target=target.close(), vertex_count=1 << scale, undirected=True
            )
            stored[total] = writer.publish(edges).id
    return root, stored


def measure(stored_edge_lists, edges, host_memory):
    root, stored = stored_edge_lists
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), stored[edges], str(host_memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("edges", [32 << 17, 8 << 20, 8 << 21])
def test_the_peak_is_what_is_stated(stored_edge_lists, edges):
    need, peak, _, ranges = measure(stored_edge_lists, edges, AMPLE)
    assert ranges == 0
    assert peak <= 1.3 * need
    assert need <= 1.5 * peak


@pytest.mark.slow
def test_the_peak_is_bounded_by_the_machine(stored_edge_lists):
    """A graph of 220 MB with 170 MB: the same graph, from ranges."""
    _, _, arcs, _ = measure(stored_edge_lists, 8 << 21, AMPLE)
    need, peak, from_ranges, ranges = measure(stored_edge_lists, 8 << 21, 170 << 20)
    assert need == 170 << 20
    assert peak <= 1.3 * need
    assert ranges == 1
    assert from_ranges == arcs
