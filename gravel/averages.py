"""The mean distance between the vertices of a graph, exact or estimated."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.measured_rows import searched_rows
from gravel.measures import Progress, drawn, fitting, since

if TYPE_CHECKING:
    from gravel.graphs import Graph


@dataclass(frozen=True)
class Estimate:
    """A number between bounds that hold with some `confidence`.

    `value`, `low` and `high` are one where all `sources` were searched from. `milliseconds` says how long it
    took.
    """

    value: float
    low: float
    high: float
    confidence: float
    sources: int
    milliseconds: float

    def __float__(self) -> float:
        return self.value


def average_path_length(
    graph: Graph, k: int | None, seed: int, confidence: float, progress: Progress | None
) -> Estimate:
    """Compute the mean distance; see `Graph.average_path_length`."""
    from gravel.kernels.distances.average import mean_distance
    from gravel.kernels.distances.many import aggregate_rows
    from gravel.kernels.layouts.units import offsets_of

    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")
    started = time.perf_counter()
    there = searched_rows(graph, "average_path_length")
    starts, candidates = drawn(offsets_of(there.rows), there.permutation, k, seed)
    options: dict[str, Any] = {"symmetric": not graph.directed, "memory": there.memory, "split": there.split}
    found = fitting(lambda: aggregate_rows(there.rows, starts, progress=progress, **options))
    value, low, high = mean_distance(found, candidates, confidence)
    return Estimate(value, low, high, confidence, len(starts), since(started))
