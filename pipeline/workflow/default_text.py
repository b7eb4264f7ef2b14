"""The text of the workflow for a data file: what `gravel run data.txt` does and `gravel init` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from gravel.pipeline.datasets.file_lists import is_several
from gravel.pipeline.workflow.data_files import name_of
from gravel.pipeline.workflow.ids import split_ids
from gravel.stages.urls import visible

__all__ = ["default_text"]

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")

RANDOM = "{random: 4, seed: 1}"
"""The sources where none are named."""


def _sources(texts: Sequence[str]) -> str:
    """Write ids as YAML: an integer plain, any other id in quotes."""
    ids = split_ids(texts)
    if not ids:
        return RANDOM
    return f"[{', '.join(each if _INTEGER.fullmatch(each) else quoted(each) for each in ids)}]"


def quoted(text: str) -> str:
    """Write a text in quotes, so that YAML and references leave it as it is."""
    return visible(json.dumps(text.replace("${", "$${"), ensure_ascii=False))


def default_text(
    file: str,
    sources: Sequence[str] = (),
    *,
    found: Sequence[str] = (),
    examples: str = "[1, 2]",
    settings: Mapping[str, str] | None = None,
    more: str = "",
    others: Sequence[str] = (),
) -> str:
    """Return the workflow for a data file.

    `found` are comment lines on what is known of it, `examples` some of its ids, `settings` what `ingest`
    must be given, and `more` further entries. With `others`, or if it is a folder or a pattern, it is many
    files.
    """
    name = visible(name_of(file))
    about = f"A breadth-first search over {name}, verified against the graph alone, with a page."
    given = "".join(f", {key}: {value}" for key, value in ({"format": "auto"} | dict(settings or {})).items())
    key = "files" if others or is_several(file) else "file"
    files = f"[{', '.join(map(quoted, [file, *others]))}]" if others else quoted(file)
    seen = visible("".join(f"# {line}".rstrip() + "\n" for line in found))
    return f"""\
# Run it with `gravel run`; `gravel plan` shows before what it takes.
{seen}workflow: {quoted(name.partition(".")[0] or name)}
about: {quoted(about)}

parameters:
  # Relative paths: beside this workflow first, else in the current folder. A URL works, too.
  {key}: {files}
  # Ids as the file writes them, such as {examples}, or random ones.
  sources: {_sources(sources)}

stages:
  # The format is detected; `gravel stages ingest` lists the formats and what else can be set.
  edges:   {{stage: ingest, {key}: "${{{key}}}"{given}}}
  # Every edge in both directions. `direction: as_given` searches along the arcs only.
  graph:   {{stage: symmetrize, input: edges, direction: both}}
  # Distance and predecessor of every vertex. `algorithm: components` (without sources) finds components.
  bfs:     {{stage: traverse, input: graph, algorithm: bfs, sources: "${{sources}}"}}
  check:   {{stage: verify, graph: graph, traversal: bfs}}
  summary: {{stage: report, inputs: [graph, bfs, check], title: {quoted(f"BFS over {name}")}}}
{more}"""
