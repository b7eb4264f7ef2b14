"""Measures of a vertex by its distances to the vertices that it reaches; this module imports nothing heavy.

The stage `centrality` offers every measure of this table, and the methods of a graph compute them from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gravel.kernels.distances.aggregates import Aggregates

Values = Callable[["Aggregates", int], Any]
"""Takes the sums of searches and the number of vertices; returns a number for each source (sources,)."""


@dataclass(frozen=True)
class DistanceMeasure:
    """One measure; `name` and `about` are a sentence of the stage's page.

    `hops` is how far its searches go: a number, what the parameter `hops` asks, or None for as far as arcs
    lead.
    """

    name: str
    about: str
    values: Values
    hops: int | Literal["asked"] | None = None


def _closeness(found: Aggregates, vertices: int) -> Any:
    from gravel.kernels.distances.closeness import closeness

    return closeness(found, vertices)


def _mean_distance(found: Aggregates, vertices: int) -> Any:
    import numpy

    return found.total / numpy.maximum(1, found.reached - 1)


_ALL = (
    DistanceMeasure(
        "closeness",
        "is the reciprocal of the mean distance, times the share of vertices that are reached",
        _closeness,
    ),
    DistanceMeasure("harmonic", "is the sum of reciprocal distances", lambda found, _: found.reciprocal),
    DistanceMeasure(
        "eccentricity",
        "is the largest distance to a vertex that is reached",
        lambda found, _: found.eccentricity,
    ),
    DistanceMeasure(
        "neighbourhood",
        "counts the vertices within `hops`, the vertex itself included",
        lambda found, _: found.reached,
        hops="asked",
    ),
    DistanceMeasure(
        "average_path_length",
        "is the mean distance to the vertices that are reached, and of drawn vertices an estimate for the "
        "graph",
        _mean_distance,
    ),
)

DISTANCE_MEASURES: dict[str, DistanceMeasure] = {measure.name: measure for measure in _ALL}
