"""The workflow that stands for a data file: `gravel run data.txt` searches it without any YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gravel.pipeline.core.errors import Problem, WorkflowError
from gravel.pipeline.plugins.installed import known_stages
from gravel.pipeline.workflow.data_files import name_of
from gravel.pipeline.workflow.default_text import default_text
from gravel.pipeline.workflow.loading import read_workflow
from gravel.pipeline.workflow.model import Workflow
from gravel.pipeline.workflow.nodes import Text
from gravel.stages.addresses import is_url, shown

__all__ = ["load_default"]


def load_default(file: str, sources: Sequence[str], overrides: Mapping[str, str]) -> Workflow:
    """Read the workflow that stands for a data file; raises RequestError that names the file."""
    source = Text(f"{shown(file)} (default workflow)", default_text(file, sources))
    path = Path(name_of(file) if is_url(file) else file)
    try:
        return read_workflow(source, path, overrides, known_stages())
    except WorkflowError as error:
        problems = [_about_file(file, problem) for problem in error.problems]
        raise WorkflowError(problems) from None


def _about_file(file: str, problem: Problem) -> Problem:
    """Drop a place in a workflow that nobody wrote."""
    if problem.location is not None and not problem.location.file.endswith("(default workflow)"):
        return problem
    hint = problem.hint if "${" not in (problem.hint or "") else "ids are as the file writes them"
    return Problem(f"{shown(file)}: {problem.message}", hint)
