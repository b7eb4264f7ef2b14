"""The section `parameters` of a workflow, with overrides put in and references resolved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gravel.pipeline.core.errors import Location, WorkflowError
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.datasets import AXIS, axis_node, read_datasets
from gravel.pipeline.workflow.faults import Faults
from gravel.pipeline.workflow.matrix import named_items, read_matrix
from gravel.pipeline.workflow.nodes import MapNode, Node, ScalarNode, Text, parse
from gravel.pipeline.workflow.substitution import Filled, references
from gravel.pipeline.workflow.values import Values, Varying, malformed

__all__ = ["read_values"]

MAX_CHAIN = 100  # references from parameter to parameter


def read_values(
    parameters: Node | None,
    matrix: Node | None,
    overrides: Mapping[str, str],
    source: Text,
    faults: Faults,
    *,
    given: Mapping[str, Filled | Varying | None] | None = None,
    values: Values | None = None,
    prefix: str = "",
    datasets: Node | None = None,
) -> Values:
    """Read the sections `parameters`, `matrix` and `datasets`; faults are noted, what is left is returned.

    An override wins over the value in the file and over one that is given. `given` holds the values that a
    workflow gives to one that it uses (None for one that has a fault), `values` what is known before, and
    `prefix` what the names of axes begin with.
    """
    values = Values() if values is None else values
    defaults = named_items(parameters, "parameters", source, faults)
    axes = named_items(matrix, "matrix", source, faults)
    if datasets is not None:
        if AXIS in axes:
            message = f"`datasets` makes an axis {AXIS!r}, and the matrix has one"
            faults.add(message, "rename that of the matrix", source.at(axes.pop(AXIS)))
        axes = {AXIS: datasets, **axes}
    for name in axes.keys() & defaults.keys():
        faults.add(
            f"{name!r} is a parameter and a matrix axis",
            "rename one of the two",
            source.at(matrix.keys[name])
            if isinstance(matrix, MapNode) and name in matrix.keys
            else source.at(defaults[name]),
        )
        values.broken.add(name)
    texts = {name: (node, source) for name, node in defaults.items()}
    for name, text in overrides.items():
        _override(name, text, texts, list(axes), values, faults, prefix)
    for name, value in (given or {}).items():
        if name in overrides:
            values.origins.pop(name, None)
        elif isinstance(value, Varying):
            values.varying[name] = value
        elif value is not None:
            values.parameters[name] = value
        else:
            values.broken.add(name)
    resolver = _Resolver(texts, frozenset(axes), values, faults)
    for name in texts:
        resolver.resolve(name, ())
    if datasets is not None and AXIS not in values.broken:
        found = read_datasets(datasets, values.folders or (Path.cwd(),), values, source, faults)
        values.datasets[prefix + AXIS] = found
        values.places.update({each.location: each.place for each in found.values()})
        if found:
            axes[AXIS] = axis_node(found, datasets)
        else:
            del axes[AXIS]
            values.broken.add(AXIS)
    read_matrix(matrix, axes, values, source, faults, prefix)
    return values


def _override(
    name: str,
    text: str,
    texts: dict[str, tuple[Node, Text]],
    axes: list[str],
    values: Values,
    faults: Faults,
    prefix: str,
) -> None:
    full = prefix + name
    if name not in texts:
        if name in axes:
            hint = f"--where {full}={text} chooses among its values"
            faults.add(f"--set {full}: {full!r} is a matrix axis, not a parameter", hint)
        else:
            hint = suggest(full, [prefix + each for each in texts], "parameter")
            faults.add(f"--set {full}: there is no parameter {full!r}", hint)
        return
    given = Text(f"--set {full}", text)
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
        if self.values.known(name) or name in self.values.broken:
            return
        node, source = self.texts[name]
        good = True
        for reference in references(node, source):
            wanted = reference.name
            if wanted in (*path, name):
                circle = [*path, name][[*path, name].index(wanted) :]
                message = " -> ".join([*circle, wanted])
                self.faults.add(
                    f"parameters refer to each other in a circle: {message}", None, reference.location
                )
                self.values.broken.update(circle)
                good = False
            elif wanted is None or wanted not in self.texts:
                self._unknown(wanted, reference.text, reference.location)
                good = False
            elif len(path) >= MAX_CHAIN:
                message = f"a chain of more than {MAX_CHAIN} parameters that refer to each other"
                self.faults.add(message, None, reference.location)
                good = False
            else:
                self.resolve(wanted, (*path, name))
                good = good and wanted not in self.values.broken
        if good and name not in self.values.broken:
            try:
                value = self.values.evaluate(node, source)
            except WorkflowError as error:
                for problem in error.problems:
                    self.faults.add_problem(problem)
            else:
                if isinstance(value, Varying):
                    self.values.varying[name] = value
                else:
                    self.values.parameters[name] = value
                return
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
