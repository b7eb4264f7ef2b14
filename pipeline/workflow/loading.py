"""From a workflow file to a `Workflow`, or to every fault in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gravel.pipeline.plugins.installed import known_stages
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.model import StageEntry, Workflow
from gravel.pipeline.workflow.nesting import Reading
from gravel.pipeline.workflow.nodes import ScalarNode, Text
from gravel.pipeline.workflow.reading import read_workflow_text
from gravel.pipeline.workflow.scope import Scope
from gravel.pipeline.workflow.variants import axes_of, make_variants
from gravel.pipeline.workflow.wiring import in_order, wire
from gravel.stages.stage import Stage


def load_workflow(
    path: str | Path, overrides: Mapping[str, str] | None = None, *, stages: Mapping[str, Stage] | None = None
) -> Workflow:
    """Read a workflow file and those that it uses.

    Parameters
    ----------
    path : the file.
    overrides : texts of `--set NAME=VALUE`, each read as a YAML value.
    stages : the stages that may be named; gravel's and those of installed packages if left out.

    Raises
    ------
    WorkflowError : a file, or a value of `overrides`, has faults; all that could be found are reported.
    RequestError : there is no such file, or it is no text of sane size.

    """
    path = Path(path)
    known = known_stages() if stages is None else stages
    return read_workflow(read_workflow_text(path), path, overrides or {}, known)


def read_workflow(
    source: Text, path: Path, overrides: Mapping[str, str], stages: Mapping[str, Stage]
) -> Workflow:
    """Read a workflow from its text; `path` gives the name and the folder of relative paths."""
    faults = Faults(source.name)
    reading = Reading(stages, overrides, faults)
    scope, drafts = reading.main(source, path)
    entries = _entries(drafts, reading.names, faults)
    name, about = _text(scope, "workflow", path.stem), _text(scope, "about", "")
    faults.raise_if_any()
    values = scope.values
    return Workflow(
        name=name,
        about=about,
        path=path,
        parameters={name: filled.value for name, filled in values.parameters.items()},
        matrix=values.axes.coordinates,
        stages=entries,
        combinations=tuple(values.axes.combinations),
        datasets=values.datasets,
    )


def _text(scope: Scope, key: str, default: str) -> str:
    node = scope.top.items.get(key)
    if node is None:
        return default
    if isinstance(node, ScalarNode) and (key == "about" or (node.text and node.text.isprintable())):
        return node.text
    scope.fault(node, f"`{key}` is a text on one line")
    return default


def _entries(found: Sequence[Draft], names: list[str], faults: Faults) -> dict[str, StageEntry]:
    drafts = {draft.entry.name: draft for draft in found}
    wires = wire(drafts, names, faults)
    entries = {}
    for name in in_order(drafts, faults):
        draft = drafts[name]
        axes = axes_of(draft)
        if axes is not None:
            kinds = {
                slot: [drafts[given.entry].entry.stage.outputs[given.output] for given in wires[name][slot]]
                for slot in wires[name]
            }
            variants = make_variants(draft, axes, kinds)
            entries[name] = replace(draft.entry, inputs=wires[name], axes=axes, variants=variants)
    return entries
