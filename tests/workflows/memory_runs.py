"""Workflows run by the command line in processes of their own, for what their stages needed and took.

Plans are made in this process.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.drills.gravel import PROGRAM, call_inside

STAGES = """\
workflow: bounds
matrix:
  order: [{orders}]
  layout: [csr, varint]
  output: [both, distance]
  ranks: [1, 4]
stages:
  edges: {{stage: ingest, {source}}}
  graph: {{stage: symmetrize, input: edges}}
  ordered: {{stage: reorder, input: graph, method: "${{order}}"}}
  packed: {{stage: compress, input: ordered, codec: "${{layout}}"}}
  bfs: {{stage: traverse, input: packed, output: both, sources: {{random: 2}}}}
  check: {{stage: verify, graph: graph, traversal: bfs}}
  labels: {{stage: traverse, input: graph, algorithm: components}}
  check_labels: {{stage: verify, graph: graph, traversal: labels}}
  plain: {{stage: traverse, input: graph, output: "${{output}}", sources: {{random: 2}}}}
  check_plain: {{stage: verify, graph: graph, traversal: plain}}
  split: {{stage: partition, input: graph, ranks: "${{ranks}}"}}
  split_bfs: {{stage: traverse, input: split, output: "${{output}}", sources: {{random: 2}}}}
  split_labels: {{stage: traverse, input: split, algorithm: components}}
  packed_split: {{stage: compress, input: split, codec: "${{layout}}"}}
  summary: {{stage: report, over: none, inputs: [graph, labels, check_labels]}}
"""
"""Every stage in every variant whose memory differs."""


def all_stages_on(source: str, orders: str = "original, random, degree, rcm") -> str:
    """Return a workflow that takes a source of edges through every stage."""
    return STAGES.format(source=source, orders=orders)


@dataclass(frozen=True)
class Taken:
    """One stage run of a record: bytes stated and measured, seconds since the epoch, state."""

    key: str
    state: str
    need: int
    peak: int
    began: float
    ended: float

    @property
    def ratio(self) -> float:
        """Return the peak as a multiple of the need."""
        return self.peak / self.need

    def __str__(self) -> str:
        need, peak = (f"{count / (1 << 20):8.1f} MiB" for count in (self.need, self.peak))
        return f"{self.key:58} need {need}  peak {peak}  {self.ratio:5.2f}"


@dataclass(frozen=True)
class Ran:
    """How a command ended, and the record that it left."""

    code: int
    output: str
    errors: str
    record: dict[str, Any]
    folder: Path

    @property
    def taken(self) -> list[Taken]:
        """Return what was computed in this run."""
        return [
            Taken(
                stage["key"],
                stage["state"],
                stage["need"]["host"],
                stage["peak_host_bytes"],
                stage["started"],
                stage["started"] + stage["seconds"],
            )
            for stage in self.record["stages"]
            if stage["state"] == "computed"
        ]

    def log(self, key: str) -> str:
        """Return what a stage run said."""
        return (self.folder / "logs" / f"{key}.log").read_text()


def gravel(verb: str, folder: Path, text: str, *words: str, environment: dict[str, str] | None = None) -> Ran:
    """Run a verb on a workflow in a folder that also holds the cache."""
    file = folder / "bounds.yaml"
    file.write_text(text)
    quiet = ["-q"] if verb == "run" else []
    command = [*PROGRAM, verb, str(file), "--cache", str(folder / "cache"), *quiet, *words]
    if verb == "plan":
        done = call_inside(command, **(environment or {}))
    else:
        variables = {**os.environ, **(environment or {})}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    records = sorted((folder / "cache" / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    record = json.loads(records[-1].read_text()) if records else {}
    return Ran(done.returncode, done.stdout, done.stderr, record, records[-1].parent if records else folder)
