"""A data set as a workflow or a catalogue describes it, and catalogue files: YAML with data sets by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gravel.pipeline.core.errors import GravelError, Location, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nodes import MapNode, Node, Text, parse
from gravel.pipeline.workflow.reading import read_workflow_text
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.substitution import fill
from gravel.stages.artifacts import Json

__all__ = ["CATALOGUE", "FIELDS", "DataSet", "described", "is_catalogue", "is_url", "read_catalogue"]

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

_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:::|://)", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class DataSet:
    """One data set: its name, where it lies, what is known of it, and where that is written.

    `location` is an absolute path or a URL, empty where only a stand-in can be had. `vertices` and `edges`
    are the counts that it must have. `stand_in` is a generator of `ingest` with its parameters.
    """

    name: str
    location: str
    place: Location
    sha256: str | None = None
    format: str | None = None
    weights: bool = True
    vertices: int | None = None
    edges: int | None = None
    about: str = ""
    homepage: str = ""
    citation: str = ""
    licence: str = ""
    stand_in: Mapping[str, Json] | None = None

    def generated(self) -> DataSet:
        """Return the stand-in as a data set of its own, whose name says what it is."""
        return DataSet(f"{self.name}-stand-in", "", self.place, stand_in=self.stand_in, about=self.about)

    def parameters(self) -> dict[str, Json]:
        """Return it as parameters of `ingest`: what `with: ${dataset}` puts in."""
        if not self.location:
            return {"source": dict(self.stand_in or {})}
        found: dict[str, Json] = {"file": self.location}
        if self.format is not None:
            found["format"] = self.format
        if self.sha256 is not None:
            found["sha256"] = self.sha256.lower()
        if not self.weights:
            found["weights"] = False
        counts = {"vertices": self.vertices, "edges": self.edges}
        expected = {name: count for name, count in counts.items() if count is not None}
        return {**found, "expect": expected} if expected else found


def is_url(text: str) -> bool:
    """Tell a URL from a path."""
    return _URL.match(text) is not None


def is_catalogue(text: str) -> bool:
    """Tell the name of a catalogue file from that of a graph."""
    return not is_url(text) and PurePosixPath(text).suffix.lower() in (".yaml", ".yml")


def described(
    name: str,
    value: Mapping[str, Json],
    folder: Path,
    place: Location,
    at: Mapping[str, Location],
    faults: Faults,
) -> DataSet | None:
    """Check the entry of a data set; `at` leads from its keys to their places. None after a fault."""
    before = len(faults)

    def fault(key: str, message: str, hint: str | None = None) -> None:
        faults.add(message, hint, at.get(key, place))

    for key in value:
        if key not in FIELDS:
            fault(key, f"a data set has no field {key!r}", suggest(key, FIELDS, "field"))
    named = [key for key in ("file", "url") if value.get(key) is not None]
    if len(named) != 1 and not (not named and "stand_in" in value) and len(faults) == before:
        found = "both `file` and `url`" if named else "neither `file` nor `url`"
        faults.add(f"the data set {name!r} has {found}", "say where it lies, once", place)
    for key in ("file", "url", "sha256", "format", "about", "homepage", "citation", "licence"):
        text = value.get(key)
        if text is not None and (not isinstance(text, str) or not text.strip()):
            fault(key, f"`{key}` is {to_text(text)!r:.60}, and a text is expected")
    for key in ("vertices", "edges"):
        count = value.get(key)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            fault(key, f"`{key}` is {to_text(count)!r:.60}, and a count is expected")
    if not isinstance(value.get("weights", True), bool):
        fault("weights", f"`weights` is {to_text(value['weights'])!r:.60}, and true or false is expected")
    checksum = value.get("sha256")
    if isinstance(checksum, str) and not _SHA256.fullmatch(checksum):
        fault("sha256", f"`sha256` is {checksum!r:.80}, and 64 hexadecimal digits are expected")
    generator = value.get("stand_in")
    if generator is not None and (not isinstance(generator, dict) or len(generator) != 1):
        fault(
            "stand_in",
            f"`stand_in` is {to_text(generator)!r:.60}, and one generator with its parameters is expected",
            "write it like stand_in: {rmat: {scale: 10, edge_factor: 16, seed: 1}}",
        )
    if "url" in named and isinstance(value["url"], str) and not is_url(value["url"]):
        fault("url", f"`url` is {value['url']!r:.60}, which is no URL", "name a path as `file`")
    if len(faults) > before:
        return None
    location = value[named[0]] if named else ""
    return DataSet(
        name,
        location if is_url(location) or not location else str(absolute(location, folder)),
        place,
        **{key: item for key, item in value.items() if key not in ("file", "url") and item is not None},
    )


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
    faults = Faults(source.name)
    found = _data_sets(source, path.absolute().parent, faults)
    faults.raise_if_any()
    return found


def _data_sets(source: Text, folder: Path, faults: Faults) -> dict[str, DataSet]:
    root, problems = parse(source)
    for problem in problems:
        faults.add_problem(problem)
    hint = "write it like datasets: {road: {url: https://..., vertices: 10}}"
    listed = root.items.get("datasets") if isinstance(root, MapNode) else None
    if not isinstance(root, MapNode) or not isinstance(listed, MapNode) or not listed.items:
        place = Location(source.name, 1, 1) if root is None else source.at(listed or root)
        faults.add("a catalogue has a section `datasets` of names with what is known of them", hint, place)
        return {}
    for key, word in root.keys.items():
        if key not in CATALOGUE:
            message = f"a catalogue has no key {key!r}"
            faults.add(message, suggest(key, CATALOGUE, "key"), source.at(word))
    found = {}
    for name, node in listed.items.items():
        place = source.at(listed.keys[name])
        value = _plain(node, source, faults)
        if not isinstance(value, dict) or not isinstance(node, MapNode):
            faults.add(f"the data set {name!r} is no mapping", hint, place)
            continue
        at = {key: source.at(item) for key, item in node.items.items()}
        data_set = described(name, value, folder, place, at, faults)
        if data_set is not None:
            found[name] = data_set
    return found


def _plain(node: Node, source: Text, faults: Faults) -> Json:
    try:
        return fill(node, {}, source).value
    except KeyError:
        faults.add("a catalogue has no parameters to refer to", None, source.at(node))
    except GravelError as error:
        problems = error.problems if isinstance(error, WorkflowError) else ()
        for problem in problems:
            faults.add_problem(problem)
    return None
