"""Recipes, the state of each run, and what each needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan import recipes, sources
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.model import Plan, RunStatus
from gravel.pipeline.plan.recipes import RecipeMaker, pseudo_ids
from gravel.pipeline.plan.sources import BLOCK, find_vertices
from gravel.pipeline.plan.status import plan_extents, plan_status
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Report, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.stage import Machine
from tests.pipeline.fake_stages import FAKES, ORDERINGS

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 30)


class Bench:
    """A cache and a workflow file that can be planned and, in pretence, run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "w.yaml"
        self.cache = Cache(folder / ".gravel", say=lambda message: None)
        self.hardware = "one core"

    def plan(self, text: str = ORDERINGS, overrides: dict[str, str] | None = None, **options: Any) -> Plan:
        self.file.write_text(text)
        return build_plan(load_workflow(self.file, overrides or {}, stages=FAKES), **options)

    def maker(self, plan: Plan) -> RecipeMaker:
        return RecipeMaker(plan, self.cache, FileDigests(self.cache.root), lambda stage: self.hardware)

    def status(self, plan: Plan, **options: Any) -> dict[str, RunStatus]:
        return {each.key: each for each in plan_status(plan, self.maker(plan), self.cache, **options)}

    def states(self, plan: Plan) -> dict[str, str]:
        return {key: status.state for key, status in self.status(plan).items()}

    def run(self, plan: Plan) -> dict[str, tuple[str, ...]]:
        """Put a small artifact into the cache for every output of every run."""
        known: dict[str, tuple[str, ...]] = {}
        maker = self.maker(plan)
        for key, run in plan.runs.items():
            recipe = maker.recipe(run, known)
            if not run.keep:
                known[key] = pseudo_ids(run, recipe.digest)
                continue
            with self.cache.writer() as writer:
                known[key] = tuple(
                    writer.publish(self.artifact(kind, recipe.digest)).id for kind in run.stage.outputs
                )
            file = str(plan.workflow.path.absolute())
            provenance = {"workflow": plan.workflow.name, "file": file, "key": key, "stage": run.stage.name}
            self.cache.remember(recipe, known[key], provenance)
        return known

    def artifact(self, kind: str, recipe: str) -> Artifact:
        if kind == "VertexIds":
            return VertexIds(ids=numpy.array([3, 5, 8, 13], numpy.int64), vertex_count=4)
        return Report(title=f"stands for the {kind} of {recipe}", sections=[])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_empty_cache_and_a_full_one(bench: Bench) -> None:
    plan = bench.plan()
    status = bench.status(plan)
    assert status["edges"].state == "will run"
    assert status["edges"].reasons == ("not computed before",)
    assert status["edges"].recipe is not None
    assert {s.state for key, s in status.items() if key != "edges"} == {"waits"}
    assert status["check[order=rcm,layout=csr]"].waits_on == ("graph", "bfs[order=rcm,layout=csr]")
    assert not bench.cache.root.exists()
    known = bench.run(plan)
    status = bench.status(plan)
    assert {each.state for each in status.values()} == {"cached"}
    assert {key: each.outputs for key, each in status.items()} == known


def test_a_change_reruns_what_rests_on_it(bench: Bench) -> None:
    bench.run(bench.plan())
    states = bench.states(bench.plan(ORDERINGS.replace("seed: 7", "seed: 8")))
    assert states["packed[order=rcm,layout=csr]"] == "cached"
    assert states["bfs[order=rcm,layout=csr]"] == "will run"
    assert states["check[order=rcm,layout=csr]"] == "waits"


def test_a_cosmetic_edit_reruns_nothing(bench: Bench) -> None:
    bench.run(bench.plan())
    text = ORDERINGS.replace("seed: 1", "seed:   0x1").replace("edge_factor: 16, ", "")
    text = text.replace("matrix:", "matrix:   # of experiments").replace("How vertex order", "As order")
    text = text.replace("{stage: symmetrize, input", "{about: x, stage: symmetrize, input")
    assert set(bench.states(bench.plan(text)).values()) == {"cached"}


def test_force_reruns_one_and_what_rests_on_it_waits(bench: Bench) -> None:
    bench.run(bench.plan())
    status = bench.status(bench.plan(force=["packed[order=rcm,layout=csr]"]))
    assert status["packed[order=rcm,layout=csr]"].state == "will run"
    assert status["packed[order=rcm,layout=csr]"].reasons == ("--force asks for it",)
    assert status["bfs[order=rcm,layout=csr]"].state == "waits"
    assert status["bfs[order=rcm,layout=varint]"].state == "cached"


def test_a_damaged_artifact_is_computed_again(bench: Bench) -> None:
    plan = bench.plan()
    known = bench.run(plan)
    record = bench.cache.describe(known["graph"][0])
    (record.path / record.files[0].path).unlink()
    status = bench.status(plan)
    assert status["graph"].state == "will run"
    assert "cannot be used" in status["graph"].reasons[0]
    assert status["ordered[order=rcm]"].state == "waits"


def test_what_is_not_kept_runs_only_where_it_is_needed(bench: Bench) -> None:
    text = ORDERINGS.replace("stage: reorder", "keep: false, stage: reorder")
    plan = bench.plan(text)
    known = bench.run(plan)
    assert known["ordered[order=rcm]"][0].startswith("recipe:")
    status = bench.status(plan)
    assert status["ordered[order=rcm]"].state == "not needed"
    assert status["bfs[order=rcm,layout=csr]"].state == "cached"
    again = bench.states(bench.plan(text, force=["packed[order=rcm,layout=csr]"]))
    assert again["ordered[order=rcm]"] == "will run"
    assert again["ordered[order=degree]"] == "not needed"
    forced = bench.states(bench.plan(text, force=["ordered[order=rcm]"]))
    assert forced["ordered[order=rcm]"] == "will run"
    assert forced["bfs[order=rcm,layout=csr]"] == "cached"
    ends_here = bench.states(bench.plan(text, only=["ordered"]))
    assert ends_here["ordered[order=rcm]"] == "will run"


def test_hardware_matters_to_what_measures_only(bench: Bench) -> None:
    plan = bench.plan()
    bench.run(plan)
    bench.hardware = "two cores"
    status = bench.status(plan)
    assert status["packed[order=rcm,layout=csr]"].state == "cached"
    bfs = status["bfs[order=rcm,layout=csr]"]
    assert (bfs.state, bfs.only_hardware) == ("will run", True)
    assert bfs.reasons[0] == "hardware: one core -> two cores"


FILE = """\
workflow: file
stages:
  edges: {stage: ingest, file: %s}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: %s}
"""


def test_a_file_counts_by_its_content_and_suffix(bench: Bench) -> None:
    for name in ("a.txt", "copy.txt", "a.mtx"):
        (bench.folder / name).write_text("1 2\n")
    bench.run(bench.plan(FILE % ("a.txt", "[3]")))
    assert set(bench.states(bench.plan(FILE % ("copy.txt", "[3]"))).values()) == {"cached"}
    assert bench.states(bench.plan(FILE % ("a.mtx", "[3]")))["edges"] == "will run"
    (bench.folder / "a.txt").write_text("1 3\n")
    status = bench.status(bench.plan(FILE % ("a.txt", "[3]")))
    assert status["edges"].state == "will run"
    assert status["edges"].reasons[0].startswith(f"file {bench.folder / 'a.txt'}: ")


def test_a_missing_file_has_its_place(bench: Bench) -> None:
    (bench.folder / "a.txt").write_text("1 2\n")
    with pytest.raises(RequestError) as caught:
        bench.status(bench.plan(FILE % ("b.txt", "[3]")))
    problem = caught.value.problems[0]
    assert problem.location is not None
    assert (problem.location.line, problem.location.column) == (3, 32)
    assert "a.txt" in (problem.hint or "")


@pytest.fixture
def searched(bench: Bench) -> tuple[Plan, dict[str, tuple[str, ...]]]:
    """A plan over a file that was run, and what it made."""
    (bench.folder / "a.txt").write_text("1 2\n")
    plan = bench.plan(FILE % ("a.txt", "[8, 3]"))
    return plan, bench.run(plan)


def test_sources_are_resolved_before_the_recipe(bench: Bench, searched: Any) -> None:
    plan, known = searched
    assert bench.maker(plan).resolve(plan.runs["bfs"], known).sources == [2, 0]  # type: ignore[attr-defined]
    assert bench.maker(plan).recipe(plan.runs["bfs"], known).parts["parameters"]["sources"] == [2, 0]
    with pytest.raises(RequestError, match=r"source 7 is not in the graph \(the nearest id that is: 8\)"):
        bench.status(bench.plan(FILE % ("a.txt", "[7]")))


def test_resolved_sources_are_remembered(bench: Bench, searched: Any) -> None:
    plan, known = searched
    maker = bench.maker(plan)
    maker.open_ids = lambda artifact_id: pytest.fail("the ids are opened again")
    assert maker.resolve(plan.runs["bfs"], known).sources == [2, 0]  # type: ignore[attr-defined]
    (memo,) = (bench.cache.root / "resolved").glob("*.json")
    memo.write_text(memo.read_text().replace('"vertices": [2', '"vertices": [3'))
    assert bench.maker(plan).resolve(plan.runs["bfs"], known).sources == [2, 0]  # type: ignore[attr-defined]


def test_resolved_sources_of_other_code_are_resolved_again(bench, searched, monkeypatch) -> None:
    plan, known = searched
    maker = bench.maker(plan)
    code = bench.folder / "sources.py"
    code.write_text(Path(sources.__file__).read_text() + "# repaired\n")
    monkeypatch.setattr(recipes, "__file__", str(bench.folder / "recipes.py"))
    monkeypatch.setattr(sources, "find_vertices", lambda ids, wanted, what: (1, 1))
    assert maker.resolve(plan.runs["bfs"], known).sources == [1, 1]


def test_sources_wait_for_ids_that_are_not_kept(bench: Bench) -> None:
    (bench.folder / "a.txt").write_text("1 2\n")
    text = (FILE % ("a.txt", "[8]")).replace("stage: ingest", "keep: false, stage: ingest")
    plan = bench.plan(text)
    status = bench.status(plan)
    assert status["edges"].state == "will run"
    with_graph = {key: run for key, run in plan.runs.items() if key != "bfs"}
    bench.run(Plan(plan.workflow, with_graph, frozenset(with_graph)))
    status = bench.status(plan)
    assert status["graph"].state == "cached"
    assert (status["bfs"].state, status["bfs"].waits_on) == ("waits", ("edges",))
    assert status["edges"].state == "will run" or status["bfs"].waits_on == ("edges",)


@pytest.mark.parametrize("count", [1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_ids_are_found_by_blocks(count: int) -> None:
    ids = numpy.arange(count, dtype=numpy.int64) * 3 + 10
    reads: list[slice] = []

    class Counted:
        def __getitem__(self, key: slice) -> Any:
            reads.append(key)
            return ids[key]

    wanted = [int(ids[at]) for at in {0, count // 2, count - 1}]
    found = find_vertices(VertexIds(ids=Counted(), vertex_count=count), wanted)  # type: ignore[arg-type]
    assert found == tuple((each - 10) // 3 for each in wanted)
    assert all(each.stop - each.start == BLOCK for each in reads)


def test_consecutive_ids_need_no_array() -> None:
    ids = VertexIds(first=1, vertex_count=4)
    assert find_vertices(ids, [1, 4]) == (0, 3)
    with pytest.raises(StageError, match=r"0 \(the nearest id that is: 1\), 9 \(the nearest id that is: 4\)"):
        find_vertices(ids, [0, 2, 9])
    with pytest.raises(StageError, match="has no vertices"):
        find_vertices(VertexIds(vertex_count=0), [1])


def test_needs_follow_from_what_is_cached(bench: Bench) -> None:
    plan = bench.plan(FILE.replace("file: %s", "source: {rmat: {scale: 3}}") % "[3]")
    known = bench.run(plan)
    size = bench.cache.describe(known["edges"][0]).extent.bytes
    needs = plan_extents(plan, bench.cache, MACHINE, known)
    assert needs["graph"].host_bytes == 2 * (1000 + size)
    status = bench.status(plan, machine=lambda stage: MACHINE)
    assert status["graph"].need == needs["graph"]


def test_needs_follow_from_estimates_as_far_as_there_are_some(bench: Bench, monkeypatch) -> None:
    plan = bench.plan()
    needs = plan_extents(plan, None, MACHINE)
    assert list(needs) == list(plan.runs)
    assert [needs[key].host_bytes for key in ("edges", "graph", "ordered[order=rcm]")] == [2000, 4000, 6000]

    def refuse(*given: Any) -> Any:
        raise StageError("no such file")

    monkeypatch.setitem(vars(FAKES["symmetrize"]), "estimate", refuse)
    assert list(plan_extents(plan, None, MACHINE)) == ["edges"]
