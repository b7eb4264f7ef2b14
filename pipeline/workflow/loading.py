"""From a workflow file to a `Workflow`, or to every fault in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gravel.pipeline.plugins.installed import known_stages
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.model import StageEntry, Workflow
from gravel.pipeline.workflow.nodes import MapNode, ScalarNode, Text
from gravel.pipeline.workflow.reading import read_workflow_text
from gravel.pipeline.workflow.scopes import Reading, top_of
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
    top = top_of(source, faults)
    reading = Reading(stages, faults)
    scope, drafts = reading.main(source, path, top, overrides)
    entries = _entries(drafts, reading.names, faults)
    name = _text(top, "workflow", path.stem, source, faults)
    about = _text(top, "about", "", source, faults)
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


def _entries(found: Sequence[Draft], names: list[str], faults: Faults) -> dict[str, StageEntry]:
    drafts = {draft.name: draft for draft in found}
    wires = wire(drafts, names, faults)
    entries = {}
    for name in in_order(drafts, faults):
        draft = drafts[name]
        axes = axes_of(draft, faults)
        if axes is not None:
            entries[name] = StageEntry(
                name=name,
                stage=draft.stage,
                about=draft.about,
                inputs=wires[name],
                keep=draft.keep,
                gathers=draft.gathers,
                axes=axes,
                variants=make_variants(draft, axes, faults),
                location=draft.location,
                repeat=draft.repeat,
                time_limit=draft.time_limit,
            )
    return entries
