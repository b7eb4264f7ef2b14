"""Places for the columns of ranks on GPUs: decided by numbers, as those of whole graphs are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.stages.errors import StageError
from gravel.stages.traversal.memory import limits_of

if TYPE_CHECKING:
    from gravel.kernels.partition import PartitionedGraph
    from gravel.kernels.partition.cuda.placing import Placing as RankPlacing
    from gravel.stages.stage import Machine
    from gravel.stages.traversal.parameters import TraverseParameters


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
