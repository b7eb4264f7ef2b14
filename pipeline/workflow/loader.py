"""From a workflow file to a `Workflow`, whose entries are wired and in order, or to every fault in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from gravel.pipeline.core.errors import Location, RequestError
from gravel.pipeline.core.names import either, suggest
from gravel.pipeline.datasets.file_lists import expanded, is_several
from gravel.pipeline.plugins.packages import known_stages
from gravel.pipeline.workflow.entries import Draft, Named, read_outputs
from gravel.pipeline.workflow.model import Choice, EntryOutput, StageEntry, Variant, Workflow, count_choices
from gravel.pipeline.workflow.nesting import Reader
from gravel.pipeline.workflow.nodes import Node, ScalarNode, Text, scalars
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.validation import validate
from gravel.pipeline.workflow.values import MAX_RUNS, MAX_VALUES, Scope, references
from gravel.stages.artifact import Json
from gravel.stages.errors import StageError
from gravel.stages.stage import Parameters, Stage
from gravel.stages.urls import is_url


def _outputs_for(
    entry: StageEntry,
    slot: str,
    named_entries: Sequence[Named],
    drafts: Mapping[str, Draft],
    all_names: list[str],
    faults: Faults,
) -> tuple[EntryOutput, ...]:
    """Choose outputs by kind: the first that fits, or for a slot that takes several, all that fit.

    `all_names` are the entries of the file, those included that could not be read.
    """
    declared = entry.stage.inputs[slot]
    found: list[EntryOutput] = []
    for named in named_entries:
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
                _note_circle(drafts, names[names.index(wanted) :], faults)
            elif wanted not in state:
                state[wanted] = 1
                path.append((wanted, _feeds(drafts, wanted)))
    return order


def _feeds(drafts: Mapping[str, Draft], name: str) -> list[str]:
    named = [each.name for slot in drafts[name].slots.values() for each in slot]
    return [each for each in dict.fromkeys(named) if each in drafts]


def _note_circle(drafts: Mapping[str, Draft], circle: list[str], faults: Faults) -> None:
    wanted = [*circle, circle[0]]
    inputs = [named for slot in drafts[circle[0]].slots.values() for named in slot]
    place = next(named.location for named in inputs if named.name == wanted[1])
    message = f"the entries form a circle: {' needs '.join(wanted)}"
    faults.add(message, "one of these inputs must come from elsewhere", place)


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
    outputs = read_outputs(scope, [draft.entry.name for draft in drafts])
    faults.raise_if_any()
    values = scope.values
    return Workflow(
        name=name,
        about=about,
        path=path,
        parameters={name: filled.value for name, filled in values.parameters.items()},
        matrix=values.coordinates,
        stages=entries,
        combinations=tuple(values.combinations),
        datasets=values.datasets,
        outputs=outputs,
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
    inputs = {
        name: {
            slot: _outputs_for(draft.entry, slot, named, drafts, names, faults)
            for slot, named in draft.slots.items()
        }
        for name, draft in drafts.items()
    }
    entries = {}
    for name in in_order(drafts, faults):
        draft = drafts[name]
        axes = axes_of(draft)
        if axes is not None:
            kinds = {
                slot: [drafts[each.entry].entry.stage.outputs[each.output] for each in outputs]
                for slot, outputs in inputs[name].items()
            }
            variants = make_variants(draft, axes, kinds)
            entries[name] = replace(draft.entry, inputs=inputs[name], axes=axes, variants=variants)
    return entries


def place_files(
    draft: Draft, parameters: Parameters, data: dict[str, Json]
) -> tuple[Parameters, dict[str, Location]]:
    """Make the paths that the parameters name absolute, and say where the workflow names them.

    A relative path means the file beside the workflow that names it if there is one, else beside another one
    that uses it or is used by it, else the one in the current directory; URLs stay as they are. Folders and
    patterns become the files that they stand for now.
    """
    stage, scope, values = draft.entry.stage, draft.scope, draft.scope.values
    places: dict[str, str] = {}
    where: dict[str, Location] = {}
    several: dict[str, tuple[str, ...]] = {}
    files = stage.files(parameters)
    for location, is_listed in {each.location: each.several for each in files}.items():
        found = _find(draft.parameters, location)
        names = [each.name for each in references(found, scope.source)] if found is not None else []
        given = next((values.origins[name].location for name in names if name in values.origins), None)
        folders = values.folders if given is None else values.folders[::-1]
        places[location] = _place_file(location, folders)
        own = scope.at(found) if found is not None else draft.entry.location
        where[places[location]] = place = values.places.get(location, given or own)
        if is_listed:
            several[location] = _listed(location, places[location], folders, place)
            where.update(dict.fromkeys(several[location], place))
    if several:
        every = tuple(file for each in files for file in several[each.location])
        return parameters.model_copy(update={"files": every}), where
    if all(location == placed for location, placed in places.items()):
        return parameters, where
    return stage.parameters.model_validate(_replace(data, places)), where


def _listed(location: str, placed: str, folders: Sequence[Path], place: Location) -> tuple[str, ...]:
    """Return the files that a path, URL, folder or pattern stands for; raises RequestError for none."""
    if not is_several(placed):
        return (placed,)
    pattern = Path(os.path.expanduser(location))  # noqa: PTH111
    options = [placed]
    if not is_url(placed) and not pattern.is_absolute() and not Path(placed).is_dir():
        options = [str((folder / pattern).absolute()) for folder in (*folders, Path.cwd())]
    for each in options:
        try:
            return expanded([each])
        except StageError as error:
            problem = error
    raise RequestError(problem.message, hint=problem.hint, location=place)


def _place_file(location: str, folders: Sequence[Path]) -> str:
    if is_url(location):
        return location
    path = Path(os.path.expanduser(location))  # noqa: PTH111 (an unknown user's is left as it is)
    if path.is_absolute():
        return str(path)
    here = path.absolute()
    beside = [(folder / path).absolute() for folder in folders]
    for each in (*beside, here):
        if each.exists():
            return str(each)
    # Where none is there, the one whose folder is lets the message name the nearest file.
    return str(next((each for each in beside if each.parent.exists()), here))


def _replace(data: Json, places: dict[str, str]) -> Json:
    if isinstance(data, dict):
        return {key: _replace(value, places) for key, value in data.items()}
    if isinstance(data, list):
        return [_replace(value, places) for value in data]
    return places.get(data, data) if isinstance(data, str) else data


def _find(node: Node, location: str) -> ScalarNode | None:
    """Return the scalar that says this location, or the first that could through its references."""
    found = list(scalars(node))
    exact = [scalar for scalar in found if scalar.text == location]
    return next(iter(exact or (scalar for scalar in found if "${" in scalar.text)), None)


def axes_of(draft: Draft) -> tuple[str, ...] | None:
    """Return the axes on which an entry's parameters depend, in the matrix's order; None after a fault."""
    scope, values = draft.scope, draft.scope.values
    named = list(references(draft.parameters, scope.source))
    sound = True
    for reference in named:
        name = reference.name
        if name is None or not values.known(name) or name in values.broken:
            scope.unknown(reference, "parameter or matrix axis", values.names)
            sound = False
        elif gathered := [axis for axis in values.axes_behind([name]) if axis in draft.entry.gathers]:
            message = f"`over` gathers the axis {gathered[0]!r}, so no one value of it is known here"
            hint = "leave the reference out, or leave the axis out of `over`"
            scope.fault(reference.location, message, hint)
            sound = False
    return values.axes_behind(each.name for each in named) if sound else None


def make_variants(
    draft: Draft, axes: tuple[str, ...], kinds: Mapping[str, Sequence[str]]
) -> dict[Choice, Variant]:
    """Fill in and validate the parameters for each choice; faults are noted and leave their variant out.

    `kinds` are those of the entry's inputs by slot.
    """
    found: dict[Choice, Variant] = {}
    entry, scope, values = draft.entry, draft.scope, draft.scope.values
    count = count_choices(values.combinations, axes)
    if count > MAX_RUNS:
        message = f"{entry.name!r} would run {count:,} times, and a workflow has at most {MAX_RUNS:,} runs"
        scope.fault(entry.location, message, "give the matrix fewer values")
        return found
    size = 0
    with scope.faults.noted():
        for choice, filled in values.filled(draft.parameters, scope.source, axes):
            size += filled.size
            if size > MAX_VALUES:
                message = f"the variants of {entry.name!r} have more than {MAX_VALUES:,} values"
                scope.fault(entry.location, message)
                return found
            parameters = validate(draft, filled.value, kinds)
            if parameters is None:
                continue
            try:
                found[choice] = Variant(*place_files(draft, parameters, filled.value))
            except (ValueError, OSError) as error:
                reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                scope.fault(entry.location, f"a file of {entry.name!r} cannot be named: {reason}")
    return found
