"""`exclude` and `include` of a matrix: combinations of values to leave out, and others to run besides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gravel.pipeline.core.errors import Location
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.combinations import Combinations
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, Text
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.substitution import Filled
from gravel.pipeline.workflow.values import NAME, Choice, Values
from gravel.stages.artifacts import Json

__all__ = ["Axis", "combine"]

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

    def find(self, value: Json) -> int | None:
        """Return the position of a value, or None."""
        return self._positions.get(to_text(value))

    def add(self, called: Json, value: Filled) -> int:
        """Add a value and return its position."""
        self._positions[to_text(called)] = len(self.called)
        self.called.append(called)
        self.values.append(value)
        return len(self.called) - 1


def combine(
    axes: dict[str, Axis],
    special: Mapping[str, Node],
    fill_in: Callable[[Node], Filled | None],
    values: Values,
    source: Text,
    faults: Faults,
) -> Combinations | None:
    """Apply `exclude`, then `include`; adds values, or whole axes, that only `include` names.

    `fill_in` resolves references. Faults are noted, and None is returned after one.
    """
    return _Combiner(axes, fill_in, values, source, faults).combine(special)


_Item: TypeAlias = tuple[list[tuple[str, Filled, Location]], Location]
"""One combination: for each axis that it names its value and place, and its own place."""


class _Combiner:
    def __init__(
        self,
        axes: dict[str, Axis],
        fill_in: Callable[[Node], Filled | None],
        values: Values,
        source: Text,
        faults: Faults,
    ) -> None:
        self.axes = axes
        self.filled = fill_in
        self.values = values
        self.source = source
        self.faults = faults

    def combine(self, special: Mapping[str, Node]) -> Combinations | None:
        before = len(self.faults)
        axes = self.axes
        listed = {name: range(len(axis.called)) for name, axis in axes.items()}
        excluded = list(self.items("exclude", special.get("exclude")))
        included = list(self.items("include", special.get("include")))
        if not axes and included:
            for name, _, place in included[0][0]:
                if NAME.fullmatch(name):
                    axes[name] = Axis(name, [], [], False)
                else:
                    hint = "use letters, digits, _ and -, beginning with a letter"
                    self.faults.add(f"{name!r} cannot be a name", hint, place)
        count = 1
        for name, axis in axes.items():
            count *= len(axis.called)
            if name in self.values.parameters:
                self.faults.add(f"{name!r} is a parameter and a matrix axis", "rename one of the two")
        if count > MAX_COMBINATIONS:
            message = f"beside include or exclude at most {MAX_COMBINATIONS:,} combinations are read"
            where = self.source.at(next(iter(special.values())))
            self.faults.add(message, "give its axes fewer values", where)
            return None
        rules: dict[tuple[str, ...], set[Choice]] = {}
        for item in excluded:
            rule = self.exclusion(item)
            if rule is not None:
                named = tuple(name for name in axes if name in rule)
                rules.setdefault(named, set()).update(itertools.product(*(rule[name] for name in named)))
        order = list(axes)
        places: dict[Choice, None] = {}
        for choice in itertools.product(*(listed[name] for name in order if name in listed)):
            at = dict(zip(order, choice, strict=False))
            out = any(tuple(at[name] for name in named) in left_out for named, left_out in rules.items())
            if listed and not out:
                places[choice] = None
        for item in included:
            choice_of = self.inclusion(item, listed)
            if choice_of is not None:
                places.update(dict.fromkeys(itertools.product(*(choice_of[name] for name in order))))
        if len(self.faults) > before:
            return None
        if not places:
            where = self.source.at(special.get("exclude", next(iter(special.values()))))
            self.faults.add(
                "`exclude` leaves no combination of the matrix, so nothing would run", None, where
            )
            return None
        return Combinations(tuple(order), tuple(places))

    def items(self, key: str, node: Node | None) -> Iterator[_Item]:
        """Yield each combination that `include` or `exclude` lists: its parts, and its place."""
        if node is None:
            return
        whole = self.filled(node)
        if whole is None:
            return
        listed = whole.value if isinstance(whole.value, list) else [whole.value]
        nodes = node.items if isinstance(node, ListNode) else (node,) * len(listed)
        for item, part in zip(listed, nodes, strict=False):
            place = self.source.at(part)
            if not isinstance(item, dict) or not item:
                self.faults.add(
                    f"`{key}` has {to_text(item)!r:.60}, and values of axes are expected",
                    f"write it like {key}: [{{axis: value}}]",
                    place,
                )
                continue
            keys = part.keys if isinstance(part, MapNode) else {}
            yield (
                [
                    (
                        name,
                        Filled(value, whole.size, whole.depth),
                        self.source.at(keys[name]) if name in keys else place,
                    )
                    for name, value in item.items()
                ],
                place,
            )

    def exclusion(self, item: _Item) -> dict[str, set[int]] | None:
        rule: dict[str, set[int]] = {}
        for name, value, place in item[0]:
            if not self.is_axis(name, place):
                return None
            axis = self.axes[name]
            at = axis.find(value.value)
            wanted = [value.value] if at is not None or not isinstance(value.value, list) else value.value
            for each in wanted:
                found = axis.find(each)
                if found is None:
                    self.unknown(axis, each, place)
                    return None
                rule.setdefault(name, set()).add(found)
        return rule

    def inclusion(self, item: _Item, listed: Mapping[str, range]) -> dict[str, list[int]] | None:
        found: dict[str, list[int]] = {name: list(positions) for name, positions in listed.items()}
        for name, value, place in item[0]:
            if not self.is_axis(name, place):
                return None
            at = self.place_of(self.axes[name], value, place)
            if at is None:
                return None
            found[name] = [at]
        missing = [name for name in self.axes if name not in found]
        if missing:
            message = (
                f"this combination says nothing of {', '.join(missing)}, and there is no list of its values"
            )
            self.faults.add(message, "name every axis in it, or list the values of the axis", item[1])
            return None
        return found

    def place_of(self, axis: Axis, value: Filled, place: Location) -> int | None:
        """Return the position of a value, which is added if the axis does not have it."""
        at = axis.find(value.value)
        if at is not None:
            return at
        called, meant = value.value, value.value
        if axis.with_names:
            if not isinstance(called, dict) or len(called) != 1 or axis.find(next(iter(called))) is not None:
                self.unknown(axis, called, place, "; a new one is written {name: value}")
                return None
            ((called, meant),) = value.value.items()
        return axis.add(called, Filled(meant, value.size, value.depth))

    def is_axis(self, name: str, place: Location) -> bool:
        if name not in self.axes:
            hint = suggest(name, self.axes, "matrix axis")
            self.faults.add(f"there is no matrix axis {name!r}", hint, place)
        return name in self.axes

    def unknown(self, axis: Axis, value: Json, place: Location, more: str = "") -> None:
        texts = [to_text(each) for each in axis.called]
        self.faults.add(
            f"the matrix axis {axis.name!r} has no value {to_text(value)!r:.60}",
            suggest(to_text(value), texts, "value") + more,
            place,
        )
