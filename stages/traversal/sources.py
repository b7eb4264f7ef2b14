"""From which vertices a traversal searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.traversal.graph import SearchedGraph
    from gravel.stages.traverse import TraverseParameters

SHOWN = 10
"""Sources that an error names; one more would not help to find the fault."""


def draw_sources(row_offsets: NDArray[Any], count: int, seed: int) -> NDArray[Any]:
    """Draw vertices that have arcs, without replacement; all of them where there are fewer.

    `row_offsets` are in `symmetrize`'s numbering, so that every order, layout and number of ranks searches
    from the same vertices.
    """
    import numpy

    return draw_among(numpy.flatnonzero(row_offsets[1:] != row_offsets[:-1]), count, seed)


def draw_among(candidates: NDArray[Any], count: int, seed: int) -> NDArray[Any]:
    """Draw some of the vertices, without replacement; all of them where there are fewer."""
    import numpy

    if len(candidates) <= count:
        return candidates
    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    return candidates[generator.choice(len(candidates), count, replace=False)]


def check_sources(vertices: Sequence[int], vertex_count: int) -> NDArray[Any]:
    """Check given vertices; raises `StageError` that names those which the graph does not have."""
    import numpy

    wrong = [vertex for vertex in vertices if not 0 <= vertex < vertex_count]
    if wrong:
        listed = ", ".join(str(vertex) for vertex in wrong[:SHOWN])
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise StageError(
            f"no such source: {listed}{more}; the graph has {vertex_count} vertices, counted from 0",
            hint="name sources that are in the graph",
        )
    return numpy.array(vertices, numpy.int64)


def sources_of(parameters: TraverseParameters, graph: SearchedGraph) -> NDArray[Any]:
    """Draw or check the sources, in `symmetrize`'s numbering; raises `StageError` for one that is none."""
    asked: Any = parameters.sources
    if hasattr(asked, "random"):
        return draw_sources(graph.first_offsets, asked.random, asked.seed)
    return check_sources(asked.vertices if hasattr(asked, "vertices") else asked, graph.vertex_count)
