"""Weights over ranks: the arcs, the searches and the refusals of one machine."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as draw
from pydantic import ValidationError

from gravel.stages.artifacts import Partition
from gravel.stages.centrality import STAGE as CENTRALITY
from gravel.stages.centrality import CentralityParameters, centrality
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.distribute import STAGE, distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.stage import Machine
from gravel.stages.traversal.buffers import extent_of
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE as TRAVERSE
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.distributing.files_case import assert_same, over_ranks, random_ends, write_parquet
from tests.stages.distributing.weighted_case import (
    WEIGHTS,
    assert_has_weights_of,
    on_one_machine,
    write_text,
    write_weighted,
)

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 33)

PATHS = TraverseParameters(algorithm="shortest_paths", sources={"random": 3, "seed": 2})


def plain(split: Partition) -> Partition:
    """Leave the weights out."""
    arrays = {name: array for name, array in split.arrays.items() if not name.endswith("/weights")}
    statistics = {name: value for name, value in split.statistics.items() if name != "weight_bytes"}
    return dataclasses.replace(split, arrays=arrays, statistics=statistics)


def assert_searched_as(split: Partition, graph: Any, asked: TraverseParameters = PATHS) -> Any:
    searched, _ = traverse(PlainContext(), asked, input=split)
    expected, _ = traverse(PlainContext(), asked, input=graph)
    assert_same(searched, expected)
    return searched


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
@pytest.mark.parametrize(
    ("form", "files", "stored", "policy"),
    [("parquet", 5, "uint32", "minimum"), ("csv", 3, "float32", "sum"), ("csv", 1, "uint32", "sum")],
)
def test_ranks_have_and_find_what_one_machine_does(
    tmp_path: Path, ranks: int, kind: str, form: str, files: int, stored: str, policy: str
) -> None:
    asked: dict[str, Any] = {"files": write_weighted(tmp_path, kind, form, files, stored)}
    ids, graph = on_one_machine(policy, **asked)
    assert graph.weights is not None
    assert graph.weights.dtype == stored
    split, numbered = over_ranks(ranks, 8, weights=policy, **asked)
    assert_same(numbered, ids)
    assert_has_weights_of(split, graph)
    searched = assert_searched_as(split, graph)
    made = verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)
    assert {record["on"] for record in made.checks} == {"ranks"}
    assert {record["check"] for record in made.checks} >= {"tree_arcs", "relaxed"}


def test_the_rest_of_a_partition_does_not_depend_on_weights(tmp_path: Path) -> None:
    names = write_weighted(tmp_path, "sparse", "parquet", 3, "float32")
    bare, _ = over_ranks(3, 8, files=names)
    assert not bare.has_weights
    assert_same(plain(over_ranks(3, 8, files=names, weights="sum")[0]), bare)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edges=draw.lists(
        draw.tuples(draw.integers(0, 9), draw.integers(0, 9), draw.integers(0, 4)), min_size=1, max_size=40
    ),
    scale=draw.sampled_from([0.0, 1.0, 0.375, 1e7]),
    ranks=draw.integers(1, 4),
    threshold=draw.integers(0, 5),
    policy=draw.sampled_from(["minimum", "sum"]),
)
def test_whatever_the_edges_are(
    tmp_path: Path, edges: Any, scale: float, ranks: int, threshold: int, policy: str
) -> None:
    source, target, weight = numpy.array(edges, numpy.int64).T
    path = tmp_path / "edges.parquet"
    write_parquet(path, source * 10**15, target * 10**15, weight=weight * scale)
    ids, graph = on_one_machine(policy, file=str(path))
    split, numbered = over_ranks(ranks, threshold, file=str(path), weights=policy)
    assert_same(numbered, ids)
    assert_has_weights_of(split, graph)
    assert_searched_as(split, graph)


@pytest.mark.parametrize("threshold", [0, 1000, "auto"])
def test_every_vertex_or_none_may_be_a_delegate(tmp_path: Path, threshold: int | str) -> None:
    names = write_weighted(tmp_path, "sparse", "parquet", 3, "uint32")
    _, graph = on_one_machine("minimum", files=names)
    split, _ = over_ranks(3, threshold, files=names, weights="minimum")
    assert_has_weights_of(split, graph)
    searched = assert_searched_as(split, graph)
    verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)


def test_ranks_may_be_more_than_edges_and_have_no_share(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n7,9,2.5\n9,9,1\n")
    _, graph = on_one_machine("sum", file=str(path))
    for threshold in (0, 5):
        split, _ = over_ranks(7, threshold, file=str(path), weights="sum")
        assert_has_weights_of(split, graph)
        searched = assert_searched_as(split, graph)
        verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "# as SNAP has them\n1\t2\t5\n2\t3\t1\n1\t3\t9\n3\t1\t4\n"),
        ("a.gr", "p sp 5 4\na 1 2 5\na 2 3 1\na 1 3 9\na 3 1 4\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 4\n1 2 5\n2 3 1\n1 3 9.5\n3 1 4\n"),
        ("a.csv", "from,to,cost\n1,2,5\n2,3,1\n1,3,9\n3,1,4\n"),
    ],
)
def test_formats_that_ingest_reads_with_weights(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    asked: dict[str, Any] = {"file": str(path)}
    if name == "a.csv":
        asked["columns"] = {"source": "from", "target": "to", "weight": "cost"}
    ids, graph = on_one_machine("minimum", **asked)
    for ranks, threshold in ((1, 0), (3, 1)):
        split, numbered = over_ranks(ranks, threshold, weights="minimum", **asked)
        assert_same(numbered, ids)
        assert_has_weights_of(split, graph)
        assert_searched_as(split, graph)


@pytest.mark.parametrize("policy", ["minimum", "sum"])
def test_what_does_not_fit_the_memory_is_on_disk(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gravel.stages.distributing import rows

    ranges: list[int] = []
    made = rows.SpilledRows.__init__

    def noted(self: Any, *given: Any) -> None:
        made(self, *given)
        ranges.append(len(self.bounds) - 1)

    monkeypatch.setattr(rows.SpilledRows, "__init__", noted)
    names = write_weighted(tmp_path, "sparse", "parquet", 3, "float32", edges=400_000, vertices=150_000)
    _, graph = on_one_machine(policy, files=names, memory=16 << 20)
    split, _ = over_ranks(4, 8, files=names, memory=16 << 20, weights=policy)
    assert max(ranges) > 1
    assert_has_weights_of(split, graph)


def refused_alike(path: Path, policy: str, ranks: int = 3) -> tuple[StageError, StageError]:
    """Return the refusals of one machine and of ranks."""
    with pytest.raises(StageError) as one:
        on_one_machine(policy, file=str(path))
    with pytest.raises(StageError) as several:
        over_ranks(ranks, 1, file=str(path), weights=policy)
    return one.value, several.value


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_unlike_weights_are_an_error_that_names_the_arc(tmp_path: Path, ranks: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n5,6,2\n6,5,2\n1,2,3\n2,3,7\n3,2,8\n8,9,1\n9,8,4\n")
    one, several = refused_alike(path, "error", ranks)
    assert str(several) == str(one)
    assert "the arc (1, 2) occurs with the weights 7 and 8; take their minimum or their sum" in str(several)


def test_equal_weights_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n5,6,2\n6,5,2\n5,6,2\n6,7,1\n")
    _, graph = on_one_machine("error", file=str(path))
    split, _ = over_ranks(2, 1, file=str(path), weights="error")
    assert_has_weights_of(split, graph)


def test_a_sum_that_overflows_is_refused_as_on_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n5,6,4294967295\n6,7,1\n6,5,1\n7,8,4294967295\n8,7,4294967295\n")
    one, several = refused_alike(path, "sum")
    assert str(several) == str(one)
    assert "the weights of (0, 1) add up" not in str(several)
    assert "the weights of the arc (0, 1) add up to more than uint32 holds, 4294967295" in str(several)


def test_a_weight_beyond_float32_is_refused_with_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n5,6,1.5\n6,7,1e300\n7,8,1e200\n8,9,2\n")
    one, several = refused_alike(path, "minimum")
    assert str(several) == str(one)
    assert several.vertices == one.vertices == (1, 2)
    assert "leave `weights` of distribute out" in str(several.hint)


def test_weights_that_no_search_takes_are_named(tmp_path: Path) -> None:
    for value in (-2.0, -1e-300):
        path = tmp_path / f"{value}.parquet"
        write_parquet(path, [5, 6, 7], [6, 7, 8], weight=[1.5, value, 1.0])
        _, graph = on_one_machine("minimum", file=str(path))
        split, _ = over_ranks(3, 1, file=str(path), weights="minimum")
        with pytest.raises(StageError) as one:
            traverse(PlainContext(), PATHS, input=graph)
        with pytest.raises(StageError) as several:
            traverse(PlainContext(), PATHS, input=split)
        assert str(several.value) == str(one.value)
        assert several.value.vertices == one.value.vertices


def test_edges_without_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target\n5,6\n6,7\n")
    with pytest.raises(StageError, match="the edges have no weights"):
        over_ranks(2, 1, file=str(path), weights="sum")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": {"weight": "amount"}}, "`columns` names weights, and they are left out"),
        ({"weights": True}, "'leave_out', 'minimum', 'sum' or 'error'"),
        ({"weights": "keep"}, "'leave_out', 'minimum', 'sum' or 'error'"),
    ],
)
def test_what_cannot_be_asked_of_files(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        DistributeParameters(files=["a.csv"], **given)


def test_a_generated_graph_has_no_weights() -> None:
    with pytest.raises(ValidationError, match="a generated graph has no weights"):
        DistributeParameters(source={"rmat": {"scale": 4}}, weights="sum")
    spread, _ = distribute(PlainContext(), DistributeParameters(source={"rmat": {"scale": 4}}, ranks=2))
    with pytest.raises(StageError, match="a generated graph has no weights"):
        traverse(PlainContext(), PATHS, input=spread)


def test_weights_that_are_left_out_are_said_in_either_way() -> None:
    assert DistributeParameters(files=["a.csv"], weights=False) == DistributeParameters(files=["a.csv"])


def test_pieces_are_those_of_ingest_whatever_the_ranks_and_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gravel.pipeline.core.hashing import make_recipe
    from gravel.stages.ingest import STAGE as INGEST
    from gravel.stages.ingest import IngestParameters

    names = write_weighted(tmp_path, "dense", "csv", 8, "uint32")

    def recipes(stage: Any, parameters: Any) -> list[str]:
        parts = stage.parts(parameters)
        return [make_recipe(part, asked, {}, {"file": str(asked.file)}, None).digest for part, asked in parts]

    expected = recipes(INGEST, IngestParameters(files=names))
    assert len(expected) == 8
    for asked in ({"weights": "sum"}, {"weights": "minimum", "ranks": 3, "threshold": 5}):
        assert recipes(STAGE, DistributeParameters(files=names, **asked)) == expected
    assert recipes(STAGE, DistributeParameters(files=names)) != expected


def test_searches_of_levels_and_components_do_without_weights(tmp_path: Path) -> None:
    names = write_weighted(tmp_path, "sparse", "parquet", 2, "uint32")
    _, graph = on_one_machine("minimum", files=names)
    split, _ = over_ranks(3, 8, files=names, weights="minimum")
    for asked in (
        TraverseParameters(sources={"random": 2, "seed": 1}, output="distance"),
        TraverseParameters(algorithm="components"),
    ):
        searched = assert_searched_as(split, graph, asked)
        verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)


@pytest.fixture
def split(tmp_path: Path) -> Partition:
    return over_ranks(3, 8, files=write_weighted(tmp_path, "dense", "csv", 2, "uint32"), weights="sum")[0]


def test_a_wrong_distance_does_not_pass(split: Partition) -> None:
    searched, _ = traverse(PlainContext(), PATHS, input=split)
    for name, change in (("distance", 1), ("distance", -1), ("predecessor", 1)):
        labels = numpy.array(getattr(searched, name))
        labels[1, numpy.flatnonzero(labels[1] > 1)[3]] += change
        wrong = dataclasses.replace(searched, **{name: labels})
        with pytest.raises(VerificationFailed, match="search 2 of 3"):
            verify(PlainContext(), VerifyParameters(), graph=split, traversal=wrong)


def test_distances_alone_are_verified_without_a_tree(split: Partition) -> None:
    asked = PATHS.model_copy(update={"output": "distance"})
    searched, _ = traverse(PlainContext(), asked, input=split)
    made = verify(PlainContext(), VerifyParameters(), graph=split, traversal=searched)
    assert {each["check"] for each in made.skipped} == {"tree", "tree_arcs"}


def test_a_partition_without_weights_is_refused(split: Partition) -> None:
    bare, expected = plain(split), "the graph has no weights, which algorithm shortest_paths needs"
    with pytest.raises(StageError, match=expected) as refused:
        traverse(PlainContext(), PATHS, input=bare)
    assert "distribute with `weights: minimum`" in str(refused.value.hint)
    assert expected in TRAVERSE.estimate(PATHS, {"input": (extent_of(bare),)}, MACHINE).refusal
    searched, _ = traverse(PlainContext(), PATHS, input=split)
    with pytest.raises(StageError, match="the graph has no weights, by which the traversal's distances"):
        verify(PlainContext(), VerifyParameters(), graph=bare, traversal=searched)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backend": "cuda"}, "shortest paths over ranks have no CUDA form"),
        ({"strategy": "dijkstra"}, "a partition has no other strategy than auto"),
        ({"tuning": {"by_weight": True}}, "shortest paths over ranks have no constant but width"),
        ({"tuning": {"width": -1.0}}, "width is -1.0; it must be above 0"),
    ],
)
def test_what_searches_over_ranks_do_not_take(split: Partition, given: dict[str, Any], message: str) -> None:
    asked = TraverseParameters(algorithm="shortest_paths", sources={"random": 1}, **given)
    with pytest.raises(StageError, match=message):
        traverse(PlainContext(), asked, input=split)
    if "-1" not in message:
        (fault,) = TRAVERSE.kind_faults(asked, {"input": ["Partition"]})
        assert message in fault.message


def test_the_width_of_buckets_changes_no_distance(split: Partition) -> None:
    expected, _ = traverse(PlainContext(), PATHS, input=split)
    for width in (0.01, 3, 1e6):
        asked = PATHS.model_copy(update={"tuning": {"width": width}})
        found, measured = traverse(PlainContext(), asked, input=split)
        assert_same(found, expected)
        assert measured.ran["options"] == {"width": width}


def test_other_stages_refuse_weights_that_they_would_lose(split: Partition) -> None:
    extent = extent_of(split)
    packed = CompressParameters(codec="varint")
    with pytest.raises(StageError, match="the partition has weights, and a compressed one carries none"):
        compress(PlainContext(), packed, input=split)
    assert "carries none" in COMPRESS.estimate(packed, {"input": (extent,)}, MACHINE).refusal
    for chosen in ({"measure": "pagerank"}, {"measure": "closeness", "by": "weights"}):
        asked = CentralityParameters(**chosen)
        with pytest.raises(StageError, match="the partition has weights, by which its ranks find shortest"):
            centrality(PlainContext(), asked, input=split)
        assert "take `by: arcs`" in CENTRALITY.estimate(asked, {"input": (extent,)}, MACHINE).refusal
    ranked, _ = centrality(PlainContext(), CentralityParameters(measure="pagerank", by="arcs"), input=split)
    assert ranked.convergence["by"] == "arcs"


def test_plans_state_weights(tmp_path: Path) -> None:
    names = write_weighted(tmp_path, "dense", "csv", 2, "uint32")
    (bare, _), (weighted, _) = (
        STAGE.estimate(DistributeParameters(files=names, ranks=2, weights=policy), {}, MACHINE).outputs
        for policy in ("leave_out", "sum")
    )
    assert (bare.weighted, weighted.weighted) == (False, True)
    assert weighted.bytes == bare.bytes + 4 * bare.arcs
    need = TRAVERSE.estimate(PATHS, {"input": (weighted,)}, MACHINE)
    assert (need.refusal, need.workers, need.device_bytes) == ("", 2, 0)
    assert need.outputs[0].weighted
    assert "has no weights" in TRAVERSE.estimate(PATHS, {"input": (bare,)}, MACHINE).refusal
    on_gpu = dataclasses.replace(MACHINE, backend="cuda", device_memory=1 << 33)
    noted = TRAVERSE.estimate(PATHS, {"input": (weighted,)}, on_gpu)
    assert (noted.note, noted.device_bytes) == ("on the CPU: shortest paths over ranks have no CUDA form", 0)


def test_the_partition_says_what_its_weights_take(split: Partition) -> None:
    assert split.statistics["weight_bytes"] == 4 * split.arc_count
    assert extent_of(split).weighted
    assert WEIGHTS.keys() == {"uint32", "int32", "float32"}


def test_files_of_which_some_have_no_weights_are_refused(tmp_path: Path) -> None:
    names = write_weighted(tmp_path, "dense", "csv", 2, "uint32")
    (tmp_path / "bare.csv").write_text("source,target\n1,2\n")
    with pytest.raises(StageError, match=r"it has (the columns|no weights)"):
        over_ranks(2, 8, files=[*names, str(tmp_path / "bare.csv")], weights="minimum")


def test_text_columns_are_no_weights(tmp_path: Path) -> None:
    source, target = random_ends("dense", edges=5)
    write_text(tmp_path / "a.csv", source, target, numpy.array(["x"] * 5))
    with pytest.raises(StageError):
        over_ranks(2, 8, file=str(tmp_path / "a.csv"), weights="minimum")
