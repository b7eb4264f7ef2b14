"""A workflow that another one uses: `name: {use: other.yaml, parameters: {...}}`.

Its entries become entries of the using workflow, called `name.entry`, and its axes become axes called
`name.axis`. Faults are reported where they stand, in whichever file that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gravel.pipeline.core.errors import GravelError, Location, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.entry_reader import EntryReader
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.substitution import Filled, references
from gravel.pipeline.workflow.values import NAME, Origin, Values, Varying, malformed

if TYPE_CHECKING:
    from gravel.pipeline.workflow.faults import Faults
    from gravel.pipeline.workflow.scope import Scope

__all__ = ["NEST", "USE", "is_use", "read_use"]

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


class Reading(Protocol):
    """What reads the files that a workflow uses; see `gravel.pipeline.workflow.scopes`."""

    faults: Faults
    names: list[str]

    def open(self, path: Path, user: Scope, prefix: str, where: Location) -> Scope | None:
        """Open a file that another one uses; None after a fault."""

    def read(self, scope: Scope, values: Values, given: Mapping[str, Filled | Varying | None]) -> list[Draft]:
        """Read the sections of a file."""


def is_use(node: Node) -> bool:
    """Say whether an entry uses another workflow."""
    return isinstance(node, MapNode) and USE in node.items and "stage" not in node.items


def read_use(name: str, node: MapNode, place: Location, scope: Scope, reading: Reading) -> list[Draft]:
    """Read the workflow that an entry uses; returns its entries. Faults are noted."""
    nest = _Nest(name, node, place, scope, reading)
    target = nest.target()
    if target is None:
        return []
    path, where = target
    try:
        inner = reading.open(path, scope, f"{scope.prefix}{name}.", where)
        if inner is None:
            return []
    except WorkflowError as error:
        for problem in error.problems:
            reading.faults.add_problem(problem)
        return []
    except GravelError as error:
        reading.faults.add(str(error), error.problems[0].hint, where)
        return []
    given, origins = nest.given(inner.top.items.get("parameters"), str(path))
    values = Values(
        axes=scope.values.axes, origins=origins, folders=(path.absolute().parent, *scope.values.folders)
    )
    drafts = reading.read(inner, values, given)
    for axis, full in values.own_axes.items():
        scope.values.own_axes[f"{name}.{axis}"] = full
    scope.values.datasets.update(values.datasets)
    kept = nest.chosen(drafts, reading.names)
    left_out = {draft.name for draft in drafts} - {draft.name for draft in kept}
    reading.names = [each for each in reading.names if each not in left_out]
    return kept


class _Nest:
    def __init__(self, name: str, node: MapNode, place: Location, scope: Scope, reading: Reading) -> None:
        self.name = name
        self.node = node
        self.scope = scope
        self.faults = reading.faults
        self.entry = EntryReader(name, node, place, scope.values, scope.source, reading.faults, scope.prefix)

    def target(self) -> tuple[Path, Location] | None:
        """Return the path of the workflow to use, relative to the file that names it."""
        faults, source = self.faults, self.scope.source
        if not NAME.fullmatch(self.name):
            hint = "use letters, digits, _ and -, beginning with a letter"
            faults.add(f"{self.name!r} cannot be a name", hint, self.entry.place)
            return None
        for key, node in self.node.keys.items():
            if key not in NEST:
                message = f"an entry that uses a workflow has no key {key!r}"
                faults.add(message, suggest(key, NEST, "key"), source.at(node))
        self.entry.about()
        before = len(faults)
        wanted = self.entry.plain(USE, None)
        where = self.entry.at(USE)
        if len(faults) > before or (wanted is None and self.scope.values.broken):
            return None
        if not isinstance(wanted, str) or not wanted:
            faults.add(
                f"`use` is {to_text(wanted)!r:.60}, and the path of a workflow file is expected", None, where
            )
            return None
        return self.scope.path.parent / Path(wanted).expanduser(), where

    def given(
        self, defaults: Node | None, called: str
    ) -> tuple[dict[str, Filled | Varying | None], dict[str, Origin]]:
        """Evaluate what is given to parameters; returns values (None for a faulty one) and their places."""
        node = self.node.items.get("parameters")
        source, values = self.scope.source, self.scope.values
        if node is None or (isinstance(node, ScalarNode) and node.value is None):
            return {}, {}
        if not isinstance(node, MapNode):
            hint = "write it like parameters: {scale: 18}"
            self.faults.add("`parameters` is no mapping of names to values", hint, source.at(node))
            return {}, {}
        known = list(defaults.items) if isinstance(defaults, MapNode) else []
        given: dict[str, Filled | Varying | None] = {}
        origins: dict[str, Origin] = {}
        for name, item in node.items.items():
            if name not in known:
                hint = suggest(name, known, "parameter")
                self.faults.add(f"{called} has no parameter {name!r}", hint, source.at(node.keys[name]))
                continue
            further = values.origin_of(item)
            prefix = self.scope.prefix if further is None else further.prefix
            origins[name] = Origin(source.at(item), prefix)
            given[name] = self.value(item, values)
        return given, origins

    def value(self, node: Node, values: Values) -> Filled | Varying | None:
        sound = True
        for reference in references(node, self.scope.source):
            name = reference.name
            if name is None:
                self.faults.add(*malformed(reference.text), reference.location)
            elif not values.known(name) and name not in values.broken:
                hint = suggest(name, values.names, "parameter or matrix axis")
                self.faults.add(f"there is no parameter or matrix axis {name!r}", hint, reference.location)
            sound = sound and name is not None and values.known(name)
        if not sound:
            return None
        try:
            return values.evaluate(node, self.scope.source)
        except WorkflowError as error:
            for problem in error.problems:
                self.faults.add_problem(problem)
            return None

    def chosen(self, drafts: list[Draft], met: list[str]) -> list[Draft]:
        """Keep the entries that `only` names, and what they need; `met` are all entries, readable or not."""
        if "only" not in self.node.items:
            return drafts
        before = len(self.faults)
        wanted = self.entry.plain("only", None)
        if len(self.faults) > before or (wanted is None and self.scope.values.broken):
            return drafts
        prefix = f"{self.scope.prefix}{self.name}."
        by_name: Mapping[str, Draft] = {draft.name: draft for draft in drafts}
        node = self.node.items["only"]
        nodes = node.items if isinstance(node, ListNode) else (node,)
        waiting: list[str] = []
        for at, each in enumerate(wanted if isinstance(wanted, list) else [wanted]):
            full = prefix + to_text(each)
            if full in by_name:
                waiting.append(full)
                continue
            known = [name.removeprefix(prefix) for name in by_name]
            where = self.scope.source.at(nodes[at] if at < len(nodes) else node)
            if known and full not in met:
                message = f"{self.name!r} has no entry {to_text(each)!r:.60}"
                self.faults.add(message, suggest(to_text(each), known, "entry"), where)
        kept = set(waiting)
        while waiting:
            for names in by_name[waiting.pop()].slots.values():
                new = {each.name for each in names if each.name in by_name} - kept
                kept |= new
                waiting += new
        return [draft for draft in drafts if draft.name in kept]
