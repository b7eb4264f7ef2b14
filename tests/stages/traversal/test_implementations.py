"""The table of implementations, and strongly connected components by all of theirs."""

from dataclasses import asdict, replace
from pkgutil import resolve_name

import numpy
import pytest
from pydantic import ValidationError

from gravel.pipeline.plugins.conformance import _of_traversal
from gravel.stages.artifacts import EdgeList
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.partition import STAGE as PARTITION
from gravel.stages.reorder import STAGE as REORDER
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.implementations import IMPLEMENTATIONS
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE, traverse
from gravel.stages.verify import STAGE as VERIFY
from gravel.stages.verify import VerifyParameters, verify
from tests.kernels.strong_components.test_strong_components import expected

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
STRATEGY = {"cpu": "tarjan", "cuda": "forward_backward"}


def context(backend):
    return PlainContext(Machine(backend=backend, threads=2, host_memory=1 << 32, device_memory=1 << 32))


def graph_of(direction="as_given", seed=4):
    chosen = numpy.random.default_rng(seed)
    source, target = chosen.integers(0, 400, (2, 700)).astype(numpy.uint32)
    edges = EdgeList(source=source, target=target, vertex_count=400, undirected=False)
    return symmetrize(context("cpu"), SymmetrizeParameters(direction=direction), input=edges)


def found(graph, backend="cpu", **parameters):
    asked = TraverseParameters(algorithm="strong_components", **parameters)
    return traverse(context(backend), asked, input=graph)


def labels(graph):
    return expected(numpy.asarray(graph.row_offsets), numpy.asarray(graph.column_indices))


def refusal(message):
    return pytest.raises(StageError, match=message)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strategy", ["auto", "forward_backward"])
@pytest.mark.parametrize("direction", ["as_given", "reverse", "both"])
@pytest.mark.parametrize("order", [None, "random"])
def test_labels_are_those_of_scipy_and_pass(backend, strategy, direction, order):
    graph = graph_of(direction)
    given = graph
    if order:
        given = REORDER.run(context("cpu"), REORDER.parameters.model_validate({"method": order}), input=graph)
    traversal, measurement = found(given, backend, strategy=strategy)
    numpy.testing.assert_array_equal(traversal.component, labels(graph))
    assert traversal.algorithm == measurement.algorithm == "strong_components"
    assert measurement.strategy == (STRATEGY[backend] if strategy == "auto" else strategy)
    assert measurement.ran["function"].startswith("gravel.kernels.strong_components.")
    assert not list(_of_traversal(traversal))
    verified = verify(context(backend), VerifyParameters(), graph=graph, traversal=traversal)
    assert verified.algorithm == "strong_components"
    assert {each["check"] for each in verified.checks} >= {"from_label", "to_label", "acyclic"}
    assert {each["on"] for each in verified.checks} == {backend}


def test_wrong_labels_fail():
    graph = graph_of()
    traversal, _ = found(graph)
    weak = traverse(context("cpu"), TraverseParameters(algorithm="components"), input=graph)[0]
    for wrong in (weak.component, numpy.arange(400, dtype=numpy.uint32)):
        given = replace(traversal, component=wrong)
        with pytest.raises(VerificationFailed, match="the components"):
            verify(context("cpu"), VerifyParameters(), graph=graph, traversal=given)


def test_what_is_refused():
    graph = graph_of()
    split = PARTITION.run(context("cpu"), PARTITION.parameters(ranks=2), input=graph)
    for given in (split, COMPRESS.run(context("cpu"), COMPRESS.parameters(codec="varint"), input=split)):
        with refusal("partition keeps no whole rows"):
            found(given)
    with pytest.raises(ValidationError, match="strong_components take no sources"):
        TraverseParameters(algorithm="strong_components", sources=[1])
    with pytest.raises(ValidationError, match="no strong_components strategy 'afforest'"):
        TraverseParameters(algorithm="strong_components", strategy="afforest")
    with pytest.raises(ValidationError, match="placement pinned do not go together"):
        TraverseParameters(algorithm="strong_components", placement="pinned")


def test_a_gpu_that_is_asked_for_is_needed():
    graph = graph_of()
    traversal, _ = found(graph)
    with refusal("`on: cuda` asks for a GPU, and this run is on the CPU"):
        verify(context("cpu"), VerifyParameters(on="cuda"), graph=graph, traversal=traversal)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("codec", ["csr", "varint", "blocks", "elias_fano"])
@pytest.mark.parametrize("strategy", ["auto", "forward_backward"])
@pytest.mark.parametrize("order", [None, "random"])
def test_rows_that_are_encoded_are_decoded_once(backend, codec, strategy, order):
    graph = graph_of()
    given = graph
    if order:
        given = REORDER.run(context("cpu"), REORDER.parameters.model_validate({"method": order}), input=graph)
    packed = COMPRESS.run(context("cpu"), COMPRESS.parameters(codec=codec), input=given)
    traversal, measurement = found(packed, backend, strategy=strategy)
    numpy.testing.assert_array_equal(traversal.component, labels(graph))
    told = "columns" if codec == "csr" else "decoded before the search: strong_components reads columns"
    assert any(told in note for note in measurement.notes)
    verify(context(backend), VerifyParameters(), graph=graph, traversal=traversal)


@pytest.mark.parametrize("kind", ["Compressed partition", "Partition", "DistributedGraph"])
def test_a_plan_refuses_what_has_no_whole_rows(kind):
    extent = Extent(kind=kind, vertices=100, arcs=1000, bytes=5000, directed=True)
    if kind == "Compressed partition":
        extent = replace(extent, kind="CompressedGraph", ranks=2, normal_arcs=0)
    asked = TraverseParameters(algorithm="strong_components")
    need = STAGE.estimate(asked, {"input": (extent,)}, context("cpu").machine)
    assert "keeps no whole rows" in need.refusal


def test_memory_is_stated_for_both_rows_where_there_are_both():
    machine = Machine(backend="cuda", threads=2, host_memory=1 << 32, device_memory=1 << 32)
    directed = Extent(kind="Graph", vertices=10**6, arcs=10**7, bytes=48 * 10**6, directed=True)
    asked = TraverseParameters(algorithm="strong_components")
    need = STAGE.estimate(asked, {"input": (directed,)}, machine)
    rows = 8 * 10**6 + 4 * 10**7
    assert need.device_bytes > 2 * rows
    both_ways = STAGE.estimate(asked, {"input": (replace(directed, directed=False),)}, machine)
    assert rows < both_ways.device_bytes < need.device_bytes
    traversal = need.outputs[0]
    given = {"graph": (directed,), "traversal": (traversal,)}
    assert VERIFY.estimate(VerifyParameters(), given, machine).device_bytes > 2 * rows
    little = replace(machine, device_memory=2 * rows)
    for asked, there in ((VerifyParameters(on="cpu"), machine), (VerifyParameters(), little)):
        checking = VERIFY.estimate(asked, given, there)
        assert checking.host_bytes > 2 * rows + 4 * 10**7
        assert not checking.device_bytes
        assert "on the CPU" in checking.note
    assert "verification needs" in VERIFY.estimate(VerifyParameters(on="cuda"), given, little).refusal


@pytest.mark.parametrize("place", IMPLEMENTATIONS, ids=" ".join)
def test_each_function_of_the_table_is_there(place):
    named = {name: value for name, value in asdict(IMPLEMENTATIONS[place]).items() if isinstance(value, str)}
    assert {"entry", "need"} <= {name for name, value in named.items() if value}
    for value in filter(None, named.values()):
        assert callable(resolve_name(value))


def test_each_algorithm_searches_columns():
    algorithms = set(TraverseParameters.model_fields["algorithm"].annotation.__args__)
    assert {algorithm for form, algorithm in IMPLEMENTATIONS if form == "columns"} == algorithms
