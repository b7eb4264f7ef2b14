"""The description of a data set, and catalogue files: YAML with data sets by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.model import DataSet
from gravel.pipeline.workflow.nodes import MapNode, Node, parse, to_text
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.values import Scope
from gravel.stages.artifact import Json
from gravel.stages.urls import is_url

FIELDS = {
    "file": "a path, from the folder of the file that names it, or a URL",
    "url": "the same, where it is a URL",
    "sha256": "what the file, as stored, must hash to",
    "format": "the file's format, if it is not to be detected",
    "weights": "false: leave weights out",
    "vertices": "how many vertices there must be after ingest",
    "edges": "how many edges, as the file lists them, loops and repetitions included",
    "about": "what it is",
    "homepage": "where it is described",
    "citation": "what to cite",
    "licence": "under which terms it may be used",
    "stand_in": "a generator of `ingest`: a graph of the same kind for machines that cannot fetch this one",
}
"""The keys of a data set."""

CATALOGUE = {
    "catalogue": "the catalogue's name",
    "about": "what it holds",
    "datasets": "the data sets by name",
}
"""The keys of a catalogue file."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def is_catalogue(text: str) -> bool:
    """Tell the name of a catalogue file from that of a graph."""
    return not is_url(text) and PurePosixPath(text).suffix.lower() in (".yaml", ".yml")


def _expected(key: str, value: Json) -> str | None:
    """Say what the value of a key must be; None if it is that."""
    if key in ("vertices", "edges"):
        good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return None if good else "a count is expected"
    if key == "weights":
        return None if isinstance(value, bool) else "true or false is expected"
    if key == "stand_in":
        good = isinstance(value, dict) and len(value) == 1
        return None if good else "one generator with its parameters is expected"
    if not isinstance(value, str) or not value.strip():
        return "a text is expected"
    if key == "sha256" and not _SHA256.fullmatch(value):
        return "64 hexadecimal digits are expected"
    return None


_LIKE = "write it like datasets: {road: {url: https://..., vertices: 10}}"
_HINTS = {"stand_in": "write it like stand_in: {rmat: {scale: 10, edge_factor: 16, seed: 1}}"}


def described(
    name: str, value: Mapping[str, Json], node: Node, place: Location, folder: Path, scope: Scope
) -> DataSet | None:
    """Check the entry of a data set, which stands at `node`; None after a fault."""
    before = len(scope.faults)
    nodes = node.items if isinstance(node, MapNode) else {}
    given = {key: item for key, item in value.items() if item is not None}
    for key in value:
        where = nodes.get(key, place)
        if key not in FIELDS:
            scope.fault(where, f"a data set has no field {key!r}", suggest(key, FIELDS, "field"))
        elif key in given and (expected := _expected(key, given[key])) is not None:
            scope.fault(where, f"`{key}` is {to_text(given[key])!r:.80}, and {expected}", _HINTS.get(key))
    if len(scope.faults) > before:
        return None
    location = given.pop("file", None)
    url = given.pop("url", None)
    if (location is None) == (url is None) and (url is not None or "stand_in" not in value):
        found = "both `file` and `url`" if url is not None else "neither `file` nor `url`"
        scope.fault(place, f"the data set {name!r} has {found}", "say where it lies, once")
        return None
    if url is not None and not is_url(url):
        where = nodes.get("url", place)
        scope.fault(where, f"`url` is {url!r:.60}, which is no URL", "name a path as `file`")
        return None
    if location is not None and not is_url(location):
        location = str(absolute(location, folder))
    return DataSet(name, location or url or "", place, **given)


def absolute(path: str, folder: Path) -> Path:
    """Return the path beside the file that names it, or the one from here if only that exists."""
    # An unknown user's ~name is left as it is.
    wanted = Path(os.path.expanduser(path))  # noqa: PTH111
    beside, here = (folder / wanted).absolute(), wanted.absolute()
    return here if here.exists() and not beside.exists() else beside


def read_catalogue(path: Path) -> dict[str, DataSet]:
    """Read a catalogue file.

    Raises RequestError if there is none that can be read, and WorkflowError, with the places, for its faults.
    """
    source = read_workflow_text(path)
    root, problems = parse(source)
    faults = Faults(source.name)
    faults.add_all(problems)
    listed = root.items.get("datasets") if isinstance(root, MapNode) else None
    if isinstance(root, MapNode) and isinstance(listed, MapNode) and listed.items:
        found = _data_sets(listed, Scope(source, path, root, faults))
    else:
        place = Location(source.name, 1, 1) if root is None else source.at(listed or root)
        message = "a catalogue has a section `datasets` of names with what is known of them"
        faults.add(message, _LIKE, place)
    faults.raise_if_any()
    return found


def _data_sets(listed: MapNode, scope: Scope) -> dict[str, DataSet]:
    for key, word in scope.top.keys.items():
        if key not in CATALOGUE:
            scope.fault(word, f"a catalogue has no key {key!r}", suggest(key, CATALOGUE, "key"))
    found = {}
    for name, node in listed.items.items():
        place = scope.at(listed.keys[name])
        filled = scope.fixed(node)
        if filled is None:
            continue
        if not isinstance(filled.value, dict) or not isinstance(node, MapNode):
            scope.fault(place, f"the data set {name!r} is no mapping", _LIKE)
        elif data_set := described(name, filled.value, node, place, scope.folder, scope):
            found[name] = data_set
    return found
