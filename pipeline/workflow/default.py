"""The workflow that stands for a data file: `gravel run data.txt` searches it without any YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.datasets.file_lists import expanded
from gravel.pipeline.plugins.installed import known_stages
from gravel.pipeline.workflow.data_files import name_of
from gravel.pipeline.workflow.default_text import default_text
from gravel.pipeline.workflow.ids import split_ids
from gravel.pipeline.workflow.inspection import inspect_file
from gravel.pipeline.workflow.loading import read_workflow
from gravel.pipeline.workflow.model import StageEntry, Workflow
from gravel.pipeline.workflow.nodes import Text
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

__all__ = ["load_default", "workflow_text"]


def workflow_text(
    file: str, sources: Sequence[str], given: Mapping[str, str], others: Sequence[str] = ()
) -> str:
    """Return the workflow for a data file, whose beginning is read if it lies on this machine.

    `given` are parameters of ingest, as YAML has them. With `others`, or if it is a folder or a pattern,
    there are many files, of which the first is looked into.
    """
    try:
        first = file if is_url(file) else expanded([file])[0]
        settings = dict(given) if is_url(file) else inspect_file(first, split_ids(sources), given).settings
    except (StageError, OSError):
        settings = given  # `ingest` says what is wrong, when it reads the file
    return default_text(file, sources, settings=settings, others=others)


def load_default(
    file: str,
    sources: Sequence[str],
    overrides: Mapping[str, str],
    given: Mapping[str, str] | None = None,
    others: Sequence[str] = (),
) -> Workflow:
    """Read the workflow that stands for data files; raises WorkflowError that names the first."""
    text = workflow_text(file, sources, given or {}, others)
    source = Text(f"{shown(file)} (default workflow)", text)
    path = Path(name_of(file) if is_url(file) else file)
    try:
        workflow = read_workflow(source, path, overrides, known_stages())
    except WorkflowError as error:
        problems = [_about_file(file, source, problem) for problem in error.problems]
        raise WorkflowError(problems) from None
    # Nobody wrote its lines: what is wrong with it is wrong with the file, or with an option.
    place = Location(shown(file), 0, 0)
    entries = {name: _at(entry, place) for name, entry in workflow.stages.items()}
    return replace(workflow, stages=entries)


def _at(entry: StageEntry, place: Location) -> StageEntry:
    variants = {
        choice: replace(variant, files=dict.fromkeys(variant.files, place))
        for choice, variant in entry.variants.items()
    }
    return replace(entry, location=place, variants=variants)


def _about_file(file: str, source: Text, problem: Problem) -> Problem:
    if problem.location is not None and problem.location.file != source.name:
        return problem  # of an option
    hint = problem.hint if "${" not in (problem.hint or "") else "ids are as the file writes them"
    return Problem(problem.message, hint, Location(shown(file), 0, 0))
