"""Runs whose memory depends on vertices that nobody knows yet begin, and are checked when they are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from tests.pipeline.cli_case import gravel

STAGES = """\
workflow: many
stages:
  edges: {stage: ingest, file: edges.csv, memory: 16MiB%s}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: 2}
  bfs: {stage: traverse, input: split, sources: {random: 16, seed: 1}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write 400,000 edges of 200 vertices, each of which might have two new ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    draw = numpy.random.default_rng(1)
    source, target = draw.integers(0, 1 << 40, 200)[draw.integers(0, 200, (2, 400_000))]
    numpy.savetxt("edges.csv", numpy.stack((source, target), axis=1), fmt="%d", delimiter=",")
    Path("many.yaml").write_text(STAGES % "")
    Path("known.yaml").write_text(STAGES % ", expect: {vertices: 200}")


def stated(file: str) -> dict[str, int]:
    listing = json.loads(gravel("plan", file, "--backend", "cpu", "--json").output)
    return {stage["key"]: int(stage["host_bytes"]) for stage in listing["stages"]}


def run(file: str, host_memory: int) -> str:
    return gravel(
        "run", file, "--backend", "cpu", "--cluster", "inline", "--host-memory", str(host_memory)
    ).output


def test_a_bound_refuses_nothing() -> None:
    guessed, known = stated("many.yaml")["bfs"], max(stated("known.yaml").values())
    assert known + (16 << 20) < guessed
    between = (known + guessed) // 2
    said = gravel("plan", "many.yaml", "--backend", "cpu", "--host-memory", str(between))
    assert said.exit_code == 0
    assert "it is checked again when the vertices are known" in said.output
    assert "4 computed" in run("many.yaml", between)


def test_what_was_read_is_kept_where_the_rest_does_not_fit() -> None:
    too_little = stated("known.yaml")["edges"] + (4 << 20)
    said = run("many.yaml", too_little)
    assert "edges: done in" in said
    assert said.count("this run cannot fit") == 2  # as it happens, and at the end
    assert "skipped, it depends on" in said
    again = run("many.yaml", too_little)
    assert "edges: cached" in again
    assert "this run cannot fit" in again
    assert "edges" not in run("known.yaml", too_little).partition("cannot fit")[0].replace("edges.csv", "")
