"""The section `matrix` of a workflow: axes, what is excluded from their combinations and included besides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.errors import Location, WorkflowError
from pipeline.workflow.combinations import Combinations
from pipeline.workflow.faults import Faults
from pipeline.workflow.names import nearest, suggest
from pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text
from pipeline.workflow.scalars import to_text
from pipeline.workflow.substitution import Filled, fill, references
from pipeline.workflow.values import NAME, Choice, Values, Varying, malformed
from stages.artifacts import Json

__all__ = ["SPECIAL", "named_items", "read_matrix"]

SPECIAL = {
    "include": "combinations beside those of the lists; an axis left out stands for all its listed values",
    "exclude": "combinations to leave out; an axis left out stands for all its values",
}
"""Keys of a matrix that are no axes."""

MOST_COMBINATIONS = 100_000  # of a matrix with include or exclude, which are written out one by one


def named_items(node: Node | None, section: str, source: Text, faults: Faults) -> dict[str, Node]:
    """Return the items of `parameters` or `matrix` that are names with values; faults are noted."""
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        return {}
    if not isinstance(node, MapNode):
        what = "a list" if isinstance(node, ListNode) else "a single value"
        faults.add(
            f"`{section}` is {what}, and names with values are expected",
            f"write it like {section}: {{scale: 18}}",
            source.at(node),
        )
        return {}
    good = {}
    for name, item in node.items.items():
        if section == "matrix" and name in SPECIAL:
            continue
        if NAME.fullmatch(name):
            good[name] = item
        else:
            hint = "use letters, digits, _ and -, beginning with a letter"
            faults.add(f"{name!r} cannot be a name", hint, source.at(node.keys[name]))
    return good


@dataclass
class _Axis:
    """An axis being read: what its values are called, and the values."""

    name: str
    called: list[Json]
    values: list[Filled]
    with_names: bool  # a mapping of names to values

    def find(self, value: Json) -> int | None:
        text = to_text(value)
        texts = [to_text(each) for each in self.called]
        return texts.index(text) if text in texts else None


def read_matrix(
    node: Node | None,
    axes: Mapping[str, Node],
    values: Values,
    source: Text,
    faults: Faults,
    prefix: str,
) -> None:
    """Read the axes into `values`, each under its name with `prefix` before it; faults are noted."""
    before = len(faults)
    reader = _Reader(values, source, faults)
    found: dict[str, _Axis] = {}
    for name, item in axes.items():
        if name not in values.broken:
            axis = reader.axis(name, item)
            if axis is None:
                values.broken.add(name)
            else:
                found[name] = axis
    special = (
        {key: node.items[key] for key in SPECIAL if key in node.items} if isinstance(node, MapNode) else {}
    )
    combined = reader.combine(found, special) if special and len(faults) == before else None
    for name in [name for name, axis in found.items() if not axis.called]:
        values.broken.add(name)
        del found[name]
    groups = [combined] if combined is not None else [_plain(axis) for axis in found.values()]
    for name, axis in found.items():
        full = prefix + name
        values.own_axes[name] = full
        values.axes.coordinates[full] = tuple(axis.called)
        values.varying[name] = Varying((full,), {(at,): value for at, value in enumerate(axis.values)})
    values.axes.combinations += [
        Combinations(tuple(prefix + name for name in group.axes), group.places)
        for group in groups
        if group.axes
    ]


def _plain(axis: _Axis) -> Combinations:
    return Combinations((axis.name,), tuple((at,) for at in range(len(axis.called))))


class _Reader:
    def __init__(self, values: Values, source: Text, faults: Faults) -> None:
        self.values = values
        self.source = source
        self.faults = faults

    def filled(self, node: Node) -> Filled | None:
        """Fill in a part of the matrix, which may refer to fixed parameters only; None after a fault."""
        known = True
        for reference in references(node, self.source):
            wanted, values = reference.name, self.values
            if wanted is None:
                self.faults.add(*malformed(reference.text), reference.location)
            elif wanted in values.varying and wanted not in values.own_axes:
                message = f"the matrix cannot refer to {values.told_axis(wanted)} for it is fixed"
                self.faults.add(message, "refer to it in a stage instead", reference.location)
            elif wanted not in values.parameters and wanted not in values.broken:
                meant = nearest(wanted, values.parameters)
                hint = f"did you mean {meant!r}?" if meant else "matrix values may refer to parameters only"
                self.faults.add(f"there is no parameter {wanted!r}", hint, reference.location)
            known = known and wanted in values.parameters
        if not known:
            return None
        try:
            return fill(node, self.values.parameters, self.source)
        except WorkflowError as error:
            for problem in error.problems:
                self.faults.add_problem(problem)
            return None

    def axis(self, name: str, node: Node) -> _Axis | None:
        place = self.source.at(node)
        axis = self.filled(node)
        if axis is None:
            return None
        if not isinstance(axis.value, list | dict):
            self.faults.add(
                f"the matrix axis {name!r} is {to_text(axis.value)!r:.60}, and a list of values is expected",
                f"write it like {name}: [a, b], or as a mapping of names to values",
                place,
            )
            return None
        if not axis.value:
            self.faults.add(f"the matrix axis {name!r} has no values, so nothing would run", None, place)
            return None
        found = axis.value if isinstance(axis.value, list) else list(axis.value.values())
        called = axis.value if isinstance(axis.value, list) else list(axis.value)
        seen: set[str] = set()
        for position, value in enumerate(called):
            text = to_text(value)
            if text in seen:
                items = node.items if isinstance(node, ListNode) else ()
                where = self.source.at(items[position]) if position < len(items) else place
                self.faults.add(f"the matrix axis {name!r} has the value {text!r:.60} twice", None, where)
                return None
            seen.add(text)
        values = [Filled(value, axis.size, axis.depth) for value in found]
        return _Axis(name, list(called), values, isinstance(axis.value, dict))

    def combine(self, axes: dict[str, _Axis], special: Mapping[str, Node]) -> Combinations | None:
        """Apply `exclude`, then `include`; adds values, or whole axes, that only `include` names."""
        before = len(self.faults)
        listed = {name: range(len(axis.called)) for name, axis in axes.items()}
        excluded = list(self.items("exclude", special.get("exclude")))
        included = list(self.items("include", special.get("include")))
        if not axes and included:
            for name, _, place in included[0][0]:
                if NAME.fullmatch(name):
                    axes[name] = _Axis(name, [], [], False)
                else:
                    hint = "use letters, digits, _ and -, beginning with a letter"
                    self.faults.add(f"{name!r} cannot be a name", hint, place)
        count = 1
        for name, axis in axes.items():
            count *= len(axis.called)
            if name in self.values.parameters:
                self.faults.add(f"{name!r} is a parameter and a matrix axis", "rename one of the two")
        if count > MOST_COMBINATIONS:
            told = f"beside include or exclude at most {MOST_COMBINATIONS:,} combinations are read"
            self.faults.add(told, "give its axes fewer values", self.source.at(next(iter(special.values()))))
            return None
        rules = [rule for item in excluded if (rule := self.exclusion(item, axes)) is not None]
        order = list(axes)
        places: dict[Choice, None] = {}
        for choice in itertools.product(*(listed[name] for name in order if name in listed)):
            at = dict(zip(order, choice, strict=False))
            if listed and not any(
                all(at[name] in allowed for name, allowed in rule.items()) for rule in rules
            ):
                places[choice] = None
        for item in included:
            choice_of = self.inclusion(item, axes, listed)
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

    def exclusion(self, item: _Item, axes: Mapping[str, _Axis]) -> dict[str, set[int]] | None:
        rule: dict[str, set[int]] = {}
        for name, value, place in item[0]:
            if not self.is_axis(name, axes, place):
                return None
            axis = axes[name]
            at = axis.find(value.value)
            wanted = [value.value] if at is not None or not isinstance(value.value, list) else value.value
            for each in wanted:
                found = axis.find(each)
                if found is None:
                    self.unknown(axis, each, place)
                    return None
                rule.setdefault(name, set()).add(found)
        return rule

    def inclusion(
        self, item: _Item, axes: Mapping[str, _Axis], listed: Mapping[str, range]
    ) -> dict[str, list[int]] | None:
        found: dict[str, list[int]] = {name: list(positions) for name, positions in listed.items()}
        for name, value, place in item[0]:
            if not self.is_axis(name, axes, place):
                return None
            at = self.place_of(axes[name], value, place)
            if at is None:
                return None
            found[name] = [at]
        missing = [name for name in axes if name not in found]
        if missing:
            message = (
                f"this combination says nothing of {', '.join(missing)}, and there is no list of its values"
            )
            self.faults.add(message, "name every axis in it, or list the values of the axis", item[1])
            return None
        return found

    def place_of(self, axis: _Axis, value: Filled, place: Location) -> int | None:
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
        axis.called.append(called)
        axis.values.append(Filled(meant, value.size, value.depth))
        return len(axis.called) - 1

    def is_axis(self, name: str, axes: Mapping[str, _Axis], place: Location) -> bool:
        if name not in axes:
            self.faults.add(f"there is no matrix axis {name!r}", suggest(name, axes, "matrix axis"), place)
        return name in axes

    def unknown(self, axis: _Axis, value: Json, place: Location, more: str = "") -> None:
        texts = [to_text(each) for each in axis.called]
        self.faults.add(
            f"the matrix axis {axis.name!r} has no value {to_text(value)!r:.60}",
            suggest(to_text(value), texts, "value") + more,
            place,
        )


_Item = tuple[list[tuple[str, Filled, Location]], Location]
