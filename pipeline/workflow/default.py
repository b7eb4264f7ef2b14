"""The workflow that stands for a data file: `gravel run data.txt` searches it without any YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gravel.pipeline.core.errors import Problem, WorkflowError
from gravel.pipeline.plugins.installed import known_stages
from gravel.pipeline.workflow.data_files import name_of
from gravel.pipeline.workflow.ids import split_ids
from gravel.pipeline.workflow.loading import read_workflow
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import Text
from gravel.stages.addresses import is_url, shown

__all__ = ["default_text", "load_default"]

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
    return json.dumps(text.replace("${", "$${"), ensure_ascii=False)


def default_text(
    file: str,
    sources: Sequence[str] = (),
    *,
    found: Sequence[str] = (),
    examples: str = "[1, 2]",
    more: str = "",
) -> str:
    """Return the workflow for a data file.

    `found` are comment lines on what is known of it, `examples` some of its ids, and `more` further entries.
    """
    name = name_of(file)
    about = f"A breadth-first search over {name}, verified against the graph alone, with a page."
    seen = "".join(f"# {line}".rstrip() + "\n" for line in found)
    return f"""\
# Run it with `gravel run`; `gravel plan` shows before what it takes.
{seen}workflow: {quoted(name.partition(".")[0] or name)}
about: {quoted(about)}

parameters:
  # Relative paths: beside this workflow first, else in the current folder. A URL works, too.
  file: {quoted(file)}
  # Ids as the file writes them, such as {examples}, or random ones.
  sources: {_sources(sources)}

stages:
  # The format is detected; `gravel stages ingest` lists the formats and what else can be set.
  edges:   {{stage: ingest, file: "${{file}}", format: auto}}
  # Every edge in both directions. `direction: as_given` searches along the arcs only.
  graph:   {{stage: symmetrize, input: edges, direction: both}}
  # Distance and predecessor of every vertex. `algorithm: components` (without sources) finds components.
  bfs:     {{stage: traverse, input: graph, algorithm: bfs, sources: "${{sources}}"}}
  check:   {{stage: verify, graph: graph, traversal: bfs}}
  summary: {{stage: report, inputs: [graph, bfs, check], title: {quoted(f"BFS over {name}")}}}
{more}"""


def load_default(file: str, sources: Sequence[str], overrides: Mapping[str, str]) -> Workflow:
    """Read the workflow that stands for a data file; raises RequestError that names the file."""
    source = Text(f"{shown(file)} (default workflow)", default_text(file, sources))
    path = Path(name_of(file) if is_url(file) else file)
    try:
        return read_workflow(source, path, overrides, known_stages())
    except WorkflowError as error:
        told = [_about_file(file, problem) for problem in error.problems]
        raise WorkflowError(told) from None


def _about_file(file: str, problem: Problem) -> Problem:
    """Drop a place in a workflow that nobody wrote."""
    if problem.location is not None and not problem.location.file.endswith("(default workflow)"):
        return problem
    hint = problem.hint if "${" not in (problem.hint or "") else "ids are as the file writes them"
    return Problem(f"{shown(file)}: {problem.message}", hint)
