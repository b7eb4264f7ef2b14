"""The device of searches: `nx.config.backends.gravel.device` is "auto", "cpu" or "cuda".

With "cuda" all that gravel has for a GPU runs there. With "auto" many searches at once do, where one is there
and they are work enough. Results whose order NetworkX defines are found on the CPU in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx
import numpy
from numpy.typing import NDArray

from gravel.conversion.networkx import Rows
from gravel.networkx.info import DEVICES

if TYPE_CHECKING:
    from gravel.networkx.graph import GravelGraph

GPU_FROM = 10**11
"""Smallest product of searches and the sum of nodes and arcs for which "auto" takes a GPU.

On 16 cores, the closeness of 100,000 nodes (9e10) takes 1.4 s. On an H200 it takes 0.2 s, after 1.0 s in
which the GPU is made ready: `python -m tests.benchmarks.networkx --part gpu --sizes 3000 30000 100000`.
"""


def many_on_gpu(G: GravelGraph, searches: int) -> bool:
    """Say whether so many searches of a graph run on a GPU.

    Raises ValueError for another setting than `DEVICES`, and RequestError for "cuda" without a GPU.
    """
    device = _setting()
    if device != "auto":
        return everything_on_gpu()
    columns = G.forward.column_indices
    work = searches * (len(G) + len(columns))
    return work >= GPU_FROM and _is_usable(2 * (G.forward.row_offsets.nbytes + columns.nbytes))


def everything_on_gpu() -> bool:
    """Say whether a GPU is asked for; raises as `many_on_gpu` does."""
    if _setting() != "cuda":
        return False
    from gravel.memory import demand_gpu

    demand_gpu()
    return True


def rows_on_gpu(G: GravelGraph, *, backward: bool = False) -> Rows:
    """Return ascending rows on the GPU, copied once for a graph."""
    from gravel.kernels.inputs import csr
    from gravel.kernels.placement.device_copies import on_device

    def copied() -> Rows:
        rows = G.ascending if key == "forward" else csr(tuple(G.backward))
        return Rows(*map(on_device, rows))

    key = "backward" if backward and G.directed else "forward"
    found: Rows = G.once(key, copied)
    return found


def distances(G: GravelGraph, vertex: int, *, backward: bool = False) -> NDArray[Any]:
    """Search from a vertex on the GPU; returns the distances in host memory, -1 for unreached."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.bfs import prepare

    key = "search backward" if backward and G.directed else "search"
    with G.lock:
        # It is kept again once it has ended: what Ctrl-C cut off is not used again.
        search = G.kept.pop(key, None)
        if search is None:
            rows = rows_on_gpu(G, backward=backward)
            search = prepare(*rows, output="distance", symmetric=not G.directed)
        found: NDArray[Any] = on_host(search.run(vertex).distance)
        G.kept[key] = search
    return found


def strong_component_count(G: GravelGraph) -> int:
    """Find the strongly connected components on the GPU, and count them."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.strong_components import strong_components

    with G.lock:
        component = on_host(strong_components(*rows_on_gpu(G), *rows_on_gpu(G, backward=True)).component)
    return int(numpy.count_nonzero(component == numpy.arange(len(G))))  # a label is its smallest vertex


def lengths(G: GravelGraph, vertex: int, weight: Any) -> NDArray[Any] | None:
    """Return the lengths of shortest paths on the GPU, in host memory, -1 or inf for unreached.

    None for weights that its kernel would round: it takes those of int32 and float32.
    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.sssp import prepare

    weights = G.once(("32 bits", weight), lambda: _of_32_bits(G.weights[weight].forward))
    if weights is None:
        return None
    key = "lengths", weight
    with G.lock:
        search = G.kept.pop(key, None)
        if search is None:
            rows = map(on_device, (*G.forward, weights))
            search = prepare(*rows, predecessor=False, symmetric=not G.directed)
        found: NDArray[Any] = on_host(search.run(vertex).distance)
        G.kept[key] = search
    return found


def _of_32_bits(weights: NDArray[Any]) -> NDArray[Any] | None:
    is_float = weights.dtype.kind == "f"
    largest = float(numpy.finfo(numpy.float32).max) if is_float else (1 << 31) - 1
    if not bool((weights <= largest).all()):
        return None
    found: NDArray[Any] = weights.astype(numpy.float32 if is_float else numpy.int32)
    return found if bool((found == weights).all()) else None


def _setting() -> str:
    device: str = networkx.config.backends.gravel.device
    if device not in DEVICES:
        allowed = ", ".join(map(repr, DEVICES))
        raise ValueError(f"nx.config.backends.gravel.device is {device!r}; it can be {allowed}")
    return device


def _is_usable(memory: int) -> bool:
    """Say whether there is a GPU with so many bytes."""
    from gravel.memory import demand_gpu, on_gpu, this_machine
    from gravel.pipeline.core.errors import RequestError

    try:
        demand_gpu()
    except RequestError:
        return False
    return on_gpu(this_machine()).device_memory >= memory
