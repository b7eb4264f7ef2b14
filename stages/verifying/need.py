"""The parameters of `verify`, the memory that it takes, and the side on which it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gravel.kernels.buffers import table, total, vertex_type
from gravel.kernels.verify import buffers
from gravel.kernels.verify.cuda.memory import (
    MAX_THREADS,
    MAX_VERTICES,
    STAGE_BYTES,
    Batch,
    GraphSize,
    LabelSize,
    plan_components,
    plan_paths,
    plan_searches,
    plan_strong_components,
)
from gravel.stages.stage import Extent, Machine, Need, Parameters
from gravel.stages.turning import turned_extent, with_turning

COMPILED = 62 << 20
"""Measured: what Numba takes to compile the checks, and to be there at all."""

SENDING = 2 * MAX_THREADS * STAGE_BYTES
"""Buffers in which pieces go to a GPU, and what is read into each (gravel.kernels.verify.cuda.upload)."""


class VerifyParameters(Parameters):
    """Parameters that say where to check; every check that the result allows is made."""

    on: Literal["auto", "cuda", "cpu"] = "auto"
    """`auto` is the GPU if the run has one and the graph fits, else the CPU. `cpu` checks results of a GPU
    with independent code. `cuda` refuses a run without a GPU. A distributed graph is checked by its ranks,
    where they are."""


@dataclass(frozen=True)
class Checked:
    """Sizes of what is checked: a graph, and labels of `label_bytes` for each vertex of each search.

    `searches` is 0 for components. `symmetric` says that every arc has its reverse, `weighted` that the
    searches are of shortest paths, `strong` that the components are strongly connected ones.
    """

    vertices: int
    arcs: int
    searches: int
    label_bytes: int
    symmetric: bool
    weighted: bool = False
    strong: bool = False

    @property
    def host_bytes(self) -> int:
        """Return what checks on the CPU take beside graph and labels, of one search at a time."""
        n, m, vertex = self.vertices, self.arcs, vertex_type(self.vertices)
        if self.strong:
            rows = buffers.strong_components(n, m, vertex)
        elif self.searches:
            rows = buffers.paths(n) if self.weighted else buffers.search(n)
        else:
            rows = buffers.components(n, vertex)
        return COMPILED + total(rows, "host")

    def planned(self, room: int) -> Batch | None:
        """Choose what is on a device at once within `room` bytes; None where it does not fit."""
        graph = GraphSize(self.vertices, self.arcs, int(vertex_type(self.vertices)[1:]))
        if not self.searches:
            plan = plan_strong_components if self.strong else plan_components
            return plan(graph, max(4, self.label_bytes), room)
        # Labels of 4 bytes may be either; predecessors take more.
        predecessor = 0 if self.label_bytes < 4 else 4 if self.vertices < 1 << 31 else 8
        labels = LabelSize(self.searches, max(0, self.label_bytes - predecessor), predecessor)
        if self.weighted:
            return plan_paths(graph, labels, room)
        return plan_searches(graph, labels, self.symmetric, room)


def estimate(
    parameters: VerifyParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State host and device bytes, and why the CPU does what a GPU might."""
    graph, traversal = inputs["graph"][0], inputs["traversal"][0]
    direction = traversal.direction
    if traversal.kind == "Centrality":
        outputs = (Extent(kind="Verification", vertices=graph.vertices, bytes=4096),)
        ranks = Need(COMPILED + total(buffers.pagerank(graph.vertices), "host"), 0, outputs)
        return with_turning(ranks, graph, direction, compiled=COMPILED)
    searched = turned_extent(graph, direction)
    need = _need(parameters, searched, traversal, machine)
    return with_turning(need, graph, direction, compiled=COMPILED)


def _need(parameters: VerifyParameters, graph: Extent, traversal: Extent, machine: Machine) -> Need:
    outputs = (Extent(kind="Verification", vertices=graph.vertices, bytes=4096),)
    if graph.kind in ("DistributedGraph", "Partition"):
        return _ranks_need(graph, traversal, outputs)
    checked = _checked(graph, traversal)
    if machine.backend != "cuda":
        return Need(checked.host_bytes, 0, outputs)
    if parameters.on == "cpu":
        return Need(checked.host_bytes, 0, outputs, note="on the CPU: `on: cpu` asks for it")
    batch = checked.planned(machine.device_memory)
    if batch is not None:
        return Need(COMPILED + SENDING + 8 * graph.vertices, batch.device_bytes, outputs)
    why = too_large(checked, machine.device_memory)
    if parameters.on == "cuda":
        return Need(checked.host_bytes, 0, outputs, refusal=f"{why}; leave `on` out to verify on the CPU")
    return Need(checked.host_bytes, 0, outputs, note=f"on the CPU: {why}")


def _ranks_need(graph: Extent, traversal: Extent, outputs: tuple[Extent, ...]) -> Need:
    """State what ranks take that check labels; nothing where they have checked them before."""
    from gravel.stages import distribute
    from gravel.stages.traversal.rank_memory import known

    if traversal.bytes == 0:
        return Need(distribute.COMPILED, 0, outputs)
    n, m, p = graph.vertices, graph.arcs, max(1, graph.ranks)
    if traversal.searches == 0:
        # Every rank reads all labels, some at a time, and keeps its own with what it compares them to.
        vertex = vertex_type(n)
        checking = (*known(p * n, vertex, "host"), *table("host", read=(vertex, (6, n))))
    else:
        labels = traversal.bytes // traversal.searches
        checking = (
            *known(p * n, "i4", "host"),
            *table("host", read=("u1", (3 if traversal.weighted else 1, labels))),
        )
        if traversal.weighted:
            # Distances are as exact as they come; NumPy compares own vertices with their predecessors.
            paths = known(p * n, "i8", "host") + table("host", reached=("u1", p * n), NumPy=("u1", (28, n)))
            checking = (*paths, *checking[2:])
    compiled = distribute.COMPILED
    made = distribute.host_bytes(n, m, p) if graph.kind == "DistributedGraph" else 0
    host = compiled + made + total(checking, "host")
    return Need(host, 0, outputs, workers=p if p > 1 else 0, each_host_bytes=compiled if p > 1 else 0)


def too_large(checked: Checked, room: int) -> str:
    """Say why something is not verified on a GPU, with the numbers."""
    if checked.vertices > MAX_VERTICES:
        return f"verification on a GPU takes at most {MAX_VERTICES:,} vertices"
    low, high = room, 1 << 62
    while high - low > 1 << 20:
        middle = (low + high) // 2
        low, high = (low, middle) if checked.planned(middle) is not None else (middle, high)
    needed, free = high / (1 << 30), room / (1 << 30)
    return f"verification needs {needed:.3g} GiB of GPU memory, and {free:.3g} GiB are free"


def _checked(graph: Extent, traversal: Extent) -> Checked:
    searches, n = traversal.searches, graph.vertices
    each = traversal.bytes // max(1, n * max(1, searches)) if traversal.bytes else 0
    usual = 8 if searches else 4
    symmetric, weighted = not graph.directed, traversal.weighted
    return Checked(n, graph.arcs, searches, each or usual, symmetric, weighted, traversal.strong)
