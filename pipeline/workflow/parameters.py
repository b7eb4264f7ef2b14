"""The sections `parameters`, `matrix` and `datasets`: what the names of a workflow file stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.datasets import AXIS, axis_node, read_datasets
from gravel.pipeline.workflow.matrix import SPECIAL, read_matrix
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, is_null, parse
from gravel.pipeline.workflow.values import Filled, Scope, Varying, references
from gravel.stages.urls import visible

MAX_CHAIN = 100  # references from parameter to parameter


def read_values(
    scope: Scope, overrides: Mapping[str, str], given: Mapping[str, Filled | Varying | None]
) -> None:
    """Read the three sections into the values of a file; faults are noted.

    An override wins over the value in the file and over one that is given. `given` holds the values that a
    workflow gives to one that it uses, None for one that has a fault.
    """
    values = scope.values
    datasets = scope.top.items.get("datasets")
    defaults = _named_items(scope, "parameters")
    axes = _named_items(scope, "matrix")
    if datasets is not None:
        if AXIS in axes:
            message = f"`datasets` makes an axis {AXIS!r}, and the matrix has one"
            scope.fault(axes.pop(AXIS), message, "rename that of the matrix")
        axes = {AXIS: datasets, **axes}
    for name in axes.keys() & defaults.keys():
        matrix = scope.top.items.get("matrix")
        where = matrix.keys.get(name) if isinstance(matrix, MapNode) else None
        message = f"{name!r} is a parameter and a matrix axis"
        scope.fault(where or defaults[name], message, "rename one of the two")
        values.broken.add(name)
    texts = {name: (node, scope.source) for name, node in defaults.items()}
    for name, text in overrides.items():
        _override(name, text, texts, axes, scope)
    for name, value in given.items():
        if name in overrides:
            values.origins.pop(name, None)
        else:
            values.put(name, value)
    for name in texts:
        _resolve(name, (), texts, axes, scope)
    if datasets is not None and AXIS not in values.broken:
        found = read_datasets(datasets, scope)
        values.datasets[scope.prefix + AXIS] = found
        values.places.update({each.location: each.place for each in found.values()})
        if found:
            axes[AXIS] = axis_node(found, datasets)
        else:
            del axes[AXIS]
            values.broken.add(AXIS)
    read_matrix(axes, scope)


def _named_items(scope: Scope, section: str) -> dict[str, Node]:
    """Return the items of a section that are names with values; faults are noted."""
    node = scope.top.items.get(section)
    if node is None or is_null(node):
        return {}
    if not isinstance(node, MapNode):
        what = "a list" if isinstance(node, ListNode) else "a single value"
        message = f"`{section}` is {what}, and names with values are expected"
        scope.fault(node, message, f"write it like {section}: {{scale: 18}}")
        return {}
    return {
        name: item
        for name, item in node.items.items()
        if not (section == "matrix" and name in SPECIAL) and scope.is_name(name, node.keys[name])
    }


Texts = dict[str, tuple[Node, Text]]
"""Parameters with their values, and the file or option that each stands in."""


def _override(name: str, text: str, texts: Texts, axes: Mapping[str, Node], scope: Scope) -> None:
    full, faults = scope.prefix + name, scope.faults
    if name in texts:
        given = Text(f"--set {full}", text)
        node: Node | None = None
        before = len(faults)
        with faults.noted():
            if visible(text) == text:
                node, problems = parse(given)
                faults.add_all(problems)
            else:  # the name of a file, which YAML cannot hold
                node = ScalarNode(1, 1, text, text)
        if len(faults) > before:
            scope.values.broken.add(name)
        texts[name] = (node if node is not None else ScalarNode(1, 1, "", None), given)
    elif name in axes:
        hint = f"--where {full}={text} chooses among its values"
        faults.add(f"--set {full}: {full!r} is a matrix axis, not a parameter", hint)
    else:
        hint = suggest(full, [scope.prefix + each for each in texts], "parameter")
        faults.add(f"--set {full}: there is no parameter {full!r}", hint)


def _resolve(name: str, path: tuple[str, ...], texts: Texts, axes: Mapping[str, Node], scope: Scope) -> None:
    """Resolve the references of a parameter, depth first, so that a cycle is met as a path."""
    values = scope.values
    if values.known(name) or name in values.broken:
        return
    node, source = texts[name]
    inside = replace(scope, source=source)  # an override has a text of its own
    good = True
    for reference in references(node, source):
        wanted, where = reference.name, reference.location
        if wanted in (*path, name):
            circle = [*path, name][[*path, name].index(wanted) :]
            message = " -> ".join([*circle, wanted])
            scope.fault(where, f"parameters refer to each other in a circle: {message}")
            values.broken.update(circle)
        elif wanted is None or (wanted not in texts and wanted not in axes):
            scope.unknown(reference, "parameter", texts)
            good = False
        elif wanted not in texts:
            message = f"a parameter cannot refer to the matrix axis {wanted!r}"
            scope.fault(where, message, "refer to the axis in a stage instead")
            good = False
        elif len(path) >= MAX_CHAIN:
            scope.fault(where, f"a chain of more than {MAX_CHAIN} parameters that refer to each other")
            good = False
        else:
            _resolve(wanted, (*path, name), texts, axes, scope)
            good = good and wanted not in values.broken
    sound = good and name not in values.broken
    values.put(name, inside.evaluate(node) if sound else None)
