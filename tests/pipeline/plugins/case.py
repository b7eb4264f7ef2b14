"""A workflow with a plugin, and the plugin's file."""

from __future__ import annotations

from pathlib import Path

SAMPLE = Path(__file__).with_name("sample_plugin.py")

WORKFLOW = """\
plugins: [mine.py]
stages:
  edges: {stage: ingest, source: {rmat: {scale: 7, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  tight: {stage: triangles, input: graph, least: 1}
  bfs:   {stage: traverse, input: tight, sources: {random: 2, seed: 7}}
  check: {stage: verify, graph: tight, traversal: bfs}
"""


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
