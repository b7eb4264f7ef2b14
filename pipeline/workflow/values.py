"""The parameters and the matrix of a workflow, with overrides put in and references resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.errors import Location, WorkflowError
from pipeline.workflow.faults import Faults
from pipeline.workflow.names import nearest, suggest
from pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, parse
from pipeline.workflow.scalars import to_text
from pipeline.workflow.substitution import Filled, fill, references
from stages.artifacts import Json

__all__ = ["NAME", "Values", "read_values"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass
class Values:
    """Final parameter values and matrix axes; `broken` names those that have faults of their own.

    `coordinates` says how each value of an axis is called in keys, `--where` and reports: by its name where
    the axis is a mapping of names to values, else by itself.
    """

    parameters: dict[str, Filled] = field(default_factory=dict)
    matrix: dict[str, tuple[Filled, ...]] = field(default_factory=dict)
    coordinates: dict[str, tuple[Json, ...]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    @property
    def names(self) -> list[str]:
        """Every name that a stage may refer to."""
        return [*self.parameters, *self.matrix, *sorted(self.broken)]


def read_values(
    parameters: Node | None, matrix: Node | None, overrides: Mapping[str, str], source: Text, faults: Faults
) -> Values:
    """Read the sections `parameters` and `matrix`; faults are noted, what is left is returned."""
    given = _named(parameters, "parameters", source, faults)
    axes = _named(matrix, "matrix", source, faults)
    values = Values()
    for name in axes.keys() & given.keys():
        faults.add(
            f"{name!r} is a parameter and a matrix axis",
            "rename one of the two",
            source.at(matrix.keys[name]) if isinstance(matrix, MapNode) else None,
        )
        values.broken.add(name)
    texts = {name: (node, source) for name, node in given.items()}
    for name, text in overrides.items():
        _override(name, text, texts, list(axes), values, faults)
    resolver = _Resolver(texts, frozenset(axes), values, faults)
    for name in texts:
        resolver.resolve(name, ())
    for name, node in axes.items():
        if name not in values.broken:
            _read_axis(name, node, values, source, faults)
    return values


def _named(node: Node | None, section: str, source: Text, faults: Faults) -> dict[str, Node]:
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
        if NAME.fullmatch(name):
            good[name] = item
        else:
            hint = "use letters, digits, _ and -, beginning with a letter"
            faults.add(f"{name!r} cannot be a name", hint, source.at(node.keys[name]))
    return good


def _override(
    name: str,
    text: str,
    texts: dict[str, tuple[Node, Text]],
    axes: list[str],
    values: Values,
    faults: Faults,
) -> None:
    if name not in texts:
        if name in axes:
            hint = f"--where {name}={text} chooses among its values"
            faults.add(f"--set {name}: {name!r} is a matrix axis, not a parameter", hint)
        else:
            faults.add(f"--set {name}: there is no parameter {name!r}", suggest(name, texts, "parameter"))
        return
    given = Text(f"--set {name}", text)
    try:
        node, problems = parse(given)
    except WorkflowError as error:
        problems, node = list(error.problems), None
    for problem in problems:
        faults.add_problem(problem)
    if problems:
        values.broken.add(name)
    texts[name] = (node if node is not None else ScalarNode(1, 1, "", None), given)


class _Resolver:
    """Resolves references among parameters, depth first, so that a cycle is met as a path."""

    def __init__(
        self,
        texts: dict[str, tuple[Node, Text]],
        axes: frozenset[str],
        values: Values,
        faults: Faults,
    ) -> None:
        self.texts = texts
        self.axes = axes
        self.values = values
        self.faults = faults

    def resolve(self, name: str, path: tuple[str, ...]) -> None:
        if name in self.values.parameters or name in self.values.broken:
            return
        node, source = self.texts[name]
        good = True
        for reference in references(node, source):
            wanted = reference.name
            if wanted in (*path, name):
                circle = [*path, name][[*path, name].index(wanted) :]
                told = " -> ".join([*circle, wanted])
                self.faults.add(
                    f"parameters refer to each other in a circle: {told}", None, reference.location
                )
                self.values.broken.update(circle)
                good = False
            elif wanted is None or wanted not in self.texts:
                self._unknown(wanted, reference.text, reference.location)
                good = False
            elif len(path) >= MOST_CHAIN:
                message = f"a chain of more than {MOST_CHAIN} parameters that refer to each other"
                self.faults.add(message, None, reference.location)
                good = False
            else:
                self.resolve(wanted, (*path, name))
                good = good and wanted not in self.values.broken
        if good and name not in self.values.broken:
            try:
                self.values.parameters[name] = fill(node, self.values.parameters, source)
                return
            except WorkflowError as error:
                for problem in error.problems:
                    self.faults.add_problem(problem)
        self.values.broken.add(name)

    def _unknown(self, wanted: str | None, text: str, place: Location) -> None:
        if wanted is None:
            self.faults.add(*malformed(text), place)
        elif wanted in self.axes:
            self.faults.add(
                f"a parameter cannot refer to the matrix axis {wanted!r}",
                "refer to the axis in a stage instead",
                place,
            )
        else:
            self.faults.add(
                f"there is no parameter {wanted!r}", suggest(wanted, self.texts, "parameter"), place
            )


MOST_CHAIN = 100  # references from parameter to parameter


def malformed(text: str) -> tuple[str, str]:
    """Return message and hint for a `${` without a name in braces."""
    return f"{text!r} is no reference", "write ${name}; $${ stands for a literal ${"


def _read_axis(name: str, node: Node, values: Values, source: Text, faults: Faults) -> None:
    place = source.at(node)
    known = True
    for reference in references(node, source):
        wanted = reference.name
        if wanted is None:
            faults.add(*malformed(reference.text), reference.location)
        elif wanted not in values.parameters and wanted not in values.broken:
            meant = nearest(wanted, values.parameters)
            hint = f"did you mean {meant!r}?" if meant else "matrix values may refer to parameters only"
            faults.add(f"there is no parameter {wanted!r}", hint, reference.location)
        known = known and wanted in values.parameters
    values.broken.add(name)
    if not known:
        return
    try:
        axis = fill(node, values.parameters, source)
    except WorkflowError as error:
        for problem in error.problems:
            faults.add_problem(problem)
        return
    if not isinstance(axis.value, list | dict):
        faults.add(
            f"the matrix axis {name!r} is {to_text(axis.value)!r:.60}, and a list of values is expected",
            f"write it like {name}: [a, b], or as a mapping of names to values",
            place,
        )
        return
    if not axis.value:
        faults.add(f"the matrix axis {name!r} has no values, so nothing would run", None, place)
        return
    found = axis.value if isinstance(axis.value, list) else list(axis.value.values())
    called = axis.value if isinstance(axis.value, list) else list(axis.value)
    seen: dict[str, Json] = {}
    for position, value in enumerate(called):
        text = to_text(value)
        if text in seen:
            items = node.items if isinstance(node, ListNode) else ()
            where = source.at(items[position]) if position < len(items) else place
            faults.add(f"the matrix axis {name!r} has the value {text!r:.60} twice", None, where)
            return
        seen[text] = value
    values.broken.discard(name)
    values.matrix[name] = tuple(Filled(value, axis.size, axis.depth) for value in found)
    values.coordinates[name] = tuple(called)
