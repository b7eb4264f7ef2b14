"""The section `matrix` of a workflow: its axes, and which of their values go together."""

from __future__ import annotations

from collections.abc import Mapping

from gravel.pipeline.workflow.combinations import Combinations
from gravel.pipeline.workflow.including import Axis, Combiner
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode
from gravel.pipeline.workflow.scalars import as_data, to_text
from gravel.pipeline.workflow.scope import Scope
from gravel.pipeline.workflow.substitution import MERGE, Filled
from gravel.pipeline.workflow.values import MAX_VALUES, Varying
from gravel.pipeline.workflow.written import written_list
from gravel.stages.artifact import Json
from gravel.stages.urls import hidden

__all__ = ["SPECIAL", "read_matrix"]

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
    listed = matrix.items if isinstance(matrix, MapNode) else {}
    special = {key: listed[key] for key in SPECIAL if key in listed}
    combined = None
    if special and len(scope.faults) == before:
        combined = Combiner(found, scope).combine(special)
    for name in [name for name, axis in found.items() if not axis.called]:
        values.broken.add(name)
        del found[name]
    for name, axis in found.items():
        full = scope.prefix + name
        values.own_axes[name] = full
        values.axes.coordinates[full] = tuple(axis.called)
        values.varying[name] = Varying((full,), {(at,): value for at, value in enumerate(axis.values)})
    groups = [combined] if combined is not None else [axis.alone() for axis in found.values()]
    values.axes.combinations += [
        Combinations(tuple(scope.prefix + name for name in group.axes), group.places)
        for group in groups
        if group.axes
    ]


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
