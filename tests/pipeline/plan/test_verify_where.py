"""`on` of verify at the command line: what is refused, what `plan` says, and what the record says of it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli import main
from gravel.pipeline.store.cache import Cache

WORKFLOW = """\
workflow: where
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}, edge_factor: 4}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  bfs: {{stage: traverse, input: graph, sources: {{random: 3}}}}
  check: {{stage: verify, graph: graph, traversal: bfs{on}}}
"""


def written(folder: Path, on: str | None = None, scale: int = 8) -> Path:
    path = folder / "where.yaml"
    path.write_text(WORKFLOW.format(on="" if on is None else f", on: {on}", scale=scale))
    return path


def asked(verb: str, path: Path, *words: str) -> tuple[int, str]:
    out = io.StringIO()
    given = [verb, str(path), "--cache", str(path.parent / "cache"), *words]
    with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as stop:
        main.main(given)
    return int(stop.value.code or 0), out.getvalue()


def plan_of(path: Path, *words: str) -> dict[str, Any]:
    code, output = asked("plan", path, "--json", *words)
    assert code == 0, output
    return {stage["key"]: stage for stage in json.loads(output)["stages"]}


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_gpu_that_is_asked_for_and_not_there_is_refused(tmp_path: Path, verb: str) -> None:
    path = written(tmp_path, "cuda")
    code, output = asked(verb, path, "--backend", "cpu")
    assert code == 2
    assert f"{path}:6:3: error: check cannot run here: it needs a GPU: `on: cuda` asks for a GPU" in output
    assert "run it with --backend cuda on a machine that has a GPU, or leave `on` out" in output


def test_a_word_that_is_no_place_is_refused(tmp_path: Path) -> None:
    code, output = asked("plan", written(tmp_path, "gpu"), "--backend", "cpu")
    assert code == 2
    assert "where.yaml:6:" in output
    assert "'auto', 'cuda' or 'cpu'" in output


def test_plan_says_what_the_gpu_takes_and_why_the_cpu_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "1x16GiB")
    gpu = ("--backend", "cuda")
    check = plan_of(written(tmp_path), *gpu)["check"]
    assert check["device_bytes"] > 0
    assert check["note"] == ""
    check = plan_of(written(tmp_path, "cpu"), *gpu)["check"]
    assert (check["device_bytes"], check["note"]) == (0, "on the CPU: `on: cpu` asks for it")
    assert "on the CPU: `on: cpu` asks for it" in asked("plan", written(tmp_path, "cpu"), *gpu)[1]
    # 64 GiB of arcs beside nothing of labels: no GPU of 16 GiB has room for one row block and a table.
    large = written(tmp_path, scale=31)
    code, output = asked("plan", large, *gpu, "--host-memory", "100TiB", "--device-memory", "8GiB")
    assert "on the CPU: verification on a GPU takes at most 2,147,483,647 vertices" in output, (code, output)
    large = written(tmp_path, scale=28)
    code, output = asked("plan", large, *gpu, "--host-memory", "100TiB", "--device-memory", "4GiB")
    assert "on the CPU: verification needs" in output, (code, output)
    assert "GiB of GPU memory, and 4 GiB are free" in output
    code, output = asked(
        "plan", written(tmp_path, "cuda", 28), *gpu, "--host-memory", "100TiB", "--device-memory", "4GiB"
    )
    assert code == 2
    assert "leave `on` out to verify on the CPU" in output


def test_a_run_on_the_cpu_says_so_in_its_record(tmp_path: Path) -> None:
    for on in (None, "cpu"):
        path = written(tmp_path, on)
        code, output = asked("run", path, "--backend", "cpu", "--cluster", "inline", "--quiet")
        assert code == 0, output
        check = plan_of(path, "--backend", "cpu")["check"]
        assert check["state"] == "cached"
        (name,) = check["outputs"]
        records = Cache(tmp_path / "cache").open(name).checks
        assert {record["on"] for record in records} == {"cpu"}
