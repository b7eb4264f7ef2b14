"""The section `matrix` of a workflow: its axes, and which of their values go together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.model import Choice, Combinations
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, as_data, to_text, written_list
from gravel.pipeline.workflow.values import MAX_VALUES, MERGE, Filled, Scope, Varying, listed
from gravel.stages.artifact import Json
from gravel.stages.urls import hidden

MAX_COMBINATIONS = 100_000  # of a matrix with include or exclude, which are written out one by one


@dataclass
class Axis:
    """An axis being read: what its values are called, and the values."""

    name: str
    called: list[Json]
    values: list[Filled]
    with_names: bool  # a mapping of names to values

    def __post_init__(self) -> None:
        self._positions = {to_text(value): at for at, value in enumerate(self.called)}
        if not self.with_names:
            for at, filled in enumerate(self.values):
                self._positions.setdefault(to_text(filled.value), at)

    def find(self, value: Json) -> int | None:
        """Return the position of a value, or None."""
        return self._positions.get(to_text(value))

    def add(self, called: Json, value: Filled) -> int:
        """Add a value and return its position."""
        self._positions[to_text(called)] = len(self.called)
        self.called.append(called)
        self.values.append(value)
        return len(self.called) - 1


@dataclass(frozen=True)
class _Item:
    """A listed combination: for each axis that it names its value and place, and its own place."""

    parts: list[tuple[str, Filled, Location]]
    place: Location


class Combiner:
    """Applies `exclude`, then `include`; adds values, or whole axes, that only `include` names."""

    def __init__(self, axes: dict[str, Axis], scope: Scope) -> None:
        self._axes = axes
        self._scope = scope

    def combine(self, special: Mapping[str, Node]) -> Combinations | None:
        """Return the combinations that are left; None after a fault, which is noted."""
        axes, scope = self._axes, self._scope
        before = len(scope.faults)
        first = next(iter(special.values()))
        positions = {name: range(len(axis.called)) for name, axis in axes.items()}
        excluded = list(self._items("exclude", special.get("exclude")))
        included = list(self._items("include", special.get("include")))
        if not axes and included:
            for name, _, place in included[0].parts:
                if scope.is_name(name, place):
                    axes[name] = Axis(name, [], [], False)
        for name in axes:
            if name in scope.values.parameters:
                scope.faults.add(f"{name!r} is a parameter and a matrix axis", "rename one of the two")
        if math.prod(len(axis.called) for axis in axes.values()) > MAX_COMBINATIONS:
            message = f"beside include or exclude at most {MAX_COMBINATIONS:,} combinations are read"
            scope.fault(first, message, "give its axes fewer values")
            return None
        order = list(axes)
        left_out: dict[tuple[str, ...], set[Choice]] = {}
        for item in excluded:
            rule = self._excluded(item)
            if rule is not None:
                named = tuple(name for name in order if name in rule)
                left_out.setdefault(named, set()).update(itertools.product(*(rule[name] for name in named)))
        places: dict[Choice, None] = {}
        for choice in itertools.product(*positions.values()):
            at = dict(zip(positions, choice, strict=True))
            out = any(tuple(at[name] for name in named) in rules for named, rules in left_out.items())
            if positions and not out:
                places[choice] = None
        for item in included:
            found = self._included(item, positions)
            if found is not None:
                places.update(dict.fromkeys(itertools.product(*(found[name] for name in order))))
        if len(scope.faults) > before:
            return None
        if not places:
            message = "`exclude` leaves no combination of the matrix, so nothing would run"
            scope.fault(special.get("exclude", first), message)
            return None
        return Combinations(tuple(order), tuple(places))

    def _items(self, key: str, node: Node | None) -> Iterator[_Item]:
        scope = self._scope
        whole = scope.fixed(node, "refer to it in a stage instead") if node is not None else None
        if node is None or whole is None:
            return
        for item, part in listed(whole.value, node):
            if not isinstance(item, dict) or not item:
                message = f"`{key}` has {to_text(item)!r:.60}, and values of axes are expected"
                scope.fault(part, message, f"write it like {key}: [{{axis: value}}]")
                continue
            keys = part.keys if isinstance(part, MapNode) else {}
            parts = [
                (name, Filled(value, whole.size, whole.depth), scope.at(keys.get(name, part)))
                for name, value in item.items()
            ]
            yield _Item(parts, scope.at(part))

    def _excluded(self, item: _Item) -> dict[str, set[int]] | None:
        rule: dict[str, set[int]] = {}
        for name, filled, place in item.parts:
            if not self._is_axis(name, place):
                return None
            axis, value = self._axes[name], filled.value
            several = isinstance(value, list) and axis.find(value) is None
            for each in value if several else [value]:
                found = axis.find(each)
                if found is None:
                    self._unknown(axis, each, place)
                    return None
                rule.setdefault(name, set()).add(found)
        return rule

    def _included(self, item: _Item, listed: Mapping[str, range]) -> dict[str, list[int]] | None:
        found = {name: list(positions) for name, positions in listed.items()}
        for name, value, place in item.parts:
            at = self._position(self._axes[name], value, place) if self._is_axis(name, place) else None
            if at is None:
                return None
            found[name] = [at]
        missing = ", ".join(name for name in self._axes if name not in found)
        if missing:
            message = f"this combination says nothing of {missing}, and there is no list of its values"
            self._scope.fault(item.place, message, "name every axis in it, or list the values of the axis")
            return None
        return found

    def _position(self, axis: Axis, value: Filled, place: Location) -> int | None:
        """Return the position of a value, which is added if the axis does not have it."""
        at = axis.find(value.value)
        if at is not None:
            return at
        called, meant = value.value, value.value
        if axis.with_names:
            if not isinstance(called, dict) or len(called) != 1 or axis.find(next(iter(called))) is not None:
                self._unknown(axis, called, place, "; a new one is written {name: value}")
                return None
            ((called, meant),) = value.value.items()
        return axis.add(as_data(called, written=True), Filled(meant, value.size, value.depth))

    def _is_axis(self, name: str, place: Location) -> bool:
        if name not in self._axes:
            hint = suggest(name, self._axes, "matrix axis")
            self._scope.fault(place, f"there is no matrix axis {name!r}", hint)
        return name in self._axes

    def _unknown(self, axis: Axis, value: Json, place: Location, more: str = "") -> None:
        text = to_text(value)
        hint = suggest(text, map(to_text, axis.called), "value") + more
        self._scope.fault(place, f"the matrix axis {axis.name!r} has no value {text!r:.60}", hint)


SPECIAL = {
    "include": "combinations beside those of the lists; an axis left out stands for all its listed values",
    "exclude": "combinations to leave out; an axis left out stands for all its values",
}
"""Keys of a matrix that are no axes."""


def read_matrix(axes: Mapping[str, Node], scope: Scope) -> None:
    """Read the axes into the values of a file, each under its name there; faults are noted."""
    values, before = scope.values, len(scope.faults)
    found: dict[str, Axis] = {}
    for name, item in axes.items():
        axis = _axis(name, item, scope) if name not in values.broken else None
        if axis is None:
            values.broken.add(name)
        else:
            found[name] = axis
    matrix = scope.top.items.get("matrix")
    keys = matrix.items if isinstance(matrix, MapNode) else {}
    special = {key: keys[key] for key in SPECIAL if key in keys}
    combined = None
    if special and len(scope.faults) == before:
        combined = Combiner(found, scope).combine(special)
    for name in [name for name, axis in found.items() if not axis.called]:
        values.broken.add(name)
        del found[name]
    for name, axis in found.items():
        full = scope.prefix + name
        values.own_axes[name] = full
        values.coordinates[full] = tuple(axis.called)
        values.varying[name] = Varying((full,), {(at,): value for at, value in enumerate(axis.values)})
        if combined is None:
            values.combinations.append(Combinations((full,), tuple(values.varying[name].table)))
    if combined is not None and combined.axes:
        full_names = tuple(scope.prefix + name for name in combined.axes)
        values.combinations.append(Combinations(full_names, combined.places))


def _axis(name: str, node: Node, scope: Scope) -> Axis | None:
    filled = _filled(node, scope)
    if filled is None:
        return None
    value = filled.value
    if not isinstance(value, list | dict):
        message = f"the matrix axis {name!r} is {to_text(value)!r:.60}, and a list of values is expected"
        scope.fault(node, message, f"write it like {name}: [a, b], or as a mapping of names to values")
        return None
    if not value:
        scope.fault(node, f"the matrix axis {name!r} has no values, so nothing would run")
        return None
    # Coordinates are in keys, and keys are shown: a URL's secrets stay out of them.
    words = getattr(value, "words", {})
    called = hidden(as_data(list(value)))
    if len(set(map(to_text, called))) < len(called):
        # The ids 007 and 7 differ in what was written.
        written = as_data(list(value), written=True)
        called = hidden([words.get(place, each) for place, each in enumerate(written)])
    seen: set[str] = set()
    for position, text in enumerate(map(to_text, called)):
        if text in seen:
            items = node.items if isinstance(node, ListNode) else ()
            where = items[position] if position < len(items) else node
            scope.fault(where, f"the matrix axis {name!r} has the value {text!r:.60} twice")
            return None
        seen.add(text)
    found = value if isinstance(value, list) else value.values()
    values = [Filled(each, *_measure(each), words.get(place)) for place, each in enumerate(found)]
    return Axis(name, list(called), values, isinstance(value, dict))


def _filled(node: Node, scope: Scope) -> Filled | None:
    """Fill an axis in value by value: each is measured alone, since no stage gets more than one."""
    hint = "refer to it in a stage instead"
    if isinstance(node, ScalarNode) or (isinstance(node, MapNode) and MERGE in node.items):
        return scope.fixed(node, hint)
    size, found = 1, []
    for item in node.items.values() if isinstance(node, MapNode) else node.items:
        filled = scope.fixed(item, hint)
        if filled is None:
            return None
        size += filled.size
        if size > MAX_VALUES:
            scope.fault(node, f"with its references filled in this has more than {MAX_VALUES:,} values")
            return None
        found.append(filled)
    plain = written_list((each.value for each in found), (each.word for each in found))
    return Filled(dict(zip(node.items, plain, strict=True)) if isinstance(node, MapNode) else plain, size)


def _measure(value: Json) -> tuple[int, int]:
    """Count the values of plain data, and how deep it is."""
    if not isinstance(value, list | dict):
        return 1, 1
    parts = [_measure(each) for each in (value if isinstance(value, list) else value.values())]
    return 1 + sum(size for size, _ in parts), 1 + max((depth for _, depth in parts), default=0)
