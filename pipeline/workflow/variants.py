"""An entry's parameters under every choice of the axes that they name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from gravel.pipeline.core.errors import Location, RequestError
from gravel.pipeline.datasets.file_lists import expanded, is_several
from gravel.pipeline.plugins.packages import RESERVED
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.model import Variant
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode
from gravel.pipeline.workflow.substitution import fill, references
from gravel.pipeline.workflow.validation import validate
from gravel.pipeline.workflow.values import MAX_RUNS, MAX_VALUES
from gravel.stages.artifact import Json
from gravel.stages.errors import StageError
from gravel.stages.stage import Parameters
from gravel.stages.urls import is_url


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
    scalars = list(_scalars(node))
    exact = [scalar for scalar in scalars if scalar.text == location]
    return next(iter(exact or (scalar for scalar in scalars if "${" in scalar.text)), None)


def _scalars(node: Node) -> Iterator[ScalarNode]:
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, MapNode | ListNode):
        for item in node.items.values() if isinstance(node, MapNode) else node.items:
            yield from _scalars(item)


def axes_of(draft: Draft) -> tuple[str, ...] | None:
    """Return the axes on which an entry's parameters depend, in the matrix's order; None after a fault."""
    scope, values = draft.scope, draft.scope.values
    wanted: list[str] = []
    sound = True
    for reference in references(draft.parameters, scope.source):
        name = reference.name
        if name is None or not values.known(name) or name in values.broken:
            scope.unknown(reference, "parameter or matrix axis", values.names)
            sound = False
        elif name in values.varying:
            wanted.append(name)
            gathered = [axis for axis in values.varying[name].axes if axis in draft.entry.gathers]
            if gathered:
                message = f"`over` gathers the axis {gathered[0]!r}, so no one value of it is known here"
                hint = "leave the reference out, or leave the axis out of `over`"
                scope.fault(reference.location, message, hint)
                sound = False
    return values.axes_behind(wanted) if sound else None


def make_variants(
    draft: Draft, axes: tuple[str, ...], kinds: Mapping[str, Sequence[str]]
) -> dict[tuple[int, ...], Variant]:
    """Fill in and validate the parameters for each choice; faults are noted and leave their variant out.

    `kinds` are those of the entry's inputs by slot.
    """
    found: dict[tuple[int, ...], Variant] = {}
    entry, scope, values = draft.entry, draft.scope, draft.scope.values
    also = [*RESERVED, *entry.stage.inputs]
    count = values.axes.count(axes)
    if count > MAX_RUNS:
        message = f"{entry.name!r} would run {count:,} times, and a workflow has at most {MAX_RUNS:,} runs"
        scope.fault(entry.location, message, "give the matrix fewer values")
        return found
    named = [each.name for each in references(draft.parameters, scope.source)]
    varying = [name for name in dict.fromkeys(named) if name is not None and name in values.varying]
    size = 0
    with scope.faults.noted():
        for choice in values.axes.choices(axes):
            chosen = {**values.parameters, **values.at(varying, axes, choice)}
            filled = fill(draft.parameters, chosen, scope.source)
            size += filled.size
            if size > MAX_VALUES:
                message = f"the variants of {entry.name!r} have more than {MAX_VALUES:,} values"
                scope.fault(entry.location, message)
                return found
            variant = _variant(draft, filled.value, also, kinds)
            if variant is not None:
                found[choice] = variant
    return found


def _variant(
    draft: Draft, data: dict[str, Json], also: list[str], kinds: Mapping[str, Sequence[str]]
) -> Variant | None:
    checked = validate(draft, data, also, kinds)
    if isinstance(checked, list):
        draft.scope.faults.add_all(checked)
        return None
    try:
        return Variant(*place_files(draft, checked, data))
    except (ValidationError, ValueError, OSError) as error:
        reason = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error
        message = f"a file of {draft.entry.name!r} cannot be named: {reason}"
        draft.scope.fault(draft.entry.location, message)
        return None
