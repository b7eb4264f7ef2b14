"""partition stores what gravel.kernels.partition makes, with its numbers and within its stated memory."""

from __future__ import annotations

import lzma
import tracemalloc
from itertools import islice

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.partition import PartitionSearch, suggest_threshold, to_arrays
from gravel.kernels.partition import partition as split
from gravel.kernels.partition.chunks import assemble
from gravel.kernels.partition.components import components
from gravel.kernels.partition.storage import storage
from gravel.stages.artifacts import Graph, Ordering, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.partition import STAGE, PartitionParameters, load_partition, partition
from gravel.stages.stage import Extent, Machine
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.preparing_case import Refusing, divided_on_cpu, graph_of, placed, same_partition
from tests.zoo import DATA, needs_data, scipy_distances, zoo

SKEWED = next(graph for graph in zoo() if graph.name == "skewed_random")


@pytest.mark.parametrize("threshold", [0, 6, "auto"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_stored_partition_is_the_graph(ranks: int, threshold: int | str) -> None:
    for member in zoo():
        for symmetric in (True, False):
            graph = graph_of(member, symmetric)
            parameters = PartitionParameters(ranks=ranks, threshold=threshold)
            stored = partition(PlainContext(), parameters, input=graph)
            whole = load_partition(stored)
            again = assemble(whole)
            assert numpy.array_equal(again[0], graph.row_offsets)
            assert numpy.array_equal(again[1], graph.column_indices)
            assert stored.symmetric is symmetric
            assert sum(stored.statistics["arcs_per_rank"]) == graph.arc_count
            assert stored.statistics["delegates"] == len(stored.delegates)
            if member.vertex_count:
                distance = scipy_distances(graph.row_offsets, graph.column_indices, 0)
                assert numpy.array_equal(PartitionSearch(whole).run(0).distance, distance)


def test_ranges_and_passes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for member in zoo():
        graph = graph_of(member)
        parameters = PartitionParameters(ranks=5, threshold=4)
        whole = partition(PlainContext(), parameters, input=graph)
        with monkeypatch.context() as small:
            small.setattr("gravel.stages.partitioning.ranges.RANGE_ARCS", 50)
            small.setattr("gravel.stages.partitioning.ranges.RANGE_ROWS", 64)
            small.setattr("gravel.stages.partitioning.writing.PIECE_ROWS", 64)
            small.setattr("gravel.stages.partition.RANKS_AT_ONCE", 2)
            context = PlainContext()
            pieces = partition(context, parameters, input=graph)
        assert list(pieces.arrays) == list(whole.arrays)
        for name, array in whole.arrays.items():
            assert numpy.array_equal(pieces.arrays[name], array), name
            assert pieces.arrays[name].dtype == array.dtype
        assert pieces.statistics == whole.statistics
        assert not [path for path in context.scratch.iterdir() if path.name.startswith("rank")]


def test_threads_parse_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 may fail where threads parse at the same time."""

    def parsed(*_: object, **__: object) -> object:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr("ast.literal_eval", parsed)
    for member in islice(zoo(), 3):
        graph = graph_of(member)
        assert partition(PlainContext(), PartitionParameters(ranks=2, threshold=4), input=graph)


def test_a_stored_partition_is_what_the_kernels_make() -> None:
    graph = graph_of(SKEWED)
    stored = partition(PlainContext(), PartitionParameters(ranks=4, threshold=9), input=graph)
    made = split(graph.row_offsets, graph.column_indices, ranks=4, threshold=9)
    arrays = {name: array for part in made.parts for name, array in to_arrays(part).items()}
    assert arrays.keys() == stored.arrays.keys()
    for name, array in arrays.items():
        assert numpy.array_equal(stored.arrays[name], array), name
        assert stored.arrays[name].dtype == array.dtype
    told = dict(stored.statistics)
    thresholds = told.pop("thresholds")
    assert told == storage(made)
    at_eight = next(division for division in thresholds if division["threshold"] == 8)
    above = numpy.diff(graph.row_offsets) > 8
    assert at_eight["delegates"] == above.sum()
    assert sum(at_eight[kind] for kind in ("nn", "mixed", "dd")) == graph.arc_count


@pytest.mark.parametrize("scheme", ["delegates", "striped"])
def test_arrays_of_a_device_are_asked_for(scheme: str) -> None:
    for member in zoo():
        graph = graph_of(member)
        found = divided_on_cpu(placed(graph, Refusing), ranks=3, scheme=scheme)
        same_partition(found, divided_on_cpu(graph, ranks=3, scheme=scheme))


def test_auto_is_resolved_and_said() -> None:
    graph = graph_of(SKEWED)
    context = PlainContext()
    stored = partition(context, PartitionParameters(ranks=4), input=graph)
    expected = suggest_threshold(graph.row_offsets, graph.column_indices, 4)
    assert stored.threshold == expected
    assert context.messages == [f"threshold {expected} chosen from the degrees"]


def test_facts_of_the_graph_are_kept() -> None:
    graph = graph_of(SKEWED)
    permutation = numpy.arange(graph.vertex_count, dtype=numpy.uint32)
    ordering = Ordering(
        **{**vars(graph), "loop_count": 2, "deduplicated": False}, permutation=permutation, method="x"
    )
    stored = partition(PlainContext(), PartitionParameters(ranks=2, threshold=9), input=ordering)
    assert stored.permutation is permutation
    assert (stored.loop_count, stored.deduplicated, stored.ranks, stored.threshold) == (2, False, 2, 9)


@pytest.mark.parametrize(
    "wrong", [{"ranks": 0}, {"threshold": -1}, {"threshold": "some"}, {"rank": 2}, {"ranks": 4, "hosts": 3}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PartitionParameters(**wrong)


def test_too_many_vertices_for_local_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.partition.layout.local_count", lambda *_: 2**32)
    with pytest.raises(StageError, match="do not fit 32-bit local ids"):
        partition(PlainContext(), PartitionParameters(threshold=2), input=graph_of(SKEWED))


@pytest.mark.parametrize("threshold", [8, "auto"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_memory_stays_within_the_stated_need(ranks: int, threshold: int | str) -> None:
    random = numpy.random.default_rng(1)
    n, m = 50_000, 800_000
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(random.integers(0, n, m), minlength=n))))
    columns = random.integers(0, n, m).astype(numpy.uint32)
    facts = {"vertex_count": n, "arc_count": m, "symmetric": False, "deduplicated": False}
    graph = Graph(row_offsets=offsets, column_indices=columns, sorted=False, **facts)
    parameters = PartitionParameters(ranks=ranks, threshold=threshold)
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    extent = Extent(kind="Graph", vertices=n, arcs=m)
    need = STAGE.estimate(parameters, {"input": (extent,)}, machine)
    context = PlainContext(machine)
    written = 0

    class Discard:
        def append(self, rows: numpy.ndarray) -> None:
            nonlocal written
            written += rows.nbytes

        def close(self) -> numpy.ndarray:
            return numpy.empty(0)

    context.sink = lambda dtype, row_shape=(), *, rows=None: Discard()  # type: ignore[method-assign,assignment,return-value]
    partition(context, parameters, input=graph)
    tracemalloc.start()
    partition(context, parameters, input=graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < need.host_bytes
    assert written / 2 < need.outputs[0].bytes


@needs_data
def test_a_real_mesh_and_its_verification() -> None:
    with lzma.open(DATA / "delaunay_n16.edges.xz") as file:
        edges = numpy.array(file.read().split(), numpy.int64).reshape(-1, 2) - 1
    n = 65_536
    both = numpy.concatenate((edges, edges[:, ::-1]))
    both = both[numpy.lexsort((both[:, 1], both[:, 0]))]
    offsets = numpy.concatenate(([0], numpy.cumsum(numpy.bincount(both[:, 0], minlength=n))))
    columns = both[:, 1].astype(numpy.uint32)
    facts = {"vertex_count": n, "arc_count": len(columns), "symmetric": True, "deduplicated": True}
    graph = Graph(row_offsets=offsets, column_indices=columns, **facts)
    stored = partition(PlainContext(), PartitionParameters(ranks=4), input=graph)
    assert 0 < len(stored.delegates) <= n / 16
    whole = load_partition(stored)
    result = PartitionSearch(whole).run(17)
    assert numpy.array_equal(result.distance, scipy_distances(offsets, columns, 17))
    labels = components(whole, symmetric=True).component
    found = {
        "bfs": {
            "sources": numpy.array([17]),
            "distance": result.distance[None],
            "predecessor": result.predecessor[None],
        },
        "components": {"component": labels},
    }
    for algorithm, arrays in found.items():
        traversal = Traversal(algorithm=algorithm, vertex_count=n, **arrays)
        assert verify(PlainContext(), VerifyParameters(), graph=graph, traversal=traversal).checks
