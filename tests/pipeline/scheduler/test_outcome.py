"""What a CPU cannot run is refused, or, as one value of a matrix, shown as not run while the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.kernels.strategy import strategies_in
from gravel.pipeline.cli import main

GPU_ALONE = sorted(name for name, each in strategies_in("gravel.kernels.bfs").items() if each.cpu is None)
ON_CPU = ", ".join(
    ["auto", *sorted(name for name, each in strategies_in("gravel.kernels.bfs").items() if each.cpu)]
)

WORKFLOW = """\
workflow: few
matrix:
  strategy: [{strategies}]
stages:
  edges: {{stage: ingest, source: {{grid: {{dimensions: [5, 4]}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  bfs:
    stage: traverse
    input: graph
    strategy: "${{strategy}}"
    sources: {{random: 3}}
  check: {{stage: verify, graph: graph, traversal: bfs}}
  page: {{stage: report, over: matrix, inputs: [graph, bfs, check]}}
"""


def written(folder: Path, *strategies: str) -> Path:
    path = folder / "few.yaml"
    path.write_text(WORKFLOW.format(strategies=", ".join(strategies)))
    return path


def asked(verb: str, path: Path, *words: str) -> Result:
    inline = ("--cluster", "inline") if verb == "run" else ()
    cache = ("--cache", str(path.parent / "cache"), "--backend", "cpu")
    return CliRunner().invoke(main, [verb, str(path), *cache, *inline, *words])


def report(folder: Path) -> dict[str, Any]:
    (page,) = (folder / "cache" / "runs").glob("*/report.json")
    (body,) = json.loads(page.read_text())["reports"]
    return {section["title"]: section for section in body["sections"]}


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize("strategy", GPU_ALONE)
def test_a_strategy_of_gpus_alone_is_refused_on_the_cpu(tmp_path: Path, strategy: str, verb: str) -> None:
    path = written(tmp_path, strategy)
    result = asked(verb, path)
    assert result.exit_code == 2
    assert f"{path}:7:3: error: bfs[strategy={strategy}] cannot run here: it needs a GPU" in result.output
    assert f"on the CPU there are {ON_CPU}; or run it with --backend cuda" in result.output
    assert not list(tmp_path.glob("cache/runs/*"))


def test_backend_cuda_of_a_stage_is_refused_on_the_cpu(tmp_path: Path) -> None:
    path = written(tmp_path, "auto")
    path.write_text(
        path.read_text().replace("input: graph\n    str", "input: graph\n    backend: cuda\n    str")
    )
    result = asked("run", path)
    assert result.exit_code == 2
    assert "backend cuda is asked for, and this run is on the CPU" in result.output


def test_in_a_matrix_the_others_go_on(tmp_path: Path) -> None:
    path = written(tmp_path, "serial", "hybrid", "top_down")
    planned = asked("plan", path)
    assert planned.exit_code == 0
    reason = "needs a GPU: strategy hybrid has no CPU code"
    line = next(line for line in planned.output.splitlines() if "bfs[strategy=hybrid]" in line)
    assert line.startswith("not run")
    assert line.endswith(reason)
    first = asked("run", path)
    assert first.exit_code == 0
    assert f"bfs[strategy=hybrid]: not run: {reason}" in first.output
    assert ", 2 not run" in first.output
    sections = report(tmp_path)
    assert sections["Not run on this machine"]["rows"] == [["bfs[strategy=hybrid]", reason]]
    assert [row[0] for row in sections["Traversal times and rates"]["rows"]] == [
        "bfs[strategy=serial]",
        "bfs[strategy=top_down]",
    ]
    assert [row[1] for row in sections["What ran"]["rows"]] == [
        "gravel.kernels.bfs.cpu.serial:SerialSearch",
        "gravel.kernels.bfs.cpu.search:top_down",
    ]
    page = next(tmp_path.glob("cache/runs/*/report.html")).read_text()
    assert "Not run on this machine" in page
    words = ["--where", "strategy=hybrid", "--where", "strategy=two_phase"]
    assert asked("run", written(tmp_path, "serial", "hybrid", "two_phase"), *words).exit_code == 2


def test_what_is_not_run_is_still_so_when_all_else_is_cached(tmp_path: Path) -> None:
    path = written(tmp_path, "serial", "hybrid")
    assert asked("run", path).exit_code == 0
    for _ in range(2):
        again = asked("run", path)
        assert again.exit_code == 0
        assert "5 cached, 2 not run" in again.output
        assert "bfs[strategy=hybrid]: not run: needs a GPU" in again.output
    newest = max(tmp_path.glob("cache/runs/*/run.json"), key=lambda each: each.stat().st_mtime_ns)
    states = {
        stage["key"]: (stage["state"], stage["why"]) for stage in json.loads(newest.read_text())["stages"]
    }
    assert states["bfs[strategy=hybrid]"] == ("not run", ["needs a GPU: strategy hybrid has no CPU code"])
    assert states["check[strategy=hybrid]"] == ("not run", ["it needs bfs[strategy=hybrid]"])
    assert asked("plan", path).output.count("not run") == 3


def test_one_code_under_two_names_is_not_ranked(tmp_path: Path) -> None:
    path = written(tmp_path, "auto", "direction_optimizing")
    assert asked("run", path).exit_code == 0
    sections = report(tmp_path)
    table = sections["Every strategy on every graph"]
    assert [row[2] for row in table["rows"]] == ["same code as direction_optimizing", "same code as auto"]
    (row,) = sections["auto against the best"]["rows"]
    assert row[5].startswith("same code as")
    (ran,) = sections["What ran"]["rows"]
    assert ran[:3] == [
        "bfs[strategy=auto], bfs[strategy=direction_optimizing]",
        "gravel.kernels.bfs.cpu.search:direction_optimizing",
        "cpu",
    ]
