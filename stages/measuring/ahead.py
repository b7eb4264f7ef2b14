"""The CUDA kernels that a centrality loads."""

from __future__ import annotations

from typing import Any

from gravel.kernels.betweenness.buffers import LANES, MAX_WORDS
from gravel.kernels.distances.buffers import BATCH, row_words
from gravel.stages.kernel_names import U32, Kernel, MadeBy, columns_searched
from gravel.stages.measuring.parameters import count_chosen


def kernels_of(asked: Any, made_by: MadeBy) -> tuple[Kernel, ...]:
    """Name the kernels; `asked` is what the stage is asked for, of a graph of many vertices."""
    if asked.weighted_paths or asked.backend == "cpu":
        return ()
    if asked.measure == "pagerank":
        columns = (
            "kernels/pagerank/columns.cu",
            {**U32, "WEIGHT": "u8"},
        )  # whether there are weights is not known
        return columns, ("kernels/pagerank/commit.cu", {})
    if asked.of_paths:
        words = min(MAX_WORDS, -(-_count(asked.sources) // LANES))
        arcs = str(int(asked.measure == "edge_betweenness"))
        rows = "kernels/betweenness/rows.cu", {**U32, "WORDS": str(words), "ARCS": arcs}
        # Whether searches go far is seen by one.
        return rows, ("kernels/distances/independent.cu", {"LAYOUT": "csr", **U32, "SHARED": "1"})
    words = row_words(_count(asked.sources if asked.estimated else asked.vertices))
    macros = {"LAYOUT": "csr", **U32, "WORDS": str(words)}
    together: Kernel = ("kernels/distances/bit_parallel.cu", macros)
    if asked.vertices != "all" or asked.estimated:
        return (together,)
    bounds: tuple[Kernel, ...] = (
        (("kernels/distances/bounds.cu", {}),) if asked.measure == "eccentricity" else ()
    )
    # Whether searches go far is seen by one from a vertex of high degree.
    return (together, *columns_searched("distance"), *bounds)


def _count(chosen: Any) -> int:
    """Count the vertices that are searched from, as far as it matters for how many are searched at once."""
    if chosen == "all":
        return BATCH
    return BATCH if hasattr(chosen, "file") else count_chosen(chosen)
