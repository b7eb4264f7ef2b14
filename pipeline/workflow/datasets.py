"""The section `datasets` of a workflow: files, globs, URLs and catalogues become an axis of the matrix.

The axis is called `dataset`; a value goes by the data set's name and is the mapping of `ingest`'s parameters
that stands for it, put in by `with: ${dataset}`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.catalogue import absolute, described, is_catalogue, read_catalogue
from gravel.pipeline.workflow.model import DataSet
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, is_null, to_text
from gravel.pipeline.workflow.values import Scope, listed, references
from gravel.stages.artifact import Json
from gravel.stages.urls import is_url, shown, visible

AXIS = "dataset"
"""The name of the axis, and of what stages refer to."""

MAX_DATASETS = 1000
"""Of one section; each is a value of the axis, so the limits of the matrix come next."""

_PICKED = ("catalogue", "pick", "stand_ins")
_PACKED = {".gz", ".bz2", ".xz", ".zst"}
_SHAPES = "write a path, a glob, a URL or a catalogue.yaml; a list of them; or names with one each"


def read_datasets(node: Node, scope: Scope) -> dict[str, DataSet]:
    """Return the data sets that a section names, by name; faults are noted.

    Relative paths start from the folder of the file, and for a value that another file gives from that of
    the outermost one.
    """
    if is_null(node):
        return {}
    before = len(scope.faults)
    found = list(_Reader(scope).section(node))
    if len(scope.faults) > before:
        return {}
    if len(found) > MAX_DATASETS:
        message = f"`datasets` names {len(found):,} data sets, and at most {MAX_DATASETS:,} are taken"
        scope.fault(node, message, "split them over several workflows")
        return {}
    return _named(found, scope)


def axis_node(found: Mapping[str, DataSet], node: Node) -> MapNode:
    """Return the data sets as the axis of a matrix, which stands where the section does."""

    def tree(value: Json) -> Node:
        if isinstance(value, dict):
            items = {key: tree(item) for key, item in value.items()}
            keys = {key: ScalarNode(node.line, node.column, key, key) for key in value}
            size = 1 + len(keys) + sum(item.size for item in items.values())
            return MapNode(node.line, node.column, items, keys, size)
        if isinstance(value, list):
            several = tuple(tree(item) for item in value)
            return ListNode(node.line, node.column, several, 1 + sum(item.size for item in several))
        plain = value.replace("${", "$${") if isinstance(value, str) else value
        return ScalarNode(node.line, node.column, to_text(plain), plain)

    root = tree({name: data_set.parameters() for name, data_set in found.items()})
    assert isinstance(root, MapNode)
    return root


@dataclass(frozen=True)
class _Found:
    data_set: DataSet
    given: bool  # the workflow or catalogue names it itself


class _Reader:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def section(self, node: Node) -> Iterator[_Found]:
        filled = self.scope.fixed(node, "refer to it in a stage instead")
        if filled is None:
            return
        value = filled.value
        origins, folders = self.scope.values.origins, self.scope.values.folders or (Path.cwd(),)
        given = any(each.name in origins for each in references(node, self.scope.source))
        folder = folders[-1 if given else 0]
        if isinstance(value, dict) and "catalogue" not in value:
            for name, item in value.items():
                inner = key = node
                if isinstance(node, MapNode) and name in node.items:
                    inner, key = node.items[name], node.keys[name]
                yield from self.called(name, item, inner, self.scope.at(key), folder)
        else:
            for item, inner in listed(value, node):
                yield from self.item(item, inner, folder)
            if value == []:
                self.scope.fault(node, "`datasets` is empty, so nothing would run", _SHAPES)

    def called(self, name: str, item: Json, node: Node, place: Location, folder: Path) -> Iterator[_Found]:
        """Read a data set that stands under its name."""
        if isinstance(item, str):
            several = is_catalogue(item) or (_is_pattern(item) and not absolute(item, folder).exists())
            if several:
                message = f"the data set {name!r} is {item!r}, which may be several files"
                self.scope.fault(node, message, "leave the name out, or name one file")
                return
            item = {"file": item}
        if not isinstance(item, dict):
            self.scope.fault(place, f"the data set {name!r} is {to_text(item)!r:.60}", _SHAPES)
            return
        data_set = described(name, item, node, place, folder, self.scope)
        if data_set is not None:
            yield _Found(data_set, True)

    def item(self, item: Json, node: Node, folder: Path) -> Iterator[_Found]:
        """Read one item of a list, which may stand for several data sets."""
        place = self.scope.at(node)
        if isinstance(item, dict) and "catalogue" in item:
            yield from self.catalogue(item, node, folder)
        elif isinstance(item, dict):
            location = item.get("file") or item.get("url")
            name = item.get("name") or (_short(location) if isinstance(location, str) else "")
            rest = {key: value for key, value in item.items() if key != "name"}
            for found in self.called(to_text(name), rest, node, place, folder):
                yield replace(found, given="name" in item)
        elif not isinstance(item, str) or not item.strip():
            self.scope.fault(place, f"`datasets` has {to_text(item)!r:.60}", _SHAPES)
        elif is_url(item):
            yield _Found(DataSet(_short(item), item, place), False)
        elif is_catalogue(item):
            yield from self.catalogue({"catalogue": item}, node, folder)
        else:
            path = absolute(item, folder)
            if _is_pattern(item) and not path.exists():
                yield from self.matching(item, place, folder)
            else:
                yield _Found(DataSet(_short(item), str(path), place), False)

    def matching(self, pattern: str, place: Location, folder: Path) -> Iterator[_Found]:
        """Yield the files that a glob matches now, in the order of their names."""
        wanted = os.path.expanduser(pattern)  # noqa: PTH111 (an unknown user's is left as it is)
        for start in dict.fromkeys((folder, Path.cwd())):
            names = sorted(glob.glob(wanted, root_dir=start, recursive=True))  # noqa: PTH207 (a relative one)
            # A link that leads nowhere is a data set that fails, and no other.
            paths = {name: start / name for name in names}
            files = [name for name in names if paths[name].is_file() or not paths[name].exists()]
            for name in files:
                yield _Found(DataSet(_matched(wanted, name), str(paths[name].absolute()), place), False)
            if files:
                return
        self.scope.fault(place, f"no file matches {pattern!r}", f"it is looked for in {folder}")

    def catalogue(self, item: Mapping[str, Json], node: Node, folder: Path) -> Iterator[_Found]:
        """Read those of a catalogue that `pick` names, or all that can be had."""
        nodes = node.items if isinstance(node, MapNode) else {}
        fault = self.scope.fault
        strange = next((key for key in item if key not in _PICKED), None)
        named, generated = item["catalogue"], item.get("stand_ins", False)
        if strange is not None:
            hint = suggest(strange, _PICKED, "key")
            fault(nodes.get(strange, node), f"beside `catalogue` there is no key {strange!r}", hint)
            return
        if not isinstance(named, str):
            fault(node, f"`catalogue` is {to_text(named)!r:.60}, and the path of a file is expected")
            return
        if not isinstance(generated, bool):
            message = f"`stand_ins` is {to_text(generated)!r:.60}, and true or false is expected"
            fault(nodes.get("stand_ins", node), message)
            return
        known: dict[str, DataSet] = {}
        before = len(self.scope.faults)
        with self.scope.faults.noted(self.scope.at(node)):
            known = read_catalogue(absolute(named, folder))
        if len(self.scope.faults) > before:
            return
        wanted = item.get("pick")
        if wanted is None:
            # Without names, those that can be had this way.
            wanted = [name for name, each in known.items() if (each.stand_in if generated else each.location)]
        for name, where in listed(wanted, nodes.get("pick", node)):
            if not isinstance(name, str) or name not in known:
                hint = suggest(to_text(name), known, "data set")
                fault(where, f"{named} has no data set {to_text(name)!r:.60}", hint)
            elif generated and known[name].stand_in is None:
                hint = "pick others, or leave `stand_ins` out and fetch it"
                fault(where, f"{name!r} has no `stand_in` in {named}", hint)
            elif not generated and not known[name].location:
                message = f"{name!r} cannot be fetched: {named} names neither a file nor a URL for it"
                hint = "write stand_ins: true for a generated graph of the same kind, or fetch it from "
                fault(where, message, hint + (known[name].homepage or "where it is published"))
            else:
                yield _Found(known[name].generated() if generated else known[name], True)


def _is_pattern(text: str) -> bool:
    return not is_url(text) and glob.has_magic(text)


def _short(location: str) -> str:
    """Return a file's name without its suffix and that of its compression."""
    location = shown(location)
    name = PurePosixPath(location.split("?")[0].rstrip("/")).name or location
    path = PurePosixPath(name)
    if path.suffix.lower() in _PACKED:
        path = PurePosixPath(path.stem)
    return visible(path.stem or name)


def _matched(pattern: str, path: str) -> str:
    """Return the part of a path that wildcards matched, from the first component that has one on.

    An ending that the pattern has, too, is left out: so no other file can change the name.
    """
    parts = PurePosixPath(pattern).parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    found = PurePosixPath(*PurePosixPath(path).parts[first:])
    asked = PurePosixPath(parts[-1])
    if asked.suffix.lower() in _PACKED:
        found, asked = found.with_suffix(""), PurePosixPath(asked.stem)
    return visible(str(found.with_suffix("") if asked.suffix and asked.suffix == found.suffix else found))


def _named(found: list[_Found], scope: Scope) -> dict[str, DataSet]:
    """Return the data sets by their names; the same file named twice with the same keys is one data set."""
    named: dict[str, DataSet] = {}
    files: dict[str, _Found] = {}
    for each in found:
        data_set = each.data_set
        same = files.setdefault(data_set.location, each) if data_set.location and not each.given else each
        if same is not each and same.data_set.parameters() == data_set.parameters():
            continue
        other = named.setdefault(data_set.name, data_set)
        if other is not data_set:
            places = dict.fromkeys(shown(one.location) for one in (other, data_set) if one.location)
            message = f"two data sets are called {data_set.name!r}"
            both = f": {' and '.join(places)}" if len(places) > 1 else ""
            hint = "give one of them another name, as in {file: ..., name: ...}"
            scope.fault(data_set.place, message + both, hint)
            return {}
    return named
