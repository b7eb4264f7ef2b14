"""A graph with nested communities in crawl-like order, each edge from its number alone, on CPU and GPU alike.

Communities of one level are ranges of `sizes[level]` numbers; the last level is the whole graph. Edges come
in bundles of `BUNDLE` with one source. Sources ascend from bundle to bundle up to the size of an innermost
community, as pages in a crawl do, so that any part of the edges stays near. A bundle's targets are runs of
consecutive numbers, of the mean length `run`, as in the lists of web pages (Boldi, Vigna, The WebGraph
Framework I, WWW 2004, section 3). Each run is drawn at one level: `mixing[level]` is the share of edges
whose ends lie in one community of that level, and in two of the level below.

Degrees d occur as d^-exponent: in an innermost community, the j-th number is a target with a chance
proportional to (j + 1)^-s, s = 1 / (exponent - 1) (Newman, Contemporary Physics 2005, section 2), and the
community is any, drawn uniformly where the edge leaves its source's. So no degree exceeds what one such
community can give. Larger ones are those of the communities' first numbers: at each level above, a share of
the edges, as large as continues the power law, leads to the first number of the j-th community of the level
below, again with a chance proportional to (j + 1)^-s. Where a level has fewer edges, all of them do.

Everything is decided by integers. The chances are thresholds that `decimal` computes, to the last digit the
same everywhere: bins of one number each at first, then eight to each power of two, uniform within.
"""

from __future__ import annotations

from typing import Any

from gravel.kernels.arrays import index_bits
from gravel.kernels.generate.communities_tables import community_tables
from gravel.kernels.generate.rmat import edge_constants
from gravel.kernels.generate.shapes import Communities


def communities(shape: Communities, first: int, count: int, *, backend: str = "cpu") -> tuple[Any, Any]:
    """Make edges `first` to `first + count` with NumPy, or with CuPy for the backend "cuda"."""
    vertices, seed, sizes, mixing = shape.vertices, shape.seed, tuple(shape.sizes), tuple(shape.mixing)
    facts = vertices, shape.edges, seed, float(shape.exponent), sizes, mixing, float(shape.run)
    bits = index_bits(vertices)
    labels = edge_constants(bits, seed, 0.25, 0.25, 0.25, shape.numbering == "random")
    tables = *community_tables(*facts), labels
    if backend == "cuda":
        from gravel.kernels.generate import on_device

        file = "kernels/generate/communities.cu"
        return on_device.make_edges(file, "community_edges", vertices, first, count, bits, *tables)
    from gravel.kernels.generate import on_threads
    from gravel.kernels.generate.communities_cpu import community_edges

    return on_threads.make_edges(community_edges, vertices, first, count, bits, *tables)
