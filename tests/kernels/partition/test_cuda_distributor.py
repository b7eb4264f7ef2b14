"""The distributor on a GPU makes what the CPU does; ranks search it where it is, and check what they find."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.exchange import run_in_lock_step
from gravel.kernels.partition import choose_threshold, partition, take_census
from gravel.kernels.partition.distributor import EdgeSource, distribute_program
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph, to_arrays
from gravel.kernels.verify import check_bfs, check_components
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.test_distributor import RMAT, SOURCES, whole_rows
from tests.kernels.verify import test_components as components
from tests.kernels.verify.damage import search
from tests.kernels.verify.test_components import PARTS
from tests.kernels.verify.test_ranks import (
    GRID,
    SKEWED,
    assert_levels_are_summed,
    check_over_ranks,
    outputs,
    plant,
)
from tests.zoo import scipy_components

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def spread(source: EdgeSource, ranks: int, threshold: Any, **sizes: int) -> list[Any]:
    from gravel.kernels.partition.distributor.cuda import RankBuilder

    part_edges = sizes.pop("part_edges", 1 << 20)

    def program(end: Any) -> Any:
        builder = RankBuilder(source, ranks, end.rank, **sizes)
        return distribute_program(end, builder, threshold=threshold, part_edges=part_edges)

    return run_in_lock_step(program, ranks)


def assert_same_as(whole: Any, shares: list[Any]) -> None:
    for share, part in zip(shares, whole.parts, strict=True):
        assert numpy.array_equal(share.delegates.get(), whole.delegates)
        found = to_arrays(share.part)
        for name, array in to_arrays(part).items():
            assert numpy.array_equal(found[name].get(), array), name
            assert found[name].dtype == array.dtype, name


@pytest.mark.parametrize("ranks", [1, 2, 4, 7])
def test_ranks_make_what_the_whole_graph_is_split_into(ranks: int) -> None:
    for source in (*SOURCES, EdgeSource("rmat", {"scale": 15, **RMAT})):
        rows = whole_rows(source)
        for threshold, sizes in ((0, {}), (16, {"sort_arcs": 5000, "part_edges": 3000, "block": 128})):
            whole = partition(rows.row_offsets, rows.column_indices, ranks=ranks, threshold=threshold)
            assert_same_as(whole, spread(source, ranks, threshold, **sizes))


def test_the_census_is_the_cpus() -> None:
    source = EdgeSource("rmat", {"scale": 14, **RMAT})
    rows = whole_rows(source)
    expected = take_census(rows.row_offsets, rows.column_indices)
    for share in spread(source, 3, lambda census: choose_threshold(census, 3)):
        for name in ("of_degree", "busier", "quieter"):
            assert numpy.array_equal(getattr(share.census, name), getattr(expected, name))


def on_device(part: RankGraph) -> RankGraph:
    from dataclasses import replace

    arrays: dict[str, Any] = {
        name: Subgraph(*(cupy.asarray(each) for each in part.subgraph(name))) for name in SUBGRAPHS
    }
    return replace(part, **arrays)


def checker(part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> Any:
    from gravel.kernels.verify.ranks.cuda import RankChecker

    return RankChecker(on_device(part), cupy.asarray(delegates), vertex_count, ranks)


def label_checker(part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> Any:
    from gravel.kernels.verify.ranks.components_cuda import RankLabelChecker

    return RankLabelChecker(on_device(part), cupy.asarray(delegates), vertex_count, ranks)


@pytest.mark.parametrize("ranks", [1, 3])
def test_findings_are_those_of_the_whole_graph(ranks: int) -> None:
    random = numpy.random.default_rng(ranks)
    for member in (GRID, SKEWED):
        csr = member.csr()
        graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 4, 10**6)]
        for turn in range(30):
            source = int(random.integers(member.vertex_count))
            labels = plant(search(csr, source), random, source) if turn else search(csr, source)
            for some in outputs(labels):
                given = tuple(None if each is None else cupy.asarray(each) for each in some)
                found = check_over_ranks(graphs[turn % 3], source, given, checker=checker)
                assert found == check_bfs(*csr, source, *some, symmetric=True)


@pytest.mark.parametrize("ranks", [1, 3])
def test_findings_on_components_are_those_of_the_whole_graph(ranks: int) -> None:
    random = numpy.random.default_rng(ranks)
    for csr in (PARTS.csr(), SKEWED.csr(), fast_csr(rmat(14, edge_factor=1), symmetric=True)):
        right = scipy_components(*csr).astype(numpy.uint32)
        wide = csr[0], csr[1].astype(numpy.uint64)
        graphs = [partition(*csr, ranks=ranks, threshold=threshold) for threshold in (0, 4, 10**6)]
        graphs.append(partition(*wide, ranks=ranks, threshold=4))
        for turn in range(20):
            labels = components.plant(right, random) if turn else right
            expected = check_components(*csr, labels, symmetric=True)
            given = cupy.asarray(labels)
            found = components.check_over_ranks(graphs[turn % 4], given, label_checker, piece=1000)
            assert found == expected


def test_levels_are_summed() -> None:
    assert_levels_are_summed(checker, cupy.asarray)


def test_one_gpu_makes_searches_and_checks() -> None:
    from gravel.stages.context import PlainContext
    from gravel.stages.distribute import DistributeParameters, distribute
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters
    from gravel.stages.traverse import traverse
    from gravel.stages.verify import VerifyParameters, verify

    gpu = Machine(backend="cuda", threads=2, host_memory=1 << 33, device_memory=1 << 33)
    source = {"rmat": {"scale": 14, "edge_factor": 16, "seed": 3}}
    graph, _ = distribute(PlainContext(gpu), DistributeParameters(source=source))
    asked = {"sources": {"random": 4, "seed": 1}}
    kept, told = traverse(PlainContext(gpu), TraverseParameters(output="checks", **asked), input=graph)
    assert told.backend == "cuda"
    assert verify(PlainContext(gpu), VerifyParameters(), graph=graph, traversal=kept).checks
    labels, _ = traverse(PlainContext(gpu), TraverseParameters(**asked), input=graph)
    assert verify(PlainContext(gpu), VerifyParameters(), graph=graph, traversal=labels).checks
    on_cpu, expected = traverse(PlainContext(), TraverseParameters(backend="cpu", **asked), input=graph)
    assert numpy.array_equal(labels.distance, on_cpu.distance)
    tuning = {"predecessors": "smallest"}
    smallest, _ = traverse(PlainContext(gpu), TraverseParameters(tuning=tuning, **asked), input=graph)
    assert numpy.array_equal(smallest.predecessor, on_cpu.predecessor)
    for mine, theirs in zip(told.searches, expected.searches, strict=True):
        assert mine["levels"]["arcs"] == theirs["levels"]["arcs"]


@pytest.mark.parametrize("edge_factor", [1, 16])
def test_one_gpu_finds_components_and_checks_them(edge_factor: int) -> None:
    from gravel.stages.context import PlainContext
    from gravel.stages.distribute import DistributeParameters, distribute
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters
    from gravel.stages.traverse import traverse
    from gravel.stages.verify import VerifyParameters, verify

    gpu = Machine(backend="cuda", threads=2, host_memory=1 << 33, device_memory=1 << 33)
    source = {"rmat": {"scale": 14, "edge_factor": edge_factor, "seed": 3}}
    graph, _ = distribute(PlainContext(gpu), DistributeParameters(source=source))
    asked = TraverseParameters(algorithm="components")
    labels, told = traverse(PlainContext(gpu), asked, input=graph)
    assert told.backend == "cuda"
    kept = TraverseParameters(algorithm="components", output="checks")
    checked, _ = traverse(PlainContext(gpu), kept, input=graph)
    for each in (labels, checked):
        assert len(verify(PlainContext(gpu), VerifyParameters(), graph=graph, traversal=each).checks) == 4
    on_cpu, expected = traverse(
        PlainContext(), TraverseParameters(algorithm="components", backend="cpu"), input=graph
    )
    assert numpy.array_equal(labels.component, on_cpu.component)
    assert next(note for note in told.notes if " components" in note) in expected.notes
