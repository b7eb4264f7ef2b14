"""Core numbers, with the exceptions of `networkx.algorithms.core`."""

from __future__ import annotations

from typing import Any

import networkx
import numpy

from gravel.kernels.cores import core_numbers
from gravel.kernels.csr import build
from gravel.networkx.graph import GravelGraph

LOOPS = (
    "Input graph has self loops which is not permitted; "
    "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
)


def core_number(G: GravelGraph) -> dict[Any, int]:
    """Return the core number of each node; of a directed graph in-arcs and out-arcs count."""
    offsets, columns = G.forward
    sources = numpy.repeat(numpy.arange(len(G), dtype=columns.dtype), numpy.diff(offsets))
    if bool((sources == columns).any()):
        raise networkx.NetworkXNotImplemented(LOOPS)
    if G.directed:
        offsets, columns, _ = build(sources, columns, len(G), keep_duplicates=True)
    return dict(zip(G, core_numbers(offsets, columns).tolist(), strict=True))
