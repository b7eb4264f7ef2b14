"""The stage centrality with PageRank: the ranks of NetworkX, their verification, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.layouts import LAYOUTS
from gravel.stages.artifacts import Graph
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.reorder import ReorderParameters, reorder
from gravel.stages.sections.centralities import centrality_sections
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.parameters import VertexSources
from gravel.stages.verify import verify
from gravel.stages.verifying.need import VerifyParameters
from tests.stages.ranks.test_searches import RankGroupContext
from tests.stages.test_centrality import edges

CONTEXT = PlainContext()


def graph_of(*, directed: bool, weighted: bool = False) -> Graph:
    ends = replace(edges(), undirected=not directed)
    asked: dict[str, Any] = {"direction": "as_given" if directed else "both"}
    if weighted:
        weight = numpy.random.default_rng(1).integers(1, 9, len(ends.source)).astype(numpy.float64)
        ends, asked = replace(ends, weight=weight), {**asked, "weights": "minimum"}
    return symmetrize(CONTEXT, SymmetrizeParameters(**asked), input=ends)


def networkx_of(graph: Graph) -> Any:
    n = graph.vertex_count
    made = networkx.empty_graph(n, networkx.Graph if graph.symmetric else networkx.DiGraph)
    tails = numpy.repeat(numpy.arange(n), numpy.diff(graph.row_offsets)).tolist()
    weights = [1] * graph.arc_count if graph.weights is None else numpy.asarray(graph.weights).tolist()
    heads = numpy.asarray(graph.column_indices).tolist()
    made.add_weighted_edges_from(zip(tails, heads, weights, strict=True))
    return made


def ranks(stored: Any, machine: Machine | None = None, **asked: Any) -> Any:
    context = CONTEXT if machine is None else PlainContext(machine)
    return centrality(context, CentralityParameters(measure="pagerank", **asked), input=stored)[0]


def forms(graph: Graph) -> list[Any]:
    found: list[Any] = [graph]
    found += [compress(CONTEXT, CompressParameters(codec=layout), input=graph) for layout in LAYOUTS]
    found.append(reorder(CONTEXT, ReorderParameters(method="random"), input=graph))
    found.append(compress(CONTEXT, CompressParameters(codec="varint"), input=found[-1]))
    return found


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_ranks_are_those_of_networkx_and_pass_their_check(directed: bool, weighted: bool) -> None:
    graph = graph_of(directed=directed, weighted=weighted)
    made = networkx_of(graph)
    for tolerance in (1e-6, 1e-12):
        asked: dict[str, Any] = {"tolerance": tolerance, "max_iterations": 500}
        expected = networkx.pagerank(made, tol=tolerance, max_iter=500)
        for form in forms(graph):
            found = ranks(form, **asked)
            numpy.testing.assert_allclose(found.value, [expected[v] for v in range(len(made))], atol=1e-9)
            assert found.convergence["residual"] < tolerance * len(made)
            checked = verify(CONTEXT, VerifyParameters(), graph=graph, traversal=found)
            assert [check["check"] for check in checked.checks] == ["ranges", "sum", "residual"]
            assert checked.algorithm == "pagerank"


def test_rows_are_pulled_as_they_are_in_little_memory() -> None:
    graph = graph_of(directed=False)
    machine = Machine("cpu", 2, 1 << 20)
    expected = ranks(graph).value
    for layout in LAYOUTS:
        stored = compress(CONTEXT, CompressParameters(codec=layout), input=graph)
        numpy.testing.assert_array_equal(ranks(stored, machine).value, expected)


def test_a_partition_and_directions() -> None:
    graph = graph_of(directed=False)
    split = partition(CONTEXT, PartitionParameters(ranks=2, threshold=4), input=graph)
    numpy.testing.assert_allclose(ranks(split).value, ranks(graph).value, atol=1e-15)
    graph = graph_of(directed=True)
    made = networkx_of(graph)
    for direction, other in (("in", made.reverse()), ("both", made.to_undirected())):
        expected = networkx.pagerank(other)
        found = ranks(graph, direction=direction)
        numpy.testing.assert_allclose(found.value, [expected[v] for v in range(len(made))], atol=1e-9)
        verify(CONTEXT, VerifyParameters(), graph=graph, traversal=found)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_ranks_of_a_partition_find_what_one_place_does(count: int, directed: bool) -> None:
    graph = graph_of(directed=directed)
    ordered = reorder(CONTEXT, ReorderParameters(method="random"), input=graph)
    for given in (graph, ordered):
        split = partition(CONTEXT, PartitionParameters(ranks=count, threshold=4), input=given)
        for asked in ({}, {"personalization": VertexSources(vertices=[3, 40]), "tolerance": 1e-10}):
            alone, over = ranks(graph, **asked), ranks(split, workers=count, **asked)
            numpy.testing.assert_allclose(over.value, alone.value, atol=1e-12)
            assert over.convergence["iterations"] == alone.convergence["iterations"]
            verify(CONTEXT, VerifyParameters(), graph=graph, traversal=over)
        context = RankGroupContext(count)
        found, batches = centrality(
            context, CentralityParameters(measure="pagerank", workers=count), input=split
        )
        assert context.calls == [count, count]
        assert batches.form == "ranks"
        numpy.testing.assert_array_equal(found.value, ranks(split, workers=count).value)


def test_other_numbers_of_workers_change_nothing_but_a_note() -> None:
    """As with a result in a cache, whose recipe has no `workers`."""
    split = partition(CONTEXT, PartitionParameters(ranks=4, threshold=4), input=graph_of(directed=False))
    for workers in (2, 3, 5):
        context = PlainContext()
        asked = CentralityParameters(measure="pagerank", workers=workers)
        found, batches = centrality(context, asked, input=split)
        assert batches.form == "pull"
        numpy.testing.assert_array_equal(found.value, ranks(split).value)
        assert (
            f"no use for {workers} workers: the partition has 4 ranks, each for a worker"
            in context.messages[0]
        )


def test_ranks_find_it_where_the_graph_does_not_fit_in_one_place() -> None:
    split = partition(CONTEXT, PartitionParameters(ranks=2, threshold=4), input=graph_of(directed=False))
    parameters = CentralityParameters(measure="pagerank")
    for memory, form in ((1 << 20, "ranks"), (1 << 40, "pull")):
        machine = Machine("cpu", 2, memory)
        assert centrality(PlainContext(machine), parameters, input=split)[1].form == form
    extent = Extent("Partition", 1 << 24, 1 << 28, 1 << 31, normal_arcs=1 << 24, ranks=4)
    need = STAGE.estimate(parameters, {"input": (extent,)}, Machine("cpu", 2, 1 << 30))
    assert need.workers == 4
    assert 0 < need.each_host_bytes < need.host_bytes


@pytest.mark.parametrize(
    ("workers", "changed", "message"),
    [
        (2, {}, "the partition has 4 ranks"),
        (4, {"striped": True}, "no partition by degree"),
        (4, {"directed": True}, "arcs in one direction"),
        (4, {"kind": "Graph", "ranks": 0}, "no partition by degree"),
    ],
)
def test_workers_that_are_no_ranks_are_noted(workers: int, changed: dict[str, Any], message: str) -> None:
    extent = replace(Extent("Partition", 1 << 10, 1 << 14, 1 << 17, normal_arcs=1 << 10, ranks=4), **changed)
    parameters = CentralityParameters(measure="pagerank", workers=workers, direction="in")
    need = STAGE.estimate(parameters, {"input": (extent,)}, Machine("cpu", 2, 1 << 40))
    assert message in need.note
    assert not need.refusal
    on_gpu = STAGE.estimate(parameters, {"input": (extent,)}, Machine("cuda", 2, 1 << 40, 1 << 40))
    assert "PageRank has no use for" in on_gpu.note
    (fault,) = STAGE.kind_faults(parameters.model_copy(update={"direction": "out"}), {"input": ("Graph",)})
    assert fault.path == ("workers",)
    assert not list(
        STAGE.kind_faults(parameters.model_copy(update={"direction": "out"}), {"input": ("Partition",)})
    )


def test_jumps_to_chosen_vertices() -> None:
    graph = graph_of(directed=True)
    found = ranks(graph, personalization=VertexSources(vertices=[3, 40]), damping=0.7)
    expected = networkx.pagerank(networkx_of(graph), 0.7, personalization={3: 1, 40: 1})
    numpy.testing.assert_allclose(found.value, [expected[v] for v in range(len(expected))], atol=1e-9)
    verify(CONTEXT, VerifyParameters(), graph=graph, traversal=found)
    with pytest.raises(StageError, match="no such source: 300"):
        ranks(graph, personalization=VertexSources(vertices=[300]))


def test_wrong_ranks_do_not_pass() -> None:
    graph = graph_of(directed=True)
    found = ranks(graph)
    value = numpy.asarray(found.value)
    reverse = ranks(graph, direction="in").value
    for wrong, message in (
        (value * 1.001, "sum"),
        (numpy.asarray(reverse), "residual"),
        (-value, "ranges"),
        (value * numpy.nan, "ranges"),
    ):
        with pytest.raises(VerificationFailed, match=message):
            verify(CONTEXT, VerifyParameters(), graph=graph, traversal=replace(found, value=wrong))
    harmonic = centrality(CONTEXT, CentralityParameters(measure="harmonic"), input=graph)[0]
    with pytest.raises(StageError, match="no check of harmonic"):
        verify(CONTEXT, VerifyParameters(), graph=graph, traversal=harmonic)


def test_what_is_refused() -> None:
    graph = graph_of(directed=False)
    with pytest.raises(StageError, match="after 2 iterations the residual is") as error:
        ranks(graph, max_iterations=2, tolerance=1e-12)
    assert "max_iterations" in str(error.value.hint)
    with pytest.raises(StageError, match="no weights"):
        ranks(graph, by="weights")
    with pytest.raises(StageError, match="negative or not finite"):
        ranks(replace(graph, weights=numpy.full(graph.arc_count, -1, numpy.int32)))
    for given, message in (
        ({"measure": "pagerank", "vertices": {"random": 3}}, "computed for all"),
        ({"measure": "pagerank", "memory": 1000}, "takes no memory"),
        ({"measure": "pagerank", "hops": 2}, "takes no hops"),
        ({"measure": "closeness", "damping": 0.5}, "closeness takes no damping"),
        ({"measure": "harmonic", "by": "arcs"}, "harmonic takes no by"),
    ):
        with pytest.raises(ValidationError, match=message):
            CentralityParameters(**given)


def test_the_report_says_how_it_converged() -> None:
    found, batches = centrality(
        CONTEXT, CentralityParameters(measure="pagerank"), input=graph_of(directed=True)
    )
    sections = centrality_sections([("run", found), ("run", batches)])
    table = next(each for each in sections if each["title"] == "PageRank")
    assert table["rows"][0][-2:] == [found.convergence["iterations"], found.convergence["residual"]]


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_what_is_stated(backend: str) -> None:
    machine = Machine(backend, 2, 64 << 30, 64 << 30 if backend == "cuda" else 0)
    n, m = 1 << 20, 1 << 25
    extent = Extent("Graph", vertices=n, arcs=m, bytes=8 * n + 4 * m)
    parameters = CentralityParameters(measure="pagerank")
    stated = [
        STAGE.estimate(parameters, {"input": (each,)}, machine)
        for each in (extent, replace(extent, directed=True), replace(extent, directed=True, weighted=True))
    ]
    assert stated[0].host_bytes < stated[1].host_bytes < stated[2].host_bytes
    if backend == "cuda":
        assert 4 * m < stated[0].device_bytes == stated[1].device_bytes < stated[2].device_bytes
