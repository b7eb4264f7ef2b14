"""What a run states and takes while results stay in memory: the stage's statement and its result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gravel.pipeline.scheduler.placement import MIN_BYTES
from tests.parameters import slow_among
from tests.workflows.memory_runs import gravel

CHAIN = """\
workflow: chain
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  ordered: {{stage: reorder, input: graph, method: degree}}
  packed: {{stage: compress, input: ordered, codec: csr}}
  bfs: {{stage: traverse, input: packed, sources: {{random: 4}}}}
  check: {{stage: verify, graph: graph, traversal: bfs}}
"""

NOISE = 1.05
"""Above the statement: pages that the allocator keeps, and a thread that writes the result before."""


@pytest.mark.parametrize("scale", slow_among([16, 17, 19], {17, 19}))
def test_a_run_takes_its_statement_and_its_result(tmp_path: Path, scale: int) -> None:
    text = CHAIN.format(scale=scale)
    planned = gravel("plan", tmp_path, text, "--json", "--resident-memory", "0")
    assert planned.code == 0, planned.errors
    stated = {each["key"]: each["host_bytes"] for each in json.loads(planned.output)["stages"]}
    ran = gravel("run", tmp_path, text, "--cluster", "inline", "--resident-memory", "4GiB")
    assert ran.code == 0, ran.errors
    assert len(ran.taken) == 6
    print(f"\nscale {scale}", *ran.taken, sep="\n")
    over = [str(taken) for taken in ran.taken if taken.ratio > NOISE]
    assert not over, "\n".join(over)
    # The edges' two columns stay; what a check finds is small, and written as it is made.
    edges = 2 * 4 * (16 << scale)
    assert edges >= MIN_BYTES
    held = {taken.key: taken.need - stated[taken.key] for taken in ran.taken}
    assert held["edges"] == edges
    assert held["check"] <= 0  # inputs are known by then, and smaller than was planned
