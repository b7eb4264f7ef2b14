"""distribute from files: what `partition` makes of the same files on one machine, and refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.distribute import STAGE, distribute
from gravel.stages.distributing.parameters import DistributeParameters
from gravel.stages.errors import StageError, VerificationFailed
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.stage import Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import traverse
from gravel.stages.verify import VerifyParameters, verify
from tests.stages.distributing.files_case import (
    assert_same,
    on_one_machine,
    over_ranks,
    random_ends,
    write_files,
    write_parquet,
)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
@pytest.mark.parametrize(("form", "files"), [("parquet", 5), ("csv", 3), ("csv", 1)])
def test_it_is_what_partition_makes_on_one_machine(
    tmp_path: Path, ranks: int, kind: str, form: str, files: int
) -> None:
    asked: dict[str, Any] = {"files": write_files(tmp_path, kind, form, files)}
    _, ids, _, split = on_one_machine(ranks, 8, **asked)
    found, numbered = over_ranks(ranks, 8, **asked)
    assert_same(numbered, ids)
    assert_same(found, split)


def test_a_file_that_states_its_vertices_keeps_isolated_ones(tmp_path: Path) -> None:
    matrix = tmp_path / "a.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n9 9 3\n2 4\n4 2\n5 5\n")
    _, ids, _, split = on_one_machine(2, 1, file=str(matrix))
    found, numbered = over_ranks(2, 1, file=str(matrix))
    assert (numbered.first, numbered.vertex_count) == (1, 9)
    assert_same(numbered, ids)
    assert_same(found, split)


@pytest.mark.parametrize(
    ("kind", "edges", "vertices", "in_files"),
    [
        ("sparse", 800_000, 150_000, False),
        ("sparse", 800_000, 400_000, True),
        ("text", 1_000_000, 150_000, False),
    ],
)
def test_what_does_not_fit_the_memory_is_on_disk(
    tmp_path: Path, kind: str, edges: int, vertices: int, in_files: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gravel.stages.distributing import rows

    ranges: list[int] = []
    kept: set[bool] = set()
    made = rows.SpilledRows.__init__

    def noted(self: Any, *given: Any) -> None:
        made(self, *given)
        ranges.append(len(self.bounds) - 1)
        kept.add(type(self._counts) is numpy.ndarray and self._counts.base is None)

    monkeypatch.setattr(rows.SpilledRows, "__init__", noted)
    names = write_files(tmp_path, kind, "parquet", 3, edges=edges, vertices=vertices)
    asked: dict[str, Any] = {"files": names, "memory": 16 << 20}
    _, ids, _, split = on_one_machine(16, 8, **asked)
    found, numbered = over_ranks(16, 8, **asked)
    assert max(ranges) > 1
    # Counts of delegates' rows are in memory always.
    assert (False in kept) == in_files
    assert_same(numbered, ids)
    assert_same(found, split)


def test_vertices_that_do_not_fit_the_memory_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target\n" + "".join(f"{each},{each + 1}\n" for each in range(500_000)))
    with pytest.raises(StageError, match="500,001 vertices leave 0 of 1,048,576 bytes") as refused:
        over_ranks(16, 8, file=str(path), memory=16 << 20)
    assert "as many workers as there are ranks" in str(refused.value.hint)


def test_plans_refuse_too_little_memory_where_vertices_are_known(tmp_path: Path) -> None:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 33)
    path = tmp_path / "a.csv"
    path.write_text("source,target\n" + "".join(f"{each},{each + 1}\n" for each in range(3000)))
    given: dict[str, Any] = {"file": str(path), "ranks": 4, "memory": 16 << 20}
    asked = DistributeParameters(**given, expect={"vertices": 10_000_000})
    refusal = STAGE.estimate(asked, {}, machine).refusal
    assert "10,000,000 vertices leave 0 of 16,777,216 bytes" in refusal
    fits = DistributeParameters(**given, expect={"vertices": 6_000_000})
    assert STAGE.estimate(fits, {}, machine).refusal == ""
    guessed = STAGE.estimate(DistributeParameters(**given), {}, machine)
    assert (guessed.refusal, guessed.outputs_guessed) == ("", True)


def test_a_row_that_does_not_fit_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "star.csv"
    path.write_text("source,target\n" + 400 * "".join(f"0,{leaf}\n" for leaf in range(1, 2001)))
    with pytest.raises(StageError, match=r"one vertex has 800,000 arcs") as refused:
        over_ranks(4, 8, file=str(path), memory=16 << 20)
    assert "give `memory` more" in str(refused.value.hint)


def test_it_says_how_far_ranks_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.distributing.rank.edges_at_once", lambda memory, ranks, **_: 40)
    names = write_files(tmp_path, "sparse", "parquet", 3)
    heard: list[tuple[int, int, str]] = []

    class Told(PlainContext):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if unit != "files" and total is not None:
                heard.append((done, total, unit))

    distribute(Told(), DistributeParameters(files=names, ranks=3, threshold=8))
    for unit in ("ids sorted", "ids numbered", "edges counted", "edges divided"):
        done = [each for each, _, of in heard if of == unit]
        (total,) = {total for _, total, of in heard if of == unit}
        assert len(done) > 3, unit
        assert done == sorted(done)
        assert done[-1] == total
        assert total == (600 if "edges" in unit else total)


@pytest.mark.parametrize(
    "asked",
    [
        {"filter": "kind == 'paid'"},
        {"columns": {"source": "target", "target": "source"}},
        {"ids": "text"},
        {"expect": {"edges": 600}},
    ],
)
def test_it_takes_what_ingest_does(tmp_path: Path, asked: dict[str, Any]) -> None:
    source, target = random_ends("dense")
    kinds = ["paid" if each % 3 else "open" for each in range(len(source))]
    for number in range(2):
        rows = slice(300 * number, 300 * number + 300)
        write_parquet(tmp_path / f"{number}.parquet", source[rows], target[rows], kind=kinds[rows])
    given: dict[str, Any] = {"files": [str(tmp_path / f"{number}.parquet") for number in range(2)]}
    given |= {"columns": {"source": "source", "target": "target"}, **asked}
    _, ids, _, split = on_one_machine(3, 8, **given)
    found, numbered = over_ranks(3, 8, **given)
    assert_same(numbered, ids)
    assert_same(found, split)


def test_other_counts_than_are_expected_are_refused(tmp_path: Path) -> None:
    names = write_files(tmp_path, "dense", "csv", 2)
    with pytest.raises(StageError, match="the graph has 600 edges, and 601 are expected"):
        over_ranks(2, 8, files=names, expect={"edges": 601})


def test_files_of_two_kinds_of_ids_are_refused(tmp_path: Path) -> None:
    names = write_files(tmp_path, "dense", "csv", 2)
    (tmp_path / "names.csv").write_text("source,target\nana,bob\n")
    with pytest.raises(
        StageError, match="it has ids that are texts, and 2 others of the files have ids that"
    ):
        over_ranks(2, 8, files=[*names, str(tmp_path / "names.csv")])


def test_files_of_two_schemas_are_refused(tmp_path: Path) -> None:
    names = write_files(tmp_path, "dense", "parquet", 2)
    table = pyarrow.table({"payer": [1, 2], "payee": [2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "other.parquet")
    with pytest.raises(StageError, match="it has the columns source payer, target payee, and 2 others"):
        over_ranks(2, 8, files=[*names, str(tmp_path / "other.parquet")])


def test_a_null_id_is_refused_with_its_row(tmp_path: Path) -> None:
    names = write_files(tmp_path, "dense", "parquet", 2)
    table = pyarrow.table({"source": [1, None], "target": [2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "gap.parquet")
    with pytest.raises(StageError, match="null") as refused:
        over_ranks(2, 8, files=[*names, str(tmp_path / "gap.parquet")])
    assert "gap.parquet" in str(refused.value.file)


def test_ranks_may_be_more_than_edges_and_have_no_share(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("source,target\n7,9\n9,9\n")
    _, ids, _, split = on_one_machine(7, 0, file=str(path))
    found, numbered = over_ranks(7, 0, file=str(path))
    assert found.arc_count == 2
    assert_same(numbered, ids)
    assert_same(found, split)


@pytest.mark.parametrize("threshold", [0, 1000, "auto"])
def test_every_vertex_or_none_may_be_a_delegate(tmp_path: Path, threshold: int | str) -> None:
    names = write_files(tmp_path, "sparse", "parquet", 3)
    _, _, _, split = on_one_machine(3, threshold, files=names)
    found, _ = over_ranks(3, threshold, files=names)
    assert_same(found, split)


def test_files_without_edges_are_refused(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{number}.csv") for number in range(2)]
    for name in names:
        Path(name).write_text("source,target\n")
    with pytest.raises(StageError, match="none of the 2 files has an edge"):
        over_ranks(2, 8, files=names)


@pytest.mark.parametrize("algorithm", ["bfs", "components"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_its_ranks_verify_what_was_searched(tmp_path: Path, algorithm: str, ranks: int) -> None:
    names = write_files(tmp_path, "sparse", "parquet", 3)
    _, _, graph, _ = on_one_machine(ranks, 8, files=names)
    found, _ = over_ranks(ranks, 8, files=names)
    sources = {"sources": {"random": 3, "seed": 2}} if algorithm == "bfs" else {}
    asked = TraverseParameters(algorithm=algorithm, **sources)
    searched, _ = traverse(PlainContext(), asked, input=found)
    expected, _ = traverse(PlainContext(), asked, input=graph)
    for name in ("sources", "distance", "component"):
        assert numpy.array_equal(getattr(searched, name), getattr(expected, name)), name
    made = verify(PlainContext(), VerifyParameters(), graph=found, traversal=searched)
    assert {record["on"] for record in made.checks} == {"ranks"}
    label = "distance" if algorithm == "bfs" else "component"
    labels = getattr(searched, label).copy()
    labels[..., labels.shape[-1] // 2] += 1
    wrong = dataclasses.replace(searched, **{label: labels})
    with pytest.raises(VerificationFailed):
        verify(PlainContext(), VerifyParameters(), graph=found, traversal=wrong)


def test_stripes_are_not_verified_by_their_ranks(tmp_path: Path) -> None:
    names = write_files(tmp_path, "dense", "csv", 2)
    _, _, graph, _ = on_one_machine(2, 8, files=names)
    striped = partition(PlainContext(), PartitionParameters(ranks=2, scheme="striped"), input=graph)
    searched, _ = traverse(PlainContext(), TraverseParameters(sources={"random": 1}), input=graph)
    with pytest.raises(StageError, match="ranks check a symmetric partition by degree"):
        verify(PlainContext(), VerifyParameters(), graph=striped, traversal=searched)
