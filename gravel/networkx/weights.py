"""Edge weights of a NetworkX graph, in the order of the rows that `gravel.conversion.networkx` makes."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.conversion.networkx import adjacency_of

NUMBERS = frozenset({bool, int, float, numpy.float64, numpy.int64})
"""Types whose sums are those of int64 and float64; smaller types of NumPy round in their own way."""

LARGEST_SUM = {"i": (1 << 62) - 1, "f": (1 << 53) - 1}
"""How large the sum of all weights may be: of integers, and of integers that are added to floats."""


class Weights(NamedTuple):
    """int64 or float64 (arcs,) for the rows of successors and for those of predecessors."""

    forward: NDArray[Any]
    backward: NDArray[Any]


def weights_of(graph: Any, attribute: Any, default: Any = 1) -> Weights:
    """Read an attribute of every edge, of parallel ones the smallest.

    Raises NotImplementedError for a weight that gravel does not add as Python does, or that is negative.
    """
    forward = _array(graph, attribute, default, reverse=False)
    backward = _array(graph, attribute, default, reverse=True) if graph.is_directed() else forward
    return Weights(forward, backward)


def reason_against(graph: Any, attribute: Any) -> str | None:
    """Say why an attribute cannot be the weight, or return None if it can."""
    try:
        _array(graph, attribute, 1, reverse=False)
    except NotImplementedError as error:
        return str(error)
    return None


def _array(graph: Any, attribute: Any, default: Any, *, reverse: bool) -> NDArray[Any]:
    edges = chain.from_iterable(row.values() for row in adjacency_of(graph, reverse=reverse).values())
    try:
        if graph.is_multigraph():
            values = [min(each.get(attribute, default) for each in edge.values()) for edge in edges]
        else:
            values = [edge.get(attribute, default) for edge in edges]
    except TypeError as error:
        raise NotImplementedError(f"weights {attribute!r} cannot be compared: {error}") from error
    types = set(map(type, values))
    if not types <= NUMBERS:
        others = ", ".join(sorted(kind.__name__ for kind in types - NUMBERS))
        raise NotImplementedError(f"weights {attribute!r} are of type {others}; int and float are supported")
    is_float = any(issubclass(kind, float) for kind in types)
    try:
        found = numpy.fromiter(values, numpy.float64 if is_float else numpy.int64, len(values))
    except OverflowError as error:
        raise NotImplementedError(f"weights {attribute!r} do not fit into 64 bits") from error
    if not bool((found >= 0).all()):
        wrong = found[numpy.flatnonzero(~(found >= 0))[0]]
        raise NotImplementedError(f"a weight {attribute!r} is {wrong}; 0 or more is supported")
    largest = LARGEST_SUM["f" if is_float else "i"]
    has_integers = not all(issubclass(kind, float) for kind in types)
    if (
        has_integers
        and float(found.max()) * len(found) > largest
        and sum(value for value in values if not isinstance(value, float)) > largest
    ):
        raise NotImplementedError(f"weights {attribute!r} are too large to be added without rounding")
    return found
