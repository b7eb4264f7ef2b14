"""The section `matrix` of a workflow: its axes, and which of their values go together."""

from __future__ import annotations

from collections.abc import Mapping

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.workflow.combinations import Combinations
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.including import Axis, combine
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text
from gravel.pipeline.workflow.scalars import to_text
from gravel.pipeline.workflow.substitution import MERGE, Filled, fill, references
from gravel.pipeline.workflow.values import MAX_VALUES, NAME, Values, Varying, malformed
from gravel.stages.addresses import hidden
from gravel.stages.artifacts import Json

__all__ = ["SPECIAL", "named_items", "read_matrix"]

SPECIAL = {
    "include": "combinations beside those of the lists; an axis left out stands for all its listed values",
    "exclude": "combinations to leave out; an axis left out stands for all its values",
}
"""Keys of a matrix that are no axes."""


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
    found: dict[str, Axis] = {}
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
    combined = (
        combine(found, special, reader.filled, values, source, faults)
        if special and len(faults) == before
        else None
    )
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


def _measure(value: Json) -> tuple[int, int]:
    """Count the values of plain data, and how deep it is."""
    if not isinstance(value, list | dict):
        return 1, 1
    parts = [_measure(each) for each in (value if isinstance(value, list) else value.values())]
    return 1 + sum(size for size, _ in parts), 1 + max((depth for _, depth in parts), default=0)


def _plain(axis: Axis) -> Combinations:
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
                message = f"the matrix cannot refer to {values.describe_axis(wanted)} for it is fixed"
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

    def filled_axis(self, node: Node) -> Filled | None:
        """Fill an axis in value by value: each is measured alone, since no stage gets more than one."""
        named = isinstance(node, MapNode)
        if isinstance(node, ScalarNode) or (isinstance(node, MapNode) and MERGE in node.items):
            return self.filled(node)
        size = 1
        found = []
        for item in node.items.values() if isinstance(node, MapNode) else node.items:
            filled = self.filled(item)
            if filled is None:
                return None
            size += filled.size
            if size > MAX_VALUES:
                message = f"with its references filled in this has more than {MAX_VALUES:,} values"
                self.faults.add(message, None, self.source.at(node))
                return None
            found.append(filled.value)
        return Filled(dict(zip(node.items, found, strict=True)) if named else found, size)

    def axis(self, name: str, node: Node) -> Axis | None:
        place = self.source.at(node)
        axis = self.filled_axis(node)
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
        # Coordinates are in keys, and keys are shown: a URL's secrets stay out of them.
        called = hidden(axis.value if isinstance(axis.value, list) else list(axis.value))
        seen: set[str] = set()
        for position, value in enumerate(called):
            text = to_text(value)
            if text in seen:
                items = node.items if isinstance(node, ListNode) else ()
                where = self.source.at(items[position]) if position < len(items) else place
                self.faults.add(f"the matrix axis {name!r} has the value {text!r:.60} twice", None, where)
                return None
            seen.add(text)
        values = [Filled(value, *_measure(value)) for value in found]
        return Axis(name, list(called), values, isinstance(axis.value, dict))
