"""From a workflow file to a `Workflow`, or to every fault in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import Location, Problem, WorkflowError
from pipeline.workflow.entries import Draft, read_entry
from pipeline.workflow.faults import Faults
from pipeline.workflow.model import StageEntry, Workflow
from pipeline.workflow.names import suggest
from pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, parse
from pipeline.workflow.reading import read_workflow_text
from pipeline.workflow.values import Values, read_values
from pipeline.workflow.variants import axes_of, make_variants
from pipeline.workflow.wiring import in_order, wire
from stages.stage import Stage, all_stages

SECTIONS = {
    "workflow": "the workflow's name",
    "about": "what it is for",
    "parameters": "names with default values, for ${name} and --set",
    "matrix": "axes with their values, listed or named; every combination is an experiment",
    "stages": "the entries: which stage, from which inputs, with which parameters",
}
"""The keys of a workflow file."""


def load_workflow(
    path: str | Path, overrides: Mapping[str, str] | None = None, *, stages: Mapping[str, Stage] | None = None
) -> Workflow:
    """Read a workflow file.

    Parameters
    ----------
    path : the file.
    overrides : texts of `--set NAME=VALUE`, each read as a YAML value.
    stages : the stages that may be named; all registered ones if left out.

    Raises
    ------
    WorkflowError : the file, or a value of `overrides`, has faults; all that could be found are told.
    RequestError : there is no such file, or it is no text of sane size.

    """
    path = Path(path)
    known = all_stages() if stages is None else stages
    return read_workflow(read_workflow_text(path), path, overrides or {}, known)


def read_workflow(
    source: Text, path: Path, overrides: Mapping[str, str], stages: Mapping[str, Stage]
) -> Workflow:
    """Read a workflow from its text; `path` gives the name and the folder of relative paths."""
    root, problems = parse(source)
    faults = Faults()
    for problem in problems:
        faults.add_problem(problem)
    top = _top(root, source, faults)
    values = read_values(top.items.get("parameters"), top.items.get("matrix"), overrides, source, faults)
    entries = _entries(top, values, path.absolute().parent, stages, source, faults)
    name = _text(top, "workflow", path.stem, source, faults)
    about = _text(top, "about", "", source, faults)
    faults.raise_if_any()
    return Workflow(
        name=name,
        about=about,
        path=path,
        parameters={name: filled.value for name, filled in values.parameters.items()},
        matrix=values.coordinates,
        stages=entries,
    )


def _top(root: Node | None, source: Text, faults: Faults) -> MapNode:
    if isinstance(root, MapNode):
        for key, node in root.keys.items():
            if key not in SECTIONS:
                faults.add(
                    f"a workflow has no section {key!r}", suggest(key, SECTIONS, "section"), source.at(node)
                )
        return root
    hint = "a workflow begins with `stages:`; see workflows/quickstart.yaml"
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        message = f"{source.name} is empty" if not source.text.strip() else f"{source.name} says nothing"
        raise WorkflowError([Problem(message, hint, Location(source.name, 1, 1))])
    what = "a list" if isinstance(root, ListNode) else "a text"
    raise WorkflowError([Problem(f"this is {what}, and a workflow is a mapping", hint, source.at(root))])


def _text(top: MapNode, key: str, default: str, source: Text, faults: Faults) -> str:
    node = top.items.get(key)
    if node is None:
        return default
    if isinstance(node, ScalarNode) and node.text and node.text.isprintable():
        return node.text
    if key == "about" and isinstance(node, ScalarNode):
        return node.text
    faults.add(f"`{key}` is a text on one line", None, source.at(node))
    return default


def _entries(
    top: MapNode, values: Values, folder: Path, stages: Mapping[str, Stage], source: Text, faults: Faults
) -> dict[str, StageEntry]:
    section = top.items.get("stages")
    if section is None:
        faults.add(
            "there is no section `stages`, so there is nothing to run",
            "add stages: {edges: {stage: ingest, ...}}",
            source.at(top),
        )
        return {}
    if not isinstance(section, MapNode) or not section.items:
        faults.add(
            "`stages` has no entries, and names of entries are expected",
            "write it like stages: {edges: {stage: ingest, ...}}",
            source.at(section),
        )
        return {}
    drafts: dict[str, Draft] = {}
    for name, node in section.items.items():
        draft = read_entry(name, node, source.at(section.keys[name]), values, stages, source, faults)
        if draft is not None:
            drafts[name] = draft
    wires = wire(drafts, list(section.items), faults)
    order = in_order(drafts, faults)
    entries = {}
    for name in order:
        draft = drafts[name]
        axes = axes_of(draft, values, source, faults)
        if axes is not None:
            variants = make_variants(draft, axes, values, folder, source, faults)
            entries[name] = StageEntry(
                name=name,
                stage=draft.stage,
                about=draft.about,
                inputs=wires[name],
                keep=draft.keep,
                gathers=draft.gathers,
                axes=axes,
                variants=variants,
                location=draft.location,
            )
    return entries
