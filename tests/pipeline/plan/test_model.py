"""What `plan` says of where stages run, what is refused, and what the record of a verification says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.pipeline.store.cache import Cache

VERIFIED = """\
workflow: where
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}, edge_factor: 4}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  bfs: {{stage: traverse, input: graph, sources: {{random: 3}}}}
  check: {{stage: verify, graph: graph, traversal: bfs{on}}}
"""


def written(folder: Path, on: str | None = None, scale: int = 8) -> Path:
    path = folder / "where.yaml"
    path.write_text(VERIFIED.format(on="" if on is None else f", on: {on}", scale=scale))
    return path


def asked(verb: str, path: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [verb, str(path), "--cache", str(path.parent / "cache"), *words])
    return done.exit_code, done.output


def plan_of(path: Path, *words: str) -> dict[str, Any]:
    code, output = asked("plan", path, "--json", *words)
    assert code == 0, output
    return {stage["key"]: stage for stage in json.loads(output[output.index("{") :])["stages"]}


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


def test_plan_says_what_the_gpu_takes_and_why_the_cpu_checks(tmp_path, monkeypatch) -> None:
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


PREPARED = """\
workflow: prepared
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  parts: {{stage: partition, input: graph, ranks: 2}}
  stripes: {{stage: partition, input: graph, ranks: 2, scheme: striped}}
  packed: {{stage: compress, input: graph}}
  packed_parts: {{stage: compress, input: parts}}
"""
PARTS = ("parts", "stripes", "packed", "packed_parts")


def given(folder: Path, scale: int, *words: str) -> tuple[Path, tuple[str, ...]]:
    path = folder / "prepared.yaml"
    path.write_text(PREPARED.format(scale=scale))
    return path, ("--backend", "cuda", "--host-memory", "100TiB", *words)


def test_a_gpu_prepares_what_fits_it_at_once_or_in_ranges(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "1x80GiB")
    for scale in (10, 26, 30):
        path, words = given(tmp_path, scale)
        stages = plan_of(path, *words)
        for name in PARTS:
            assert 0 < stages[name]["device_bytes"] <= 76 << 30
            assert stages[name]["note"] == ""
        assert "on the CPU" not in asked("plan", path, *words)[1]


def test_plan_says_why_the_cpu_prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "1x80GiB")
    path, words = given(tmp_path, 27, "--device-memory", "64MiB")
    text = asked("plan", path, *words)[1]
    assert text.count("on the CPU: partition needs") == 1  # stripes fit
    assert text.count("on the CPU: compress needs") == 2
    assert text.count("MiB of GPU memory, and 64 MiB are free") == 4


SEARCHED = """\
workflow: where
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: 10}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  split: {{stage: partition, input: graph, ranks: 2}}
  bfs: {{stage: traverse, input: {0}, {1}}}
"""


@pytest.mark.parametrize(
    ("read", "more", "note"),
    [
        ("graph", "algorithm: bfs", ""),
        ("graph", "backend: cpu", "on the CPU: `backend: cpu` asks for it"),
        ("graph", "strategy: serial", "on the CPU: strategy serial has no CUDA form"),
        ("split", "algorithm: bfs", "on the CPU: ranks of a partition are; `backend: cuda` asks for GPUs"),
        ("split", "backend: cpu", "on the CPU: `backend: cpu` asks for it"),
        ("split", "backend: cuda", ""),
    ],
)
def test_a_search_on_the_cpu_is_explained(tmp_path, monkeypatch, read, more, note) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "2x16GiB")
    path = tmp_path / "where.yaml"
    path.write_text(SEARCHED.format(read, more))
    assert plan_of(path, "--backend", "cuda")["bfs"]["note"] == note
    assert note in asked("plan", path, "--backend", "cuda")[1]
