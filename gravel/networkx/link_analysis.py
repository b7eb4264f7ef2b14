"""PageRank, with the ranks and the exceptions of NetworkX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx
import numpy
from numpy.typing import NDArray

from gravel.networkx.device import everything_on_gpu, rows_on_gpu
from gravel.networkx.graph import GravelGraph


def pagerank(
    G: GravelGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, Any] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, Any] | None = None,
    weight: Any = "weight",
    dangling: Mapping[Any, Any] | None = None,
) -> dict[Any, float]:
    """Return how often a random surfer is at each node.

    Raises ZeroDivisionError for a personalization without nodes, and PowerIterationFailedConvergence.
    """
    from gravel.kernels.pagerank import NotConverged
    from gravel.kernels.pagerank import pagerank as ranks_of

    if not len(G):
        return {}
    given = {"personalization": personalization, "dangling": dangling, "start": nstart}
    jumps = {name: _values(G, each) for name, each in given.items()}
    if jumps["personalization"] is not None and not jumps["personalization"].any():
        raise ZeroDivisionError
    # NetworkX divides by such a sum, and goes on with what is no number.
    nothing = any(each is not None and not each.any() for each in jumps.values())
    if max_iter < 1 or nothing:
        raise networkx.PowerIterationFailedConvergence(max_iter)
    asked: dict[str, Any] = {"damping": alpha, "tolerance": tol, "max_iterations": max_iter, **jumps}
    with G.lock:
        try:
            found = ranks_of(*_flow(G, weight, everything_on_gpu()), **asked)
        except NotConverged as error:
            raise networkx.PowerIterationFailedConvergence(max_iter) from error
    return dict(zip(G, found.rank.tolist(), strict=True))


def reason_against(given: Mapping[str, Any]) -> str | None:
    """Say why a call is left to NetworkX, or return None."""
    if given["G"].is_multigraph():
        return "the weights of parallel edges would have to be added up"
    if not 0 <= given.get("alpha", 0.85) <= 1 or not given.get("tol", 1) > 0:
        return "alpha is no probability, or tol is not positive"
    for name in ("personalization", "nstart", "dangling"):
        values = (given.get(name) or {}).values()
        if not all(isinstance(each, int | float) and 0 <= each < 1e300 for each in values):
            return f"a value of {name} is negative or no finite number"
    return None


def _values(G: GravelGraph, given: Mapping[Any, Any] | None) -> NDArray[Any] | None:
    """Return the value of each node, 0 where there is none; others than nodes are passed over."""
    if given is None:
        return None
    found = numpy.zeros(len(G))
    for node, value in given.items():
        vertex = G.find(node)
        if vertex is not None:
            found[vertex] = value
    return found


def _flow(G: GravelGraph, weight: Any, on_gpu: bool) -> tuple[Any, Any, Any]:
    """Return rows of predecessors, what leaves each node, and weights unless all are 1; kept for a graph."""
    from gravel.kernels.layouts import columns_as_rows
    from gravel.kernels.pagerank.outgoing import outgoing
    from gravel.kernels.placement.device_copies import on_device

    there: Any = on_device if on_gpu else numpy.asarray

    def made() -> tuple[Any, Any, Any]:
        weights = None if weight is None else G.weights[weight]
        if weights is None or bool((weights.forward == 1).all()):
            leaving = outgoing(G.forward.row_offsets)
            rows = rows_on_gpu(G, backward=True) if on_gpu else G.backward
            return columns_as_rows(*rows), there(leaving), None
        leaving = outgoing(G.forward.row_offsets, weights.forward)
        return columns_as_rows(*map(there, G.backward)), there(leaving), there(weights.backward)

    found: tuple[Any, Any, Any] = G.once(("flow", weight, on_gpu), made)
    return found
