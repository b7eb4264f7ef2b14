"""Places for the rows of a graph, or of ranks: decided by numbers, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gravel.kernels.bfs.buffers import MOST_SEARCHES
from gravel.stages.errors import StageError
from gravel.stages.traversal.names import OF_ALL_VERTICES
from gravel.stages.traversal.strategy import placements_of

if TYPE_CHECKING:
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.partition.cuda.placing import Placing as RankPlacing
    from gravel.kernels.placement import Limits, Placed, Plan, Sizes
    from gravel.stages.artifacts import CompressedGraph, Graph, Partition
    from gravel.stages.stage import Extent, Machine
    from gravel.stages.traversal.parameters import TraverseParameters


COLUMNS = "columns"
"""The name of a graph's columns among the arrays that are placed."""


COUNTED_AT_ONCE = 1 << 22
"""Vertices whose arcs are counted at once on the device, from row offsets and their differences, 64 MiB."""


def placement_asked(parameters: TraverseParameters) -> str:
    """Return the placement to plan for, which a strategy may decide."""
    asked: str = parameters.placement
    taken = placements_of(parameters)
    if asked != "auto":
        return asked
    if len(taken) == 1:
        return taken[0]
    # What searches rows anywhere, and other algorithms than bfs, take the first placement that fits.
    return asked if "split" in taken or parameters.algorithm != "bfs" else "device"


def limits_of(parameters: TraverseParameters, machine: Machine, base: int) -> Limits:
    """Return what the parameters allow, at most what the machine has.

    `base` is what a traversal takes in host memory beside rows and buffers.
    """
    from gravel.kernels.placement import Limits

    device = [size for size in (parameters.device_memory, machine.device_memory) if size]
    host = [max(0, machine.host_memory - base)]
    if parameters.host_memory is not None:
        host.append(int(parameters.host_memory))
    return Limits(int(min(device)) if device else None, min(host))


def plan_rows(parameters: TraverseParameters, sizes: Sizes, limits: Limits, backend: str) -> Plan:
    """Choose a placement; raises `gravel.kernels.placement.DoesNotFit`."""
    from gravel.kernels.placement import on_gpu, on_host

    asked = placement_asked(parameters)
    if backend == "cpu":
        if asked == "device":
            limits = replace(limits, host=None)
        return on_host(sizes, limits, asked)
    names = None if parameters.algorithm == "bfs" else placements_of(parameters)
    return on_gpu(sizes, limits, asked, among=names)


@dataclass(frozen=True)
class Placing:
    """A plan with what it was made from, for when the system refuses what was planned."""

    plan: Plan
    sizes: Sizes
    limits: Limits


def place_columns(columns: Any, placing: Placing | None) -> Placed | None:
    """Bring columns to where they are planned; None where they go the usual way, whole into memory."""
    from gravel.kernels.placement import place

    if placing is None or placing.plan.placement in ("device", "host"):
        return None
    return place({COLUMNS: columns}, placing.plan, placing.sizes, placing.limits)


def extent_of(stored: Graph | CompressedGraph | Partition) -> Extent:
    """Return how large a stored graph is, as the planner knows it; of a partition that it is one."""
    from gravel.stages.artifacts import CompressedGraph, Partition
    from gravel.stages.stage import Extent

    n, m = stored.vertex_count, stored.arc_count
    split = isinstance(stored, Partition) or (
        isinstance(stored, CompressedGraph) and stored.subgraphs is not None
    )
    size = 8 * (n + 1) + (4 if n < 1 << 32 else 8) * m
    if isinstance(stored, CompressedGraph):
        size = 8 * (n + 1) + len(stored.stream)
    weights = getattr(stored, "weights", None)
    if weights is not None:
        size += weights.dtype.itemsize * m
    return Extent(
        kind=type(stored).__name__,
        vertices=n,
        arcs=m,
        bytes=size,
        directed=not stored.symmetric,
        normal_arcs=0 if split else None,
        weighted=weights is not None,
    )


@dataclass(frozen=True)
class RankPlan:
    """A placement of all ranks alike; bytes are those of one GPU, `keep` those of columns that it keeps."""

    placement: str
    keep: int
    device_bytes: int
    host_bytes: int
    reason: str

    def placing(self, ranks: int) -> RankPlacing | None:
        """Say it as the kernels take it, for one of `ranks` ranks of a GPU; None for all on the device."""
        from gravel.kernels.partition.cuda.placing import Placing as RankPlacing

        if self.placement == "device":
            return None
        return RankPlacing(self.placement, self.keep // ranks)

    def described(self) -> str:
        """Say where columns lie and why."""
        kept = f", {self.keep:,} bytes of them on each GPU too" if self.placement == "split" else ""
        return f"placement {self.placement}: columns are pinned in host memory{kept}; {self.reason}"


def plan_ranks(
    parameters: TraverseParameters, machine: Machine, *, base: int, columns: int, gpus: int
) -> RankPlan:
    """Choose where columns lie.

    Parameters
    ----------
    base, columns : bytes that a GPU takes beside its ranks' columns, and those of the columns.
    gpus : how many take that, which share the host's memory.

    Raises `gravel.kernels.placement.DoesNotFit` with the numbers and what would fit.

    """
    from gravel.kernels.placement import DoesNotFit

    asked = parameters.placement
    limits = limits_of(parameters, machine, 0)
    room = base + columns if limits.device is None else limits.device
    if asked == "streamed":
        raise DoesNotFit(
            "ranks read rows where they lie, and none are streamed", "ask for placement: split or pinned"
        )
    if asked in ("auto", "device") and base + columns <= room:
        why = "they fit there" if asked == "auto" else "asked for"
        return RankPlan("device", columns, base + columns, 0, why)
    if asked == "device":
        raise DoesNotFit(
            f"the ranks of a GPU take about {base + columns:,} bytes, and this GPU has {room:,}",
            "ask for placement: split or pinned, search with a GPU for each rank, or with backend: cpu",
        )
    if base > room:
        raise DoesNotFit(
            f"the ranks of a GPU take about {base:,} bytes beside their columns, and this GPU has {room:,}",
            "search with a GPU for each rank, or with backend: cpu",
        )
    keep = 0 if asked == "pinned" else min(columns, room - base)
    # A row that is kept in part is pinned whole, so all columns may have to be.
    host = 0 if keep == columns else columns
    if limits.host is not None and gpus * host > limits.host:
        raise DoesNotFit(
            f"pinned columns of {gpus} GPUs take about {gpus * host:,} bytes, and there is room for "
            f"{limits.host:,} in host memory",
            "allow more host memory, or search with more GPUs",
        )
    reason = f"all take {base + columns:,} bytes of the {room:,} there" if asked == "auto" else "asked for"
    return RankPlan("pinned" if asked == "pinned" else "split", keep, base + keep, host, reason)


def plan_loaded(
    parameters: TraverseParameters, machine: Machine, graph: PartitionedGraph, *, whole: int, gpus: int
) -> RankPlan:
    """Choose for a partition that is in memory; `whole` bytes are what a GPU takes with all on the device.

    Raises `StageError` where it does not fit.
    """
    from gravel.kernels.partition.layout import SUBGRAPHS
    from gravel.kernels.placement import DoesNotFit

    sizes = [
        sum(int(part.subgraph(name).column_indices.nbytes) for name in SUBGRAPHS) for part in graph.parts
    ]
    columns = sum(sizes) if gpus == 1 else max(sizes)
    base = max(0, whole - sum(sizes) // gpus)
    try:
        return plan_ranks(parameters, machine, base=base, columns=columns, gpus=gpus)
    except DoesNotFit as error:
        raise StageError(str(error), hint=error.hint) from None


def plan_encoded(parameters: TraverseParameters, machine: Machine, *, whole: int) -> RankPlan:
    """Place ranks whose rows are encoded: on their GPUs; raises `StageError` where those are too small."""
    room = limits_of(parameters, machine, 0).device
    if room is not None and whole > room:
        raise StageError(
            f"the encoded ranks of a GPU take about {whole:,} bytes, and this GPU has {room:,}",
            hint="ask for placement: split, which decodes them, or search with a GPU for each rank",
        )
    return RankPlan("device", 0, whole, 0, "encoded rows are there always")


def width_of(vertices: int) -> int:
    """Return the bytes of a column, and of a permutation's or a component's number."""
    return 4 if vertices < 1 << 32 else 8


def label_bytes(parameters: TraverseParameters, width: int, tree: int) -> int:
    """Return the bytes of a vertex's labels in a result; `tree` is what a predecessor takes."""
    if parameters.output == "checks":
        return 0
    if parameters.algorithm in OF_ALL_VERTICES:
        return width
    return (4 if parameters.output != "predecessor" else 0) + (tree if parameters.output != "distance" else 0)


def batch_of(parameters: TraverseParameters) -> int:
    """Count the searches that a strategy makes room for at once: as many as come, or as its tuning says."""
    if parameters.strategy != "multi_source":
        return 1
    return min(search_count(parameters), int(parameters.tuning.get("batch", MOST_SEARCHES)), MOST_SEARCHES)


def search_count(parameters: TraverseParameters) -> int:
    """Count the searches, one for each source."""
    if parameters.algorithm in OF_ALL_VERTICES:
        return 1
    sources: Any = parameters.sources
    if isinstance(sources, tuple):
        return len(sources)
    if hasattr(sources, "file"):
        return int(sources.count())
    return int(sources.random) if hasattr(sources, "random") else len(sources.vertices)


def stored_searches(parameters: TraverseParameters, vertices: int) -> int:
    """Count the searches whose labels are stored: of drawn sources no more than there are vertices."""
    count = search_count(parameters)
    return min(count, vertices) if hasattr(parameters.sources, "random") else count
