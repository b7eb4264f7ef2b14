"""`gravel diff`: what two runs have not in common."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli.diff import _lines
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.comparison import compare_runs, figures
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Measurement, Verification
from tests.pipeline.cli.test_run import file, gravel, look, run
from tests.pipeline.cli_case import loaded
from tests.pipeline.samples import publish

__all__ = ["file"]


def diff(file: Path, *words: str) -> str:
    return gravel("diff", *words, "--cache", str(file.parent / "cache")).output


def names(file: Path) -> list[str]:
    """The runs, the oldest first."""
    return [each["run"] for each in reversed(json.loads(look(file, "runs", "--json")))]


def stage(found: dict[str, Any], key: str) -> dict[str, Any]:
    return next(each for each in found["stages"] if each["keys"][1] == key)


def test_a_parameter_and_what_follows_from_it(file: Path):
    run(file)
    run(file, "--set", "value=5")
    old, new = names(file)
    found = json.loads(diff(file, old, new, "--json"))
    assert [each["run"] for each in found["runs"]] == [old, new]
    assert {"name": "parameter value", "old": 1, "new": 5} in found["asked"]
    edges = stage(found, "edges")
    assert edges["parameters"] == [{"name": "value", "old": 1, "new": 5}]
    assert {"name": "VertexIds vertex_count", "old": 4, "new": 8} in edges["results"]
    assert [each["name"] for each in stage(found, "sum[by=2]")["parameters"]] == ["inputs"]
    told = diff(file, old, "last")
    assert "  parameter value  1 -> 5\n" in told
    assert "4 stage runs in both: 0 with the same results, 4 without" in told
    assert "\nedges\n  value  1 -> 5\n" in told


def test_runs_that_agree(file: Path):
    run(file)
    run(file)
    told = diff(file, *names(file))
    assert told.splitlines()[-1] == "4 stage runs in both: 4 with the same results, 0 without"
    found = json.loads(diff(file, "last", "last", "--json"))
    assert found["asked"] == []
    assert all(each["same"] and not each["parameters"] for each in found["stages"])


def test_the_same_result_of_other_parameters_is_the_same(file: Path):
    """Another recipe, and the same number."""
    run(file, "--only", "sum", "--where", "by=2")
    text = file.read_text()
    file.write_text(text.replace('"${by}", fail', '"${by}", sleep: 0.01, fail'))
    run(file, "--only", "sum", "--where", "by=2")
    found = json.loads(diff(file, *names(file), "--json"))
    sums = stage(found, "sum[by=2]")
    assert sums["same"] is True
    assert [each["name"] for each in sums["parameters"]] == ["sleep"]


def test_stage_runs_that_only_one_has(file: Path):
    run(file)
    run(file, "--where", "by=2", "--only", "sum")
    file.write_text(file.read_text().replace("matrix: {by: [2, 3]}", "").replace("${by}", "2"))
    run(file, "--only", "sum")
    first, second, third = names(file)
    found = json.loads(diff(file, first, second, "--json"))
    assert (found["only_old"], found["only_new"]) == (["sum[by=3]", "all"], [])
    assert "only in the new run: sum[by=3], all\n" in diff(file, second, first)
    found = json.loads(diff(file, second, third, "--json"))
    assert stage(found, "sum")["keys"] == ["sum[by=2]", "sum"], "one of an entry is paired whatever its axes"
    assert stage(found, "sum")["same"] is True
    assert {"name": "matrix by", "old": [2, 3], "new": None} in found["asked"]


def test_a_failure_and_a_result_that_is_gone(file: Path):
    run(file)
    run(file, "--set", "fail=stage")
    run(file, "--set", "value=4")
    first, second, third = names(file)
    told = diff(file, first, second)
    assert "sum[by=2]\n  computed -> failed\n  new error: " in told
    assert "all\n  computed -> skipped\n" in told
    cache = file.parent / "cache"
    outputs = json.loads((cache / "runs" / first / "run.json").read_text())["artifacts"]
    for each in outputs:
        (cache / "artifacts" / f"{each}.json").unlink()
    shutil.rmtree(cache / "recipes")
    told = diff(file, first, third)
    assert "a result of one of them is not in the cache any more" in told
    assert "the recipe of one of them is not in the cache any more" in told


MANY = """\
workflow: many
parameters: {value: 1, fail: ""}
matrix: {by: [1, 2, 3, 4, 5, 6, 7, 8, 9]}
stages:
  edges: {stage: make, value: "${value}", marks: MARKS}
  sum:   {stage: add, inputs: [edges], value: "${by}", marks: MARKS}
  more:  {stage: add, inputs: [sum], value: "${by}", marks: MARKS}
  last:  {stage: add, over: matrix, inputs: [more], value: 9, fail: "${fail}", marks: MARKS}
"""


def test_the_twenty_most_important_differences_come_first(file: Path):
    file.write_text(MANY.replace("MARKS", str(file.parent / "marks")))
    run(file)
    run(file, "--set", "value=5", "--set", "fail=stage")
    told, every = diff(file, *names(file)), diff(file, *names(file), "--all")
    assert "differences more: --all shows them" in told.splitlines()[-1]
    assert "differences more" not in every
    assert len(told.splitlines()) < len(every.splitlines())
    lines = told.splitlines()
    assert lines.index("  parameter value  1 -> 5") < lines.index("last")
    stages = [line for line in lines if line and not line.startswith(("  ", "old ", "new "))]
    assert stages[1] == "last", "what failed comes before results that are others"
    assert "  new error: " in told
    assert "more[by=9]" in every


def test_a_run_beside_itself_and_one_that_is_not_there(file: Path):
    run(file)
    run(file, "--set", "value=5")
    first, second = names(file)
    told = diff(file, "last", "last")
    assert told.splitlines() == [
        f"both are the run {second}: a run does not differ from itself",
        f"compare it with another one, for example: gravel diff {first} {second}",
    ]
    with pytest.raises(RequestError, match="there is no run 'nothing'"):
        diff(file, "last", "nothing")


def measurement(*searches: tuple[float, int, int]) -> Measurement:
    about = {"algorithm": "bfs", "strategy": "top_down", "reason": "", "backend": "cpu", "hardware": "a CPU"}
    made = [{"milliseconds": ms, "edges": edges, "arcs": arcs, "levels": {}} for ms, edges, arcs in searches]
    return Measurement(**about, prepare_milliseconds=1.5, searches=made)


def test_figures_of_measurements_and_verifications(tmp_path: Path):
    cache = Cache(tmp_path)
    times = publish(cache, measurement((1.0, 10**6, 2 * 10**6), (2.0, 10**6, 2 * 10**6), (8.0, 0, 0)), "m")
    told = dict(figures(cache.describe(times.id)))
    assert told["median ms"] == 2.0
    # Of 1 and 0.5; a search that reached nothing has no rate.
    assert told["median GTEPS (distinct edges)"] == 0.75
    assert told["median G stored arcs/s"] == 1.5
    assert (told["searches"], told["prepare ms"]) == (3, 1.5)
    empty = publish(cache, measurement(), "n")
    assert dict(figures(cache.describe(empty.id)))["median GTEPS (distinct edges)"] is None
    checks = [{"check": "levels", "passed": True}, {"check": "tree", "passed": False}]
    verified = publish(cache, Verification(algorithm="bfs", checks=checks, skipped=["sources"]), "v")
    told = {"check levels": "passed", "check tree": "FAILED", "check sources": "not made"}
    assert dict(figures(cache.describe(verified.id))) == told


def test_rates_are_compared_in_per_cent(tmp_path: Path):
    cache = Cache(tmp_path)
    records = []
    for position, ms in enumerate((1.0, 2.0)):
        made = publish(cache, measurement((ms, 10**6, 10**6)), f"m{position}")
        one = {"key": "bfs", "entry": "bfs", "stage": "traverse", "state": "computed", "seconds": ms / 2}
        one |= {"outputs": [made.id], "recipe": None, "error": None}
        workflow = {"path": "w.yaml", "parameters": {}, "matrix": {}}
        run = {"run": f"r{position}", "state": "done", "seconds": 1.0}
        records.append(run | {"stages": [one], "workflow": workflow})
    lines = list(_lines(compare_runs(cache, *records)))
    assert "  median GTEPS (distinct edges)  1 -> 0.5  (-50.0%)" in lines
    assert lines[-2:] == ["times of 1 of 1 stage runs differ", "  bfs  0.50 s -> 1.00 s  (+100.0%)"]


def test_a_comparison_imports_nothing_heavy(file: Path):
    run(file)
    run(file, "--set", "value=5")
    told, heavy = loaded("diff", names(file)[0], "last", "--cache", str(file.parent / "cache"))
    assert "parameter value  1 -> 5" in told
    assert not heavy
