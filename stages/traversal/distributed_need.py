"""How much memory the searches of a distributed graph take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.stages import distribute
from gravel.stages.stage import Extent, Machine, Need
from gravel.stages.traversal.gpu_ranks import (
    BYTES_PER_DELEGATE,
    BYTES_PER_NORMAL_ARC,
    DELEGATE_SHARE,
    vertex_bytes,
)
from gravel.stages.traversal.nccl_ranks import BYTES_PER_ARRIVAL
from gravel.stages.traversal.ranked_components import BYTES_PER_NODE

if TYPE_CHECKING:
    from gravel.stages.traverse import TraverseParameters

SEARCH_BYTES_PER_ARC = 60
"""Of a level on the CPU, as it arrives and is sorted."""

LEVEL_BYTES = 4
"""Of each vertex of the graph on every rank that checks."""

WIDE_BYTES_PER_NODE = 52
"""As `BYTES_PER_NODE`, where vertices take 64 bits."""

OFFSET_BYTES = 16
"""Of an own vertex on a GPU: offsets of nn and nd, where they have to be widened."""

LABEL_BYTES_PER_ARC = 44
"""Of the first round of components on the CPU, as it arrives and is sorted."""

LABEL_BYTES_PER_VERTEX = 64
"""Of the same: labels, their labels, what was sent, the look-up's order; of each delegate on every rank."""


def need(
    parameters: TraverseParameters,
    graph: Extent,
    machine: Machine,
    outputs: tuple[Extent, ...],
    searches: int,
    label_bytes: int,
) -> Need:
    """State what all ranks take on the host, and each on its GPU: to make the graph, or to search it."""
    from gravel.stages.traversal.partitioned import LABEL_BYTES

    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    width = _width(n)
    components = parameters.algorithm == "components"
    rows = width * m + 12 * n + int(8 * DELEGATE_SHARE * n) * p
    normal = m if graph.normal_arcs is None else graph.normal_arcs
    back = min(2 * LABEL_BYTES, 2 * label_bytes * n * searches) + label_bytes * n
    if components:
        # All labels come in one call.
        back = 3 * label_bytes * n
    delegates = int(DELEGATE_SHARE * n)
    # Levels of all vertices, or labels and then a forest, on every rank that checks.
    known = width if components else LEVEL_BYTES
    making, held = distribute.host_bytes(n, m, p), 0
    compiled = distribute.COMPILED
    if machine.backend == "cuda" and parameters.backend != "cpu":
        if components:
            node = BYTES_PER_NODE if width == 4 else WIDE_BYTES_PER_NODE
            held = (rows + (node + OFFSET_BYTES + 4 * width) * n) // p + node * delegates + known * n
        else:
            arriving = BYTES_PER_ARRIVAL if parameters.transport == "nccl" else 0
            held = (rows + vertex_bytes(n) * n + (BYTES_PER_NORMAL_ARC + arriving) * normal) // p
            held += BYTES_PER_DELEGATE * delegates + known * n + n // 8
        held = max(held, distribute.device_bytes(n, m, p))
        making = searching = 0
    elif components:
        searching = rows + LABEL_BYTES_PER_VERTEX * n + LABEL_BYTES_PER_ARC * normal
        searching += p * (LABEL_BYTES_PER_VERTEX * delegates + (known + 2) * n)
    else:
        searching = rows + 40 * n + SEARCH_BYTES_PER_ARC * normal
        searching += p * (known + 2) * n
    host = compiled + max(making, searching) + back
    return Need(host, held, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


def _width(vertices: int) -> int:
    return 4 if vertices < 1 << 32 else 8


def verifying(graph: Extent, traversal: Extent, machine: Machine, outputs: tuple[Extent, ...]) -> Need:
    """State what ranks take that check labels; nothing where they have checked them before."""
    if traversal.bytes == 0:
        return Need(distribute.COMPILED, 0, outputs)
    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    if traversal.searches == 0:
        # Every rank reads all labels, some at a time, and keeps its own with what it compares them to.
        width = _width(n)
        checking = p * (width + 2) * n + 6 * width * n
    else:
        labels = 3 * (traversal.bytes // traversal.searches)
        checking = p * (LEVEL_BYTES + 2) * n + labels
    compiled = distribute.COMPILED
    host = compiled + distribute.host_bytes(n, m, p) + checking
    return Need(host, 0, outputs, gang=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)
