"""Relative paths in a stage's parameters: beside the workflow file first, else in the current directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipeline.errors import Location
from pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text
from stages.artifacts import Json
from stages.stage import Parameters, Stage

_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:::|://)", re.IGNORECASE)  # fsspec's forms


def place_files(
    stage: Stage,
    parameters: Parameters,
    data: dict[str, Json],
    folder: Path,
    node: Node,
    source: Text,
    entry: Location,
) -> tuple[Parameters, dict[str, Location]]:
    """Make the paths that the parameters name absolute, and say where the workflow names them.

    A relative path means the file beside the workflow if there is one, else the one in the current
    directory; URLs stay as they are.
    """
    named = [each.location for each in stage.files(parameters)]
    if not named:
        return parameters, {}
    places = {location: _place_file(location, folder) for location in named}
    where = {
        places[location]: source.at(found) if (found := _find(node, location)) else entry
        for location in named
    }
    if all(location == placed for location, placed in places.items()):
        return parameters, where
    moved = stage.parameters.model_validate(_replace(data, places))
    return moved, where


def _place_file(location: str, folder: Path) -> str:
    if _URL.match(location):
        return location
    path = Path(os.path.expanduser(location))  # noqa: PTH111 (an unknown user's is left as it is)
    if path.is_absolute():
        return str(path)
    beside, here = (folder / path).absolute(), path.absolute()
    # Where neither is there, the one whose folder is lets the message name the nearest file.
    likely = (beside, beside.exists()), (here, here.exists()), (beside, beside.parent.exists()), (here, True)
    return str(next(path for path, there in likely if there))


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
