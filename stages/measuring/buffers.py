"""Arrays of a centrality on the host, beside its rows and searches; plan and run reckon by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.kernels.buffers import Buffer, Table, exact, table
from gravel.kernels.distances.buffers import sums_of_sources, sums_of_vertices
from gravel.stages.measuring.parameters import count_chosen

if TYPE_CHECKING:
    from gravel.stages.measuring.parameters import CentralityParameters

COMPILED = 126 << 20
"""Measured (tests/drills/stopped.py, scale 14): what Numba takes to compile the searches, and what importing
it does."""

COMPILED_WEIGHTED = 104 << 20
"""The same of searches by weights, and of what reads weights."""

COMPILED_PATHS = 74 << 20
"""The same of betweenness, which compiles one search: 66 MiB with a graph of scale 12, compiled anew."""

BYTES_OF_EDGE = 74
"""Measured: bytes of an arc while `numpy.unique` sorts arcs by their edges; ends, keys, their order twice."""

COPIES = 2
"""Of what a checkpoint has, while it is saved."""


def sources_asked(parameters: CentralityParameters, vertices: int) -> int:
    """Count the sources of a graph with so many vertices."""
    asked = parameters.sources if parameters.of_paths or parameters.estimated else parameters.vertices
    return vertices if isinstance(asked, str) else min(vertices, count_chosen(asked))


def compiled(nbytes: int) -> Table:
    """What Numba takes, as it was measured."""
    return (Buffer("compiled", "u1", nbytes, place="host"),)


def of_sources(vertices: int, sources: int) -> Table:
    """What is found of each source, in the order of searches and in that of sources, and saved."""
    found = sums_of_sources(sources)
    first_offsets = table("host", first_offsets=("i8", vertices))
    return (*first_offsets, *(2 + COPIES) * found)


def of_sample(vertices: int) -> Table:
    """What is found of each vertex over sampled sources, of all and of a batch, and saved; or estimates."""
    found, number = sums_of_vertices(vertices), ("f8", vertices)
    names = (
        *("own", "others", "asked", "there", "mean", "value", "error", "spread", "part", "product"),
        *("kept_value", "kept_error", "rounded"),
    )
    estimates = table("host", **dict.fromkeys(names, number))
    more = max((1 + COPIES) * found, estimates, key=lambda each: sum(row.nbytes for row in each))
    first_offsets = table("host", first_offsets=("i8", vertices), candidates=("u1", (2, vertices)))
    return (*first_offsets, *found, *more)


def of_paths(vertices: int, arcs: int | None, *, sampled: bool) -> Table:
    """What betweenness has beside its searches: of vertices, or of so many arcs, which are sorted by edges.

    The errors of a `sampled` one are found when nothing is saved.
    """
    number = ("i8", vertices)
    rows = table("host", first_offsets=number, sources=number, value=("f8", vertices))
    if arcs is not None:
        error = table("host", error=("f8", 2 * arcs if sampled else 0))
        sorting = (Buffer("sorting", "u1", BYTES_OF_EDGE * arcs, place="host"),)
        return (*compiled(COMPILED_PATHS), *rows, *sorting, *error)
    return (*compiled(COMPILED_PATHS), *rows, *table("host", saved=("f8", (1 + COPIES, vertices))))


def host_bytes(parameters: CentralityParameters, vertices: int, sources: int) -> int:
    """State what a measure by distances takes on the host beside rows and searches."""
    found = of_sample(vertices) if parameters.estimated else of_sources(vertices, sources)
    return exact((*compiled(COMPILED_WEIGHTED if parameters.weighted_paths else COMPILED), *found))
