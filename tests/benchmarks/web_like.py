"""A directed graph like a crawl of the web: a giant strong component, long chains, and many trivial ones.

Directed arcs of R-MAT have the skew: of 2^20 vertices with eight arcs each about a third is in the giant
component, and nearly all others are alone. Crawls have in addition components of middle sizes, far from the
core (Broder and others, Graph structure in the Web, 2000: "tendrils").
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.csr import build
from gravel.kernels.generate import generate

SHARE = 4  # one vertex more in chains for so many of the core
CHAIN = 256  # vertices of a chain, as deep as pages hang below a site
SEED = 7


def web_like(scale: int, factor: int) -> Any:
    """Build rows of a directed R-MAT graph of 2^scale vertices with chains that begin or end in it.

    Links of a chain lead away from the core in one half of the chains and to it in the other. Runs of 1 to 16
    vertices of a chain are closed to cycles, so there are components of these sizes. Numbers are shuffled.
    """
    core = 1 << scale
    chosen = numpy.random.default_rng(SEED)
    tails, heads = (
        ends.astype(numpy.int64)
        for ends in generate("rmat", scale=scale, edge_factor=factor, seed=1, backend="cpu")
    )
    count = max(1, core // SHARE // CHAIN)
    chains = core + numpy.arange(count * CHAIN).reshape(count, CHAIN)
    links = numpy.column_stack([chosen.integers(0, core, count), chains])
    away, back = links[: count // 2], links[count // 2 :, ::-1]
    pairs = [(tails, heads), _arcs(away), _arcs(back)]
    for links in (away, back):
        pairs += _cycles(links, chosen)
    n = core + count * CHAIN
    shuffled = chosen.permutation(n).astype(numpy.uint32)
    ends = (shuffled[numpy.concatenate(side)] for side in zip(*pairs, strict=True))
    return build(*ends, n, direction="as_given")


def _arcs(chains: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return chains[:, :-1].ravel(), chains[:, 1:].ravel()


def _cycles(chains: NDArray[Any], chosen: numpy.random.Generator) -> list[tuple[Any, Any]]:
    """Arcs that close runs of vertices; the ends of a chain, of which one is in the core, are in none."""
    arcs, at = [], 1
    while at + 16 < chains.shape[1]:
        length = int(chosen.integers(1, 17))
        arcs.append((chains[:, at + length - 1], chains[:, at]))
        at += length
    return arcs
