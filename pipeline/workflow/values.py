"""What the names of a workflow stand for: parameters, and what depends on the axes of the matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.combinations import Combinations, choices, count_choices
from gravel.pipeline.workflow.model import DataSet
from gravel.pipeline.workflow.nodes import MapNode, Node, ScalarNode, Text
from gravel.pipeline.workflow.source import Faults
from gravel.pipeline.workflow.substitution import Filled, Reference, fill, references
from gravel.stages.artifact import Json

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WHOLE = re.compile(r"\$\{([^{}]*)\}")

MAX_RUNS = 100_000  # of one workflow; planning takes about a fifth of a millisecond each
MAX_VALUES = 1_000_000  # filled in over all variants of one entry, or all values of one parameter

Choice: TypeAlias = tuple[int, ...]
"""Positions of values, one for each of some axes."""


@dataclass
class Axes:
    """All axes of a workflow and of those that it uses, in order, under their full names.

    `coordinates` says how each value of an axis is called in keys, `--where` and reports: by its name where
    the axis is a mapping of names to values, else by itself.
    """

    coordinates: dict[str, tuple[Json, ...]] = field(default_factory=dict)
    combinations: list[Combinations] = field(default_factory=list)

    def choices(self, axes: Sequence[str]) -> Iterator[Choice]:
        """Yield the choices of positions on some axes that occur."""
        return choices(self.combinations, axes)

    def count(self, axes: Sequence[str]) -> int:
        """Count the choices, without making them."""
        return count_choices(self.combinations, axes)


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

    `varying` holds the axes of the file and the parameters whose values depend on axes of a workflow that
    uses this one; `own_axes` leads from the names of this file's axes, those of workflows that it uses
    included, to their full names. `origins` says where the value of a parameter stands that was given by a
    workflow that uses this one. `folders` are those of this file and of the ones that use it, nearest first.
    `datasets` holds the data sets of this file by name, under the full name of their axis, and `places` where
    the file of each is named.
    """

    axes: Axes = field(default_factory=Axes)
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

    def axes_behind(self, names: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
        """Return the axes on which the values of these names depend, in the order of the matrix."""
        wanted = {axis for name in names if name in self.varying for axis in self.varying[name].axes}
        return tuple(axis for axis in self.axes.coordinates if axis in wanted)

    def at(self, names: Sequence[str], axes: Sequence[str], choice: Choice) -> dict[str, Filled]:
        """Return the values of varying names at one choice of positions on `axes`."""
        place = dict(zip(axes, choice, strict=True))
        return {
            name: self.varying[name].table[tuple(place[axis] for axis in self.varying[name].axes)]
            for name in names
        }

    def origin_of(self, node: Node) -> Origin | None:
        """Return where the value of a scalar comes from that is one reference to a given parameter."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            return None
        whole = _WHOLE.fullmatch(node.value)
        return self.origins.get(whole[1].strip()) if whole is not None else None

    def describe_axis(self, name: str) -> str:
        """Write what a varying name is, for messages."""
        if name in self.own_axes:
            return f"the matrix axis {name!r}"
        axes = " and ".join(repr(axis) for axis in self.varying[name].axes)
        return f"the parameter {name!r}, which varies with the axis {axes},"

    def evaluate(self, node: Node, source: Text) -> Filled | Varying:
        """Fill a tree in, for every choice where it names what varies; all of its names have values.

        Raises WorkflowError if there are too many values.
        """
        named = [each.name for each in references(node, source) if each.name in self.varying]
        varying = [name for name in dict.fromkeys(named) if name is not None]
        axes = self.axes_behind(varying)
        if not axes:
            return fill(node, self.parameters, source)
        if self.axes.count(axes) > MAX_RUNS:
            message = f"this has more than {MAX_RUNS:,} values over the axes {', '.join(axes)}"
            raise WorkflowError([Problem(message, "give the matrix fewer values", source.at(node))])
        table: dict[Choice, Filled] = {}
        size = 0
        for choice in self.axes.choices(axes):
            table[choice] = fill(node, {**self.parameters, **self.at(varying, axes, choice)}, source)
            size += table[choice].size
            if size > MAX_VALUES:
                message = f"over the axes {', '.join(axes)} this has more than {MAX_VALUES:,} values"
                raise WorkflowError([Problem(message, None, source.at(node))])
        return Varying(axes, table)


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
            if name is not None and name in values.varying:
                message = f"{values.describe_axis(name)} cannot decide this; it can only set parameters"
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
        sound = True
        for reference in references(node, self.source):
            if reference.name is None or not self.values.known(reference.name):
                self.unknown(reference, "parameter or matrix axis", self.values.names)
                sound = False
        if sound:
            with self.faults.noted():
                return self.values.evaluate(node, self.source)
        return None

    def is_name(self, name: str, where: Node | Location) -> bool:
        """Say whether a text can be a name; one that cannot is noted."""
        good = NAME.fullmatch(name) is not None
        if not good:
            hint = "use letters, digits, _ and -, beginning with a letter"
            self.fault(where, f"{name!r} cannot be a name", hint)
        return good
