"""What the command line says of results that are not written, and does with them."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.workflow.loading import load_workflow
from tests.drills.gravel import QUICKSTART, Gravel, call_inside, session, wait_until_gone

WORKFLOW = """\
workflow: small
parameters: {keep: auto}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 6, edge_factor: 8, seed: 1}}, keep: "${keep}"}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, algorithm: bfs, sources: [1, 5]}
  check: {stage: verify, graph: graph, traversal: bfs}
"""
BOTH = r"not written: made in [\d.]+ s, read in under 1 ms"


def made(folder: Path, text: str = WORKFLOW, *words: str) -> Gravel:
    folder.mkdir(exist_ok=True)
    file = folder / "small.yaml"
    file.write_text(text)
    gravel = Gravel(folder / "cache", file, inside=True)
    gravel.run("--remake", "always", *words)
    return gravel


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Gravel:
    return made(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def gravel(filled: Gravel, tmp_path: Path) -> Gravel:
    """A cache of its own, in which edges and graph are not written."""
    shutil.copytree(filled.cache, tmp_path / "cache")
    shutil.copy(filled.file, tmp_path)
    return Gravel(tmp_path / "cache", tmp_path / filled.file.name, inside=True)


def asked(gravel: Gravel, *words: str, expect: int = 0) -> str:
    """Return what a verb that takes no workflow prints."""
    program = gravel.words("x")[:3]
    done = call_inside([*program, *words, "--cache", str(gravel.cache)])
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def plan(gravel: Gravel, *words: str) -> str:
    done = call_inside(gravel.words("plan", "--backend", "cpu", *words))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def line(text: str, start: str) -> str:
    return next(each for each in text.splitlines() if re.match(start, each))


def ids(gravel: Gravel) -> dict[str, Any]:
    return {stage["key"]: stage["outputs"] for stage in gravel.records()[-1]["stages"]}


def test_plan_tells_both_times(gravel: Gravel) -> None:
    text = plan(gravel)
    assert re.match(rf"not needed +edges +{BOTH}$", line(text, "not needed +edges"))
    assert re.match(r"cached +check", line(text, "cached +check"))
    assert re.search(rf"will run +edges .*{BOTH}$", plan(gravel, "--force", "bfs"), re.MULTILINE)
    assert "keep: true asks for it" in line(plan(gravel, "--keep", "edges"), "will run +edges")
    assert "made and stored" in line(plan(gravel, "--only", "edges"), "will run +edges")
    listed = json.loads(plan(gravel, "--json"))["stages"]
    assert [stage["not_written"] for stage in listed] == [True, True, False, False]


def test_show_tells_both_times(gravel: Gravel) -> None:
    edges = ids(gravel)["edges"][0]
    for name in ("edges", edges[:12]):
        text = asked(gravel, "show", name)
        assert re.search(BOTH, text)
        assert f"EdgeList {edges}" in text
        assert "gravel run FILE --keep edges" in text
    assert "input: EdgeList" in asked(gravel, "show", "graph")
    assert "(not written)" in asked(gravel, "show", "bfs")
    body = json.loads(asked(gravel, "show", edges[:12], "--json"))[0]
    assert body["not_written"].keys() == {"seconds", "read_seconds"}
    assert body["kind"] == "EdgeList"


def test_cache_ls_tells_both_times(gravel: Gravel) -> None:
    text = asked(gravel, "cache", "ls")
    assert re.search(rf"EdgeList +- .*edges of small; {BOTH}", text)
    assert "Graph" not in asked(gravel, "cache", "ls", "--kind", "EdgeList")
    body = json.loads(asked(gravel, "cache", "ls", "--json"))
    left_out = {each["kind"]: each for each in body if "not_written" in each}
    assert left_out.keys() == {"EdgeList", "Graph"}
    assert left_out["EdgeList"]["bytes_on_disk"] == 0
    assert all("path" in each for each in body if "not_written" not in each)


def test_a_warm_run_makes_nothing(gravel: Gravel) -> None:
    before = ids(gravel)
    for _ in range(3):  # the plan is cached by the second, and answers the third
        gravel.run()
        assert gravel.states() == {
            "edges": "not needed",
            "graph": "not needed",
            "bfs": "cached",
            "check": "cached",
        }
        assert ids(gravel) == before


def test_keep_stores_a_result(gravel: Gravel) -> None:
    before = ids(gravel)
    gravel.run("--keep", "edges", "--remake", "always")
    assert gravel.states() == {"edges": "computed", "graph": "not needed", "bfs": "cached", "check": "cached"}
    assert ids(gravel) == before
    assert gravel.artifact("edges").is_dir()
    assert re.match(r"cached +edges", line(plan(gravel), "cached +edges"))
    gravel.run("--keep", "nothing", expect=2)


def test_keep_of_the_workflow_stores_a_result(gravel: Gravel) -> None:
    gravel.run("--set", "keep=true")
    assert gravel.states()["edges"] == "computed"
    assert gravel.artifact("edges").is_dir()


def test_export_is_served(gravel: Gravel, tmp_path: Path) -> None:
    gravel.export("bfs", tmp_path / "warm.csv")
    anew = Gravel(tmp_path / "anew", gravel.file, inside=True)
    anew.export("bfs", tmp_path / "cold.csv")
    assert (tmp_path / "warm.csv").read_bytes() == (tmp_path / "cold.csv").read_bytes()


def test_the_report_is_made(gravel: Gravel) -> None:
    gravel.run("--force", "check")
    record = gravel.records()[-1]
    assert record["report"] is not None
    assert "not written: made in" in Path(record["report"]).with_suffix(".json").read_text()


def test_graph500_says_which_command_stores_the_edges(gravel: Gravel) -> None:
    text = asked(gravel, "report", "--format", "graph500")
    assert "the input list is not in the cache" in text
    assert "--only edges --keep edges" in text
    gravel.run("--only", "edges", "--keep", "edges")
    gravel.run()
    assert "multiple edges and self-loops included" in asked(gravel, "report", "--format", "graph500")


def test_gc_and_verify_pass_it_by(gravel: Gravel) -> None:
    text = asked(gravel, "cache", "gc", "--yes")
    assert "0 recipes" in text
    assert gravel.verify()["damaged"] == {}
    gravel.run()
    assert set(gravel.states().values()) == {"not needed", "cached"}


def test_push_leaves_it_behind_with_a_sentence(gravel: Gravel, tmp_path: Path) -> None:
    other = tmp_path / "other"
    text = asked(gravel, "cache", "push", str(other))
    assert "2 recipes stayed: results that are faster to make again than to read" in text
    assert "2 recipes and 1 run" in text
    there = Gravel(other, gravel.file, inside=True)
    assert len(there.recipes()) == 2
    assert there.verify()["damaged"] == {}
    there.run()
    assert there.states() == {"edges": "computed", "graph": "computed", "bfs": "cached", "check": "cached"}
    assert ids(there) == ids(gravel)
    third = Gravel(tmp_path / "third", gravel.file, inside=True)
    pulled = asked(third, "cache", "pull", str(gravel.cache), "--run", gravel.records()[-1]["run"])
    assert "2 recipes stayed" in pulled


def test_a_value_that_keep_does_not_take(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(WORKFLOW)
    with pytest.raises(WorkflowError, match="`keep` is 'maybe', and auto, true or false is expected"):
        load_workflow(file, {"keep": "maybe"})
    kept = [load_workflow(file, {"keep": text}).stages["edges"].keep for text in ("auto", "true", "false")]
    assert kept == ["auto", True, False]


def test_of_equal_stage_runs_the_stronger_wish_holds(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    for other, expected in (("false", "auto"), ("true", True), ("auto", "auto")):
        same = WORKFLOW.splitlines()[3].replace("edges:", "same: ").replace('"${keep}"', other)
        file.write_text(f"{WORKFLOW}{same}\n")
        assert build_plan(load_workflow(file)).runs["edges"].keep == expected


SMALL = {
    "quickstart": ("scale=7", "sources=2"),
    "components": ("scale=6",),
    "orderings": ("scale=6", "sources=2"),
    "order_compression": ("scale=6", "sources=2"),
    "batches": ("scale=6", "sources=3"),
}


@pytest.mark.parametrize(
    "name",
    [name if name == "quickstart" else pytest.param(name, marks=pytest.mark.slow) for name in SMALL],
)
def test_shipped_workflows_have_the_same_ids_written_or_not(name: str, tmp_path: Path) -> None:
    file = QUICKSTART.with_name(f"{name}.yaml")
    plan = build_plan(load_workflow(file))
    known = plan.workflow.parameters
    settings = [word for each in SMALL[name] if each.split("=")[0] in known for word in ("--set", each)]
    found = []
    for remake in ("always", "never"):
        gravel = Gravel(tmp_path / remake, file, tuple(settings), inside=True)
        gravel.run("--remake", remake, "--backend", "cpu")
        record = gravel.records()[-1]
        stages = [each for each in record["stages"] if not plan.runs[each["key"]].stage.measures]
        found.append({each["key"]: each["outputs"] for each in stages if each["stage"] != "report"})
        assert gravel.verify()["damaged"] == {}
    written, all_ids = (
        {path.stem for path in (tmp_path / remake / "artifacts").iterdir()} for remake in ("always", "never")
    )
    assert found[0] == found[1]
    assert len(written) < len(all_ids), "some were left out"


@pytest.mark.slow
def test_a_kill_leaves_no_half_state(tmp_path: Path) -> None:
    """Of a recipe's record and its result, the cache never holds what does not belong together."""
    dice = random.Random(25)
    whole = made(tmp_path / "whole")
    reference = ids(whole)
    gravel = Gravel(tmp_path / "cache", whole.file)
    started = time.monotonic()
    gravel.run("--remake", "always", "--backend", "cpu")
    lasts = time.monotonic() - started
    for _ in range(6):
        shutil.rmtree(gravel.cache)
        process = gravel.start("--remake", "always", "--backend", "cpu", "--cluster", "inline")
        time.sleep(lasts * dice.uniform(0.3, 1.0))
        if session(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        wait_until_gone(process.pid, 20)
        inside = Gravel(gravel.cache, gravel.file, inside=True)
        inside.run("--backend", "cpu")
        assert ids(inside)["bfs"][0] == reference["bfs"][0]
        assert ids(inside)["edges"] == reference["edges"]
        assert inside.verify()["damaged"] == {}
        inside.run("--backend", "cpu")
        assert set(inside.states().values()) <= {"not needed", "cached"}


@pytest.mark.slow
def test_two_runs_at_once_leave_one_answer(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole")
    gravel = Gravel(tmp_path / "cache", whole.file)
    words = ("--remake", "always", "--backend", "cpu", "--cluster", "inline")
    both = [gravel.start(*words) for _ in range(2)]
    for process in both:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    for record in gravel.records():
        found = {stage["key"]: stage["outputs"] for stage in record["stages"]}
        for key in ("edges", "graph"):
            assert found[key] == ids(whole)[key]
    assert gravel.verify()["damaged"] == {}
    inside = replace(gravel, inside=True)
    inside.run("--backend", "cpu")
    assert set(inside.states().values()) == {"not needed", "cached"}


@pytest.mark.slow
def test_other_processes_and_threads_make_the_same_again(tmp_path: Path) -> None:
    settings = ("--set", "scale=10", "--set", "sources=2")
    gravel = Gravel(tmp_path / "cache", QUICKSTART, settings, inside=True)
    gravel.run("--remake", "always", "--backend", "cpu")
    before = ids(gravel)
    replace(gravel, inside=False).run(
        "--from", "bfs", "--backend", "cpu", "--cluster", "local", "--workers", "2"
    )
    assert gravel.states()["edges"] == "computed"
    after = ids(gravel)
    assert all(after[key] == before[key] for key in ("edges", "graph", "ordered", "split", "packed"))


@pytest.mark.gpu
@pytest.mark.parametrize(("first", "then"), [("cuda", "cpu"), ("cpu", "cuda")])
def test_a_gpu_and_the_cpu_make_the_same_again(first: str, then: str, tmp_path: Path) -> None:
    """What is left out is checked by its id, wherever it is made again."""
    settings = ("--set", "scale=10", "--set", "sources=2")
    gravel = Gravel(tmp_path / "cache", QUICKSTART, settings, inside=True)
    gravel.run("--remake", "always", "--backend", first)
    before = ids(gravel)
    gravel.run("--from", "bfs", "--backend", then)
    assert gravel.states()["edges"] == "computed"
    after = ids(gravel)
    for key in ("edges", "graph", "ordered", "split", "packed"):
        assert after[key] == before[key]
