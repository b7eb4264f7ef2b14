"""What the names of a workflow stand for: parameters, and what depends on the axes of the matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.model import Choice, Combinations, DataSet, choices, count_choices
from gravel.pipeline.workflow.nodes import (
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    Text,
    inner,
    scalars,
    to_text,
    written_list,
)
from gravel.pipeline.workflow.source import Faults
from gravel.stages.artifact import Json
from gravel.stages.urls import REFERENCE, is_url

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

MAX_RUNS = 100_000  # of one workflow; planning takes about a fifth of a millisecond each
MAX_VALUES = 1_000_000  # filled in over all variants of one entry, or all values of one parameter

MERGE = "with"
"""The key of a mapping whose own mapping is put in. (YAML 1.1's `<<` may hold no text such as `${name}`.)"""

MAX_FILLED = 10_000  # values in one filled-in tree
MAX_TEXT = 10_000  # characters of one filled-in text
MAX_FILLED_DEPTH = 64

_MARK = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")


@dataclass(frozen=True)
class Reference:
    """One `${name}` and where it stands; `name` is None where the braces are not closed around a name."""

    name: str | None
    text: str
    location: Location


@dataclass(frozen=True)
class Filled:
    """A value with its size in nodes and its depth; `word` is what was written for null, true or false."""

    value: Json
    size: int = 1
    depth: int = 1
    word: str | None = None

    @property
    def text(self) -> str:
        """The value as it stands in a text."""
        return self.word or to_text(self.value)


def listed(value: Json, node: Node) -> list[tuple[Json, Node]]:
    """Return the items of a list, or the one value, each with the node that it is written in."""
    items = value if isinstance(value, list) else [value]
    nodes = node.items if isinstance(node, ListNode) else (node,) * len(items)
    return list(zip(items, nodes, strict=True))


def references(node: Node, source: Text) -> Iterator[Reference]:
    """Yield every reference in a tree, in the order of the file."""
    for scalar in scalars(node):
        if not isinstance(scalar.value, str) or "${" not in scalar.value:
            continue
        start = scalar.column - 1
        place = source.at(scalar)
        for match in _MARK.finditer(scalar.value):
            if match[0] == "$${" or REFERENCE.fullmatch(match[0]):
                continue
            found = place.snippet.find(match[0], start)
            column = found + 1 if found >= 0 else scalar.column
            start = found + len(match[0]) if found >= 0 else start
            name = (match[1] or "").strip()
            yield Reference(name if NAME.fullmatch(name) else None, match[0], replace(place, column=column))


def fill(node: Node, values: Mapping[str, Filled], source: Text) -> Filled:
    """Return a tree as plain data, every reference replaced; `values` holds all names that occur.

    Raises WorkflowError if the result passes the limits on size, depth or length.
    """
    if isinstance(node, ScalarNode):
        filled = _fill_scalar(node, values, source)
    else:
        parts = [fill(item, values, source) for item in inner(node)]
        plain: Json = written_list((part.value for part in parts), (part.word for part in parts))
        if isinstance(node, MapNode):
            plain = _merged(dict(zip(node.items, plain, strict=True)), node, source)
        size = 1 + sum(part.size for part in parts)
        filled = Filled(plain, size, 1 + max((part.depth for part in parts), default=0))
    if filled.size > MAX_FILLED or filled.depth > MAX_FILLED_DEPTH:
        what = f"has more than {MAX_FILLED:,} values"
        if filled.depth > MAX_FILLED_DEPTH:
            what = f"is nested more than {MAX_FILLED_DEPTH} deep"
        raise WorkflowError([Problem(f"with its references filled in this {what}", None, source.at(node))])
    return filled


def _merged(plain: dict[str, Json], node: MapNode, source: Text) -> dict[str, Json]:
    """Put the items of the mapping at `with` in; those that stand beside it win."""
    if MERGE not in plain:
        return plain
    more = plain.pop(MERGE)
    if not isinstance(more, dict):
        message = f"`{MERGE}` is {to_text(more)!r:.60}, and a mapping is expected"
        hint = "it stands for the items of the mapping that it names, like with: ${axis}"
        raise WorkflowError([Problem(message, hint, source.at(node.items[MERGE]))])
    return {**more, **plain}


def _fill_scalar(node: ScalarNode, values: Mapping[str, Filled], source: Text) -> Filled:
    if not isinstance(node.value, str) or "${" not in node.value:
        known = node.value is None or isinstance(node.value, bool)
        return Filled(node.value, word=node.text if known else None)
    whole = _MARK.fullmatch(node.value)
    if whole is not None and whole[1] is not None and not REFERENCE.fullmatch(whole[0]):
        return values[whole[1].strip()]
    text, end = "", 0
    for match in _MARK.finditer(node.value):
        if REFERENCE.fullmatch(match[0]):
            written = match[0]
        else:
            written = "${" if match[1] is None else values[match[1].strip()].text
        text += node.value[end : match.start()] + written
        end = match.end()
        if len(text) > MAX_TEXT:
            message = f"with its references filled in this text has more than {MAX_TEXT:,} characters"
            raise WorkflowError([Problem(message, None, source.at(node))])
    text += node.value[end:]
    named = REFERENCE.search(text)
    if named is not None and not is_url(text):
        message = f"{named[0]} stands for an environment variable, and may stand in URLs only"
        hint = "write the URL itself here, and ${env:NAME} for its password or the values of its query"
        raise WorkflowError([Problem(message, hint, source.at(node))])
    return Filled(text)


@dataclass(frozen=True)
class Varying:
    """A value for each choice of positions on some axes, in the order of the matrix."""

    axes: tuple[str, ...]
    table: Mapping[Choice, Filled]


@dataclass(frozen=True)
class Origin:
    """Where the value of a parameter stands that a workflow gives to one that it uses.

    `prefix` stands before the names of entries in the file of that place.
    """

    location: Location
    prefix: str


@dataclass
class Values:
    """What the names in one file stand for; `broken` names those that have faults of their own.

    `coordinates` has all axes of a workflow and of those that it uses, in order, under their full names, and
    how each value is called in keys, `--where` and reports; `combinations` says which values go together.
    `varying` holds the axes of the file and the parameters whose values depend on axes of a workflow that
    uses this one; `own_axes` leads from the names of this file's axes, those of workflows that it uses
    included, to their full names. `origins` says where the value of a parameter stands that was given by a
    workflow that uses this one. `folders` are those of this file and of the ones that use it, nearest first.
    `datasets` holds the data sets of this file by name, under the full name of their axis, and `places` where
    the file of each is named.
    """

    coordinates: dict[str, tuple[Json, ...]] = field(default_factory=dict)
    combinations: list[Combinations] = field(default_factory=list)
    parameters: dict[str, Filled] = field(default_factory=dict)
    varying: dict[str, Varying] = field(default_factory=dict)
    own_axes: dict[str, str] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    datasets: dict[str, Mapping[str, DataSet]] = field(default_factory=dict)
    places: dict[str, Location] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    @property
    def names(self) -> list[str]:
        """Every name that a stage may refer to."""
        return [*self.parameters, *self.varying, *sorted(self.broken)]

    def known(self, name: str) -> bool:
        """Say whether a name has a value."""
        return name in self.parameters or name in self.varying

    def put(self, name: str, value: Filled | Varying | None) -> None:
        """Let a parameter have a value; None for one that has a fault."""
        if isinstance(value, Varying):
            self.varying[name] = value
        elif value is not None:
            self.parameters[name] = value
        else:
            self.broken.add(name)

    def axes_behind(self, names: Iterable[str | None]) -> tuple[str, ...]:
        """Return the axes on which the values of these names depend, in the order of the matrix."""
        wanted = {axis for name in names if name in self.varying for axis in self.varying[name].axes}
        return tuple(axis for axis in self.coordinates if axis in wanted)

    def filled(self, node: Node, source: Text, axes: Sequence[str]) -> Iterator[tuple[Choice, Filled]]:
        """Fill a tree in for each choice on these axes, on which all of its names depend that vary."""
        names = {each.name for each in references(node, source)}
        varying = {name: value for name, value in self.varying.items() if name in names}
        for choice in choices(self.combinations, axes):
            place = dict(zip(axes, choice, strict=True))
            chosen = {key: one.table[tuple(place[axis] for axis in one.axes)] for key, one in varying.items()}
            yield choice, fill(node, {**self.parameters, **chosen}, source)

    def origin_of(self, node: Node) -> Origin | None:
        """Return where the value of a scalar comes from that is one reference to a given parameter."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            return None
        whole = _MARK.fullmatch(node.value)
        return self.origins.get((whole[1] or "").strip()) if whole is not None else None


@dataclass
class Scope:
    """A file being read: its tree, what its names stand for, and where its faults are noted.

    `prefix` stands before the names of its entries and axes if another file uses it; `chain` holds the
    files that use each other, this one last.
    """

    source: Text
    path: Path
    top: MapNode
    faults: Faults
    values: Values = field(default_factory=Values)
    prefix: str = ""
    chain: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder from which the file's paths count."""
        return self.path.absolute().parent

    def at(self, node: Node) -> Location:
        """Return the place of a node."""
        return self.source.at(node)

    def fault(self, where: Node | Location, message: str, hint: str | None = None) -> None:
        """Note a fault."""
        self.faults.add(message, hint, where if isinstance(where, Location) else self.at(where))

    def unknown(self, reference: Reference, what: str, known: Iterable[str]) -> None:
        """Note a reference to what has no value, unless its own fault is noted already."""
        if reference.name is None:
            hint = "write ${name}; $${ stands for a literal ${"
            self.fault(reference.location, f"{reference.text!r} is no reference", hint)
        elif reference.name not in self.values.broken:
            hint = suggest(reference.name, known, what)
            self.fault(reference.location, f"there is no {what} {reference.name!r}", hint)

    def fixed(self, node: Node, hint: str = "write one entry for each case") -> Filled | None:
        """Fill in a part that may refer to fixed parameters only; None after a fault.

        `hint` says what to do instead of a reference to an axis.
        """
        values, sound = self.values, True
        for reference in references(node, self.source):
            name = reference.name
            if name in values.varying:
                axes = " and ".join(repr(axis) for axis in values.varying[name].axes)
                what = f"the parameter {name!r}, which varies with the axis {axes},"
                if name in values.own_axes:
                    what = f"the matrix axis {name!r}"
                message = f"{what} cannot decide this; it can only set parameters"
                self.fault(reference.location, message, hint)
            elif name not in values.parameters:
                self.unknown(reference, "parameter", values.names)
            sound = sound and name in values.parameters
        if sound:
            with self.faults.noted():
                return fill(node, values.parameters, self.source)
        return None

    def evaluate(self, node: Node) -> Filled | Varying | None:
        """Fill in what may refer to parameters and axes, for each choice of these; None after a fault."""
        values, named = self.values, list(references(node, self.source))
        unknown = [each for each in named if each.name is None or not values.known(each.name)]
        for reference in unknown:
            self.unknown(reference, "parameter or matrix axis", values.names)
        if unknown:
            return None
        axes = values.axes_behind(each.name for each in named)
        over = f"over the axes {', '.join(axes)}"
        if count_choices(values.combinations, axes) > MAX_RUNS:
            message = f"this has more than {MAX_RUNS:,} values {over}"
            self.fault(node, message, "give the matrix fewer values")
            return None
        table: dict[Choice, Filled] = {}
        size = 0
        with self.faults.noted():
            for choice, filled in values.filled(node, self.source, axes):
                table[choice] = filled
                size += filled.size
                if size > MAX_VALUES:
                    self.fault(node, f"{over} this has more than {MAX_VALUES:,} values")
                    return None
            if axes:
                return Varying(axes, table)
        return table.get(())  # after a fault there is none

    def is_name(self, name: str, where: Node | Location) -> bool:
        """Say whether a text can be a name; one that cannot is noted."""
        if NAME.fullmatch(name) is not None:
            return True
        hint = "use letters, digits, _ and -, beginning with a letter"
        self.fault(where, f"{name!r} cannot be a name", hint)
        return False
