"""A workflow file and those that it uses, read to entries that are not yet wired to each other.

One file uses another with an entry `name: {use: other.yaml, parameters: {...}}`. The entries of the other
become entries of this one, called `name.entry`, and its axes become axes called `name.axis`. Faults are
reported where they stand, in whichever file that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.entries import Draft, about_of, read_entry
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Text, is_null, parse, to_text
from gravel.pipeline.workflow.parameters import read_values
from gravel.pipeline.workflow.plugins import with_plugins
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.values import Filled, Origin, Scope, Values, Varying, listed
from gravel.stages.stage import Stage

SECTIONS = {
    "workflow": "the workflow's name",
    "about": "what it is for",
    "parameters": "names with default values, for ${name} and --set",
    "matrix": "axes with their values, listed or named; every combination is an experiment",
    "datasets": "the axis `dataset`: files, a glob, URLs or a catalogue, each run through the same stages",
    "plugins": "Python files with stages of your own, by their paths from this file's folder",
    "stages": "the entries: which stage, from which inputs, with which parameters",
    "outputs": "files that results are written to after each run, by entry: 'out/{dataset}.{stage}.parquet'",
}
"""The keys of a workflow file."""

USE = "use"

NEST = {
    "use": "another workflow file, whose entries become entries of this one under this name",
    "parameters": "values for its parameters; they may refer to parameters and axes, or name entries",
    "only": "those of its entries to use, with what they need; all of them if left out",
    "about": "what it is for",
}
"""Keys of an entry that uses another workflow."""

MAX_USES = 200  # of one workflow, counted with those of the workflows that it uses
MAX_NESTED = 16  # workflows that use each other

Given = Mapping[str, Filled | Varying | None]
"""What a workflow gives to the parameters of one that it uses; None for a value that has a fault."""


class Reader:
    """Reads a workflow with everything that it uses; `names` are all entries met, also unreadable ones."""

    def __init__(self, stages: Mapping[str, Stage], overrides: Mapping[str, str], faults: Faults) -> None:
        self.names: list[str] = []
        self._stages = stages
        self._overrides = overrides
        self._faults = faults
        self._trees: dict[Path, tuple[Text, MapNode]] = {}
        self._uses = 0
        self._prefixes: list[str] = []

    def main(self, source: Text, path: Path) -> tuple[Scope, list[Draft]]:
        """Read the file that was asked for."""
        scope = Scope(source, path, _top_of(source, self._faults), self._faults, chain=(path.resolve(),))
        scope.values.folders = (scope.folder,)
        drafts = self._read(scope, {})
        for name in self._overrides:
            nest = _nest_of(name)
            if nest not in self._prefixes:
                known = [prefix.rstrip(".") for prefix in self._prefixes if prefix]
                hint = suggest(nest.rstrip("."), known, "nested workflow")
                self._faults.add(f"--set {name}: there is no nested workflow {nest.rstrip('.')!r}", hint)
        return scope, drafts

    def _read(self, scope: Scope, given: Given) -> list[Draft]:
        """Read the sections of a file, the entries of which are returned; faults are noted."""
        stages = with_plugins(scope, self._stages)
        self._prefixes.append(scope.prefix)
        own = {
            name.removeprefix(scope.prefix): text
            for name, text in self._overrides.items()
            if _nest_of(name) == scope.prefix
        }
        read_values(scope, own, given)
        hint = "stages: {edges: {stage: ingest, ...}}"
        section = scope.top.items.get("stages")
        if section is None:
            scope.fault(scope.top, "there is no section `stages`, so there is nothing to run", f"add {hint}")
            return []
        if not isinstance(section, MapNode) or not section.items:
            message = "`stages` has no entries, and names of entries are expected"
            scope.fault(section, message, f"write it like {hint}")
            return []
        places = {name: scope.at(key) for name, key in section.keys.items()}
        # Workflows that are used come first: their axes are among those that `over` may name.
        nested = {
            name: self._use(name, node, places[name], scope)
            for name, node in section.items.items()
            if isinstance(node, MapNode) and USE in node.items and "stage" not in node.items
        }
        drafts: list[Draft] = []
        for name, node in section.items.items():
            if not nested.get(name):
                self.names.append(scope.prefix + name)
            if name in nested:
                drafts += nested[name]
            elif (draft := read_entry(name, node, places[name], scope, stages)) is not None:
                drafts.append(draft)
        return drafts

    def _use(self, name: str, node: MapNode, place: Location, user: Scope) -> list[Draft]:
        """Read the workflow that an entry uses; returns its entries. Faults are noted."""
        inner = None
        path = _target(name, node, place, user)
        if path is not None:
            where = user.at(node.items[USE])
            with self._faults.noted(where):
                inner = self._open(path, user, f"{user.prefix}{name}.", where)
        if inner is None:
            return []
        drafts = self._read(inner, _given(node, inner, user))
        user.values.own_axes.update({f"{name}.{axis}": full for axis, full in inner.values.own_axes.items()})
        user.values.datasets.update(inner.values.datasets)
        kept = self._chosen(name, node, user, drafts) if "only" in node.items else drafts
        left_out = {draft.entry.name for draft in drafts} - {draft.entry.name for draft in kept}
        self.names = [each for each in self.names if each not in left_out]
        return kept

    def _open(self, path: Path, user: Scope, prefix: str, where: Location) -> Scope | None:
        """Open a file that another one uses; None after a fault. Raises GravelError if it cannot be read."""
        try:
            real = path.resolve()
        except (OSError, ValueError):
            user.fault(where, f"{str(path)!r} cannot be the name of a file", "name a workflow file")
            return None
        if real in user.chain:
            circle = [*user.chain[user.chain.index(real) :], real]
            names = " uses ".join(each.name for each in circle)
            user.fault(where, f"the workflows use each other in a circle: {names}")
            return None
        self._uses += 1
        if len(user.chain) >= MAX_NESTED or self._uses > MAX_USES:
            limit = f"{MAX_NESTED} files deep" if len(user.chain) >= MAX_NESTED else f"{MAX_USES} in all"
            if self._uses <= MAX_USES + 1:
                user.fault(where, f"too many workflows use each other; the limit is {limit}")
            return None
        if real not in self._trees:
            source = read_workflow_text(path)
            self._trees[real] = source, _top_of(source, self._faults)
        source, top = self._trees[real]
        folders = (path.absolute().parent, *user.values.folders)
        values = Values(user.values.coordinates, user.values.combinations, folders=folders)
        return Scope(source, path, top, self._faults, values, prefix, (*user.chain, real))

    def _chosen(self, name: str, node: MapNode, user: Scope, drafts: list[Draft]) -> list[Draft]:
        """Keep the entries that `only` names, and what they need."""
        only = node.items["only"]
        filled = user.fixed(only)
        if filled is None:
            return drafts
        prefix = f"{user.prefix}{name}."
        by_name = {draft.entry.name: draft for draft in drafts}
        waiting: list[str] = []
        for value, where in listed(filled.value, only):
            entry = to_text(value)
            full = prefix + entry
            if full in by_name:
                waiting.append(full)
            elif by_name and full not in self.names:
                known = [each.removeprefix(prefix) for each in by_name]
                user.fault(where, f"{name!r} has no entry {entry!r:.60}", suggest(entry, known, "entry"))
        kept = set(waiting)
        while waiting:
            for names in by_name[waiting.pop()].slots.values():
                new = {each.name for each in names if each.name in by_name} - kept
                kept |= new
                waiting += new
        return [draft for draft in drafts if draft.entry.name in kept]


def _nest_of(name: str) -> str:
    return name[: name.rfind(".") + 1]


def _target(name: str, node: MapNode, place: Location, user: Scope) -> Path | None:
    """Return the path of the workflow to use, which counts from the file that names it."""
    if not user.is_name(name, place):
        return None
    for key, place_of_key in node.keys.items():
        if key not in NEST:
            message = f"an entry that uses a workflow has no key {key!r}"
            user.fault(place_of_key, message, suggest(key, NEST, "key"))
    about_of(node, user)
    filled = user.fixed(node.items[USE])
    if filled is None:
        return None
    if not isinstance(filled.value, str) or not filled.value:
        written = to_text(filled.value)
        user.fault(node.items[USE], f"`use` is {written!r:.60}, and the path of a workflow file is expected")
        return None
    return user.path.parent / Path(filled.value).expanduser()


def _given(node: MapNode, inner: Scope, user: Scope) -> Given:
    """Evaluate what an entry gives to the parameters of the workflow that it uses."""
    section = node.items.get("parameters")
    if section is None or is_null(section):
        return {}
    if not isinstance(section, MapNode):
        message = "`parameters` is no mapping of names to values"
        user.fault(section, message, "write it like parameters: {scale: 18}")
        return {}
    defaults = inner.top.items.get("parameters")
    known = list(defaults.items) if isinstance(defaults, MapNode) else []
    given: dict[str, Filled | Varying | None] = {}
    for name, item in section.items.items():
        if name not in known:
            hint = suggest(name, known, "parameter")
            user.fault(section.keys[name], f"{inner.path} has no parameter {name!r}", hint)
            continue
        further = user.values.origin_of(item)
        prefix = user.prefix if further is None else further.prefix
        inner.values.origins[name] = Origin(user.at(item), prefix)
        given[name] = user.evaluate(item)
    return given


BEGINS = "a workflow begins with `stages:`; see workflows/quickstart.yaml"


def _top_of(source: Text, faults: Faults) -> MapNode:
    """Parse a file and return its top; raises WorkflowError for what is no mapping."""
    root, problems = parse(source)
    faults.add_all(problems)
    if root is None or is_null(root):
        message = f"{source.name} {'says nothing' if source.text.strip() else 'is empty'}"
        raise WorkflowError([Problem(message, BEGINS, Location(source.name, 1, 1))])
    if not isinstance(root, MapNode):
        what = "a list" if isinstance(root, ListNode) else "a text"
        message = f"this is {what}, and a workflow is a mapping"
        raise WorkflowError([Problem(message, BEGINS, source.at(root))])
    if len(root.keys) > 1 and not set(root.keys) & set(SECTIONS):
        message = f"this is no workflow: it has {', '.join(root.keys)}"
        first = next(iter(root.keys.values()))
        raise WorkflowError([Problem(message, BEGINS, source.at(first))])
    for key, node in root.keys.items():
        if key not in SECTIONS:
            hint = suggest(key, SECTIONS, "section")
            faults.add(f"a workflow has no section {key!r}", hint, source.at(node))
    return root
