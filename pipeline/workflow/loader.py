"""From a workflow file to a `Workflow`, whose entries are wired and in order, or to every fault in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gravel.pipeline.core.names import either, suggest
from gravel.pipeline.plugins.packages import known_stages
from gravel.pipeline.workflow.entries import Draft, Named
from gravel.pipeline.workflow.model import EntryOutput, StageEntry, Workflow
from gravel.pipeline.workflow.nesting import Reader
from gravel.pipeline.workflow.nodes import ScalarNode, Text
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.values import Scope
from gravel.pipeline.workflow.variants import axes_of, make_variants
from gravel.stages.stage import Stage

Inputs = dict[str, tuple[EntryOutput, ...]]


def wire(drafts: Mapping[str, Draft], all_names: list[str], faults: Faults) -> dict[str, Inputs]:
    """Choose outputs by kind: the first that fits, or for a slot that takes several, all that fit.

    `all_names` are the entries of the file, those included that could not be read.
    """
    return {
        name: {slot: _wire_slot(draft, slot, drafts, all_names, faults) for slot in draft.slots}
        for name, draft in drafts.items()
    }


def _wire_slot(
    draft: Draft, slot: str, drafts: Mapping[str, Draft], all_names: list[str], faults: Faults
) -> tuple[EntryOutput, ...]:
    entry = draft.entry
    declared = entry.stage.inputs[slot]
    found: list[EntryOutput] = []
    for named in draft.slots[slot]:
        giver = drafts.get(named.name)
        if giver is None:
            if named.name not in all_names:
                _note_unknown(entry.name, named, all_names, faults)
            continue
        given = giver.entry.stage.outputs
        fitting = [
            EntryOutput(named.name, position) for position, kind in enumerate(given) if kind in declared.kinds
        ]
        if not fitting:
            takers = [
                name
                for name, other in drafts.items()
                if name != entry.name and set(other.entry.stage.outputs) & set(declared.kinds)
            ]
            faults.add(
                f"`{slot}` of {entry.name!r} (stage {entry.stage.name}) takes "
                f"{either(declared.kinds)}, and {named.name!r} (stage {giver.entry.stage.name}) gives "
                f"{' and '.join(given)}",
                f"these fit: {', '.join(takers)}" if takers else None,
                named.location,
            )
        found += fitting if declared.many else fitting[:1]
    return tuple(found)


def _note_unknown(user: str, named: Named, all_names: list[str], faults: Faults) -> None:
    """Note that an entry is not there, in the words of the file that names it."""
    prefix = named.prefix
    here = [name.removeprefix(prefix) for name in all_names if name.startswith(prefix) and name != user]
    written = named.name.removeprefix(prefix)
    inside = [name for name in here if name.startswith(f"{written}.")]
    if inside:
        message = f"{written!r} is a whole workflow, and an entry is expected"
        faults.add(message, f"name one of its entries: {', '.join(inside)}", named.location)
    else:
        faults.add(f"there is no entry {written!r}", suggest(written, here, "entry"), named.location)


def in_order(drafts: Mapping[str, Draft], faults: Faults) -> list[str]:
    """Sort entries so that each follows its inputs, else in the order of the file; a cycle is a fault."""
    order: list[str] = []
    state: dict[str, int] = {}  # 1 while being visited, 2 when done

    for start in drafts:
        path: list[tuple[str, list[str]]] = [(start, _feeds(drafts, start))] if start not in state else []
        state.setdefault(start, 1)
        while path:
            name, waiting = path[-1]
            if not waiting:
                path.pop()
                state[name] = 2
                order.append(name)
                continue
            wanted = waiting.pop(0)
            if state.get(wanted) == 1:
                names = [each for each, _ in path]
                circle = names[names.index(wanted) :]
                _note_circle(drafts, circle, faults)
            elif wanted not in state:
                state[wanted] = 1
                path.append((wanted, _feeds(drafts, wanted)))
    return order


def _feeds(drafts: Mapping[str, Draft], name: str) -> list[str]:
    named = [each.name for slot in drafts[name].slots.values() for each in slot]
    return [each for each in dict.fromkeys(named) if each in drafts]


def _note_circle(drafts: Mapping[str, Draft], circle: list[str], faults: Faults) -> None:
    first = drafts[circle[0]]
    wanted = circle[1] if len(circle) > 1 else circle[0]
    place = next(
        (named.location for slot in first.slots.values() for named in slot if named.name == wanted),
        first.entry.location,
    )
    message = " needs ".join([*circle, circle[0]])
    faults.add(f"the entries form a circle: {message}", "one of these inputs must come from elsewhere", place)


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
    reader = Reader(stages, overrides, faults)
    scope, drafts = reader.main(source, path)
    entries = _entries(drafts, reader.names, faults)
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
