"""Relative paths in a stage's parameters: beside the workflow file first, else in the current directory."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.trace import note_there
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode
from gravel.pipeline.workflow.substitution import references
from gravel.stages.artifacts import Json
from gravel.stages.stage import Parameters

_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:::|://)", re.IGNORECASE)  # fsspec's forms


def place_files(
    draft: Draft, parameters: Parameters, data: dict[str, Json]
) -> tuple[Parameters, dict[str, Location]]:
    """Make the paths that the parameters name absolute, and say where the workflow names them.

    A relative path means the file beside the workflow that names it if there is one, else beside another one
    that uses it or is used by it, else the one in the current directory; URLs stay as they are.
    """
    stage, values = draft.stage, draft.values
    named = [each.location for each in stage.files(parameters)]
    if not named:
        return parameters, {}
    places: dict[str, str] = {}
    where: dict[str, Location] = {}
    for location in named:
        found = _find(draft.parameters, location)
        names = [each.name for each in references(found, draft.source)] if found is not None else []
        given = next((values.origins[name].location for name in names if name in values.origins), None)
        folders = values.folders if given is None else values.folders[::-1]
        places[location] = _place_file(location, folders)
        own = draft.source.at(found) if found is not None else draft.location
        where[places[location]] = values.places.get(location, own if given is None else given)
    if all(location == placed for location, placed in places.items()):
        return parameters, where
    moved = stage.parameters.model_validate(_replace(data, places))
    return moved, where


def _place_file(location: str, folders: Sequence[Path]) -> str:
    if _URL.match(location):
        return location
    path = Path(os.path.expanduser(location))  # noqa: PTH111 (an unknown user's is left as it is)
    if path.is_absolute():
        return str(path)
    here = path.absolute()
    beside = [(folder / path).absolute() for folder in folders]
    # Where none is there, the one whose folder is lets the message name the nearest file.
    likely = [
        *((each, _exists(each)) for each in (*beside, here)),
        *((each, each.parent.exists()) for each in beside),
    ]
    return str(next((each for each, there in likely if there), here))


def _exists(path: Path) -> bool:
    there = path.exists()
    note_there(path, there)
    return there


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
    refers = [scalar for scalar in scalars if "${" in scalar.text]
    return next(iter(exact or refers), None)


def _scalars(node: Node) -> list[ScalarNode]:
    if isinstance(node, ScalarNode):
        return [node]
    items = (
        node.items.values() if isinstance(node, MapNode) else node.items if isinstance(node, ListNode) else ()
    )
    return [scalar for item in items for scalar in _scalars(item)]
