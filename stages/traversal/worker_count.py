"""The number of workers for many sources, by the predicted times of searches, loading and labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.stages.traversal.parameters import batched

if TYPE_CHECKING:
    from gravel.stages.stage import Extent
    from gravel.stages.traversal.parameters import TraverseParameters


MAX_WORKERS = 16
"""Workers that sources are dealt to."""


START_SECONDS = 3.0
"""Of a worker that has not searched yet: to load and compile kernels; assumed."""


LOAD_RATE = 1e9
"""Bytes a second that a worker reads a stored graph with and brings it to its GPU; assumed."""


LABELS_RATE = 4e9
"""Bytes a second of labels that a GPU's host copies and counts; assumed."""


WIRE_RATE = 1e9
"""Bytes a second of labels from one worker to another; measured with Dask between two of one host, 0.9 to 1.1
GB/s for arrays of 64 and 256 MiB."""


LEVELS = 8
"""Of a search; Kronecker, uniform and social graphs have up to 9."""


LOOKED_AT = 0.1
"""Share of the arcs that a search looks at that may go bottom-up: 3 to 5 % of a Kronecker graph."""


GAIN = 1.2
"""Predicted gain from which on spreading is chosen, since the rates are rough."""


@dataclass(frozen=True)
class Spreading:
    """The number of workers for sources: at most `most`, 1 for none; with fewer than `least` none."""

    most: int
    least: int
    reason: str


def plan_spreading(
    parameters: TraverseParameters,
    graph: Extent,
    *,
    sources: int,
    backend: str,
    label_bytes: int,
    whole: bool,
) -> Spreading:
    """Decide for a graph that is not a partition.

    Parameters
    ----------
    sources : how many, at most.
    label_bytes : of one search.
    whole : whether the rows lie whole where a search runs.

    """
    choice = parameters.sources_over
    most = min(sources, MAX_WORKERS)
    if most < 2 or parameters.algorithm != "bfs":
        return Spreading(1, 1, "there is nothing to deal out")
    if choice == "workers":
        return Spreading(most, 2, "asked for")
    if choice == "one":
        return Spreading(1, 1, "asked for")
    if batched(parameters) or parameters.statistics:
        return Spreading(1, 1, "searches that go together, or are counted, stay together")
    if backend == "cpu":
        return Spreading(1, 1, "workers without GPUs share their processors")
    if not whole:
        return Spreading(1, 1, "the graph does not fit the memory of one GPU")
    search = predicted_seconds(graph) + label_bytes / LABELS_RATE
    return weighed(
        f"{sources} searches",
        sources * search,
        lambda workers: spread_seconds(graph, sources, workers, search, label_bytes),
        most,
    )


def weighed(what: str, alone: float, spread: Callable[[int], float], most: int) -> Spreading:
    """Decide by the seconds that `what` is predicted to take on one GPU and on some."""
    for workers in range(2, most + 1):
        if alone > GAIN * spread(workers):
            why = f"{what} predicted to take {alone:.1f} s on one GPU, {spread(workers):.1f} s on {workers}"
            return Spreading(most, workers, why)
    why = f"{what} predicted to take {alone:.1f} s on one GPU, {spread(most):.1f} s on {most}"
    return Spreading(1, 1, f"{why}, with loading the graph there and bringing results back")


def predicted_seconds(graph: Extent) -> float:
    """Predict one search on a GPU that holds the graph, after `gravel.kernels.advice.model`."""
    from gravel.kernels.advice.model import LEVEL, LOOKS, MEMORY, STATE_BYTES

    looked_at = graph.arcs * (1.0 if graph.directed else LOOKED_AT)
    return LEVELS * LEVEL + STATE_BYTES * graph.vertices / MEMORY + looked_at / LOOKS


def spread_seconds(graph: Extent, sources: int, workers: int, search: float, label_bytes: int) -> float:
    """Predict all searches over `workers`, with what they take to load the graph and to send labels."""
    load = START_SECONDS + graph.bytes / LOAD_RATE
    return load + math.ceil(sources / workers) * search + sources * label_bytes / WIRE_RATE
