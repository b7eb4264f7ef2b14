"""Parts of a breadth-first search run alone, over the frontiers that a search had.

These are the microbenchmarks of Merrill, Garland and Grimshaw (PPoPP 2012), section 4: gathering neighbours,
looking their status up, and both in one kernel, each with the interchangeable parts that searches are made of
(`kernels/bfs/gather.cuh`, `kernels/bfs/lookup.cuh`). On the CPU they are played by twins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gravel.kernels.bfs.cuda.parts import GATHERS, LOOKUPS
from gravel.kernels.strategy import backend_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.probes.levels import Levels

__all__ = ["COUPLED", "GATHERS", "LOOKUPS", "SCHEDULES", "Probes", "Timed", "prepare"]

COUPLED = ("label", "history_culling", "atomic")
"""Look-ups that are also there fused with the gather by scan, warp and block."""

SCHEDULES = ("oversubscribed", "stealing")
"""How blocks come by tiles (section 4.1): one block for each, or resident blocks that take the next one."""


@dataclass(frozen=True)
class Timed:
    """What one part took and did, level by level.

    `milliseconds` float64 (levels,), the median of several sweeps over all levels. `counts` uint64 (levels,),
    of the last sweep: for a gather the sum of column + 1 over all arcs, for a look-up the arcs that it took
    for fresh.
    """

    milliseconds: NDArray[Any]
    counts: NDArray[Any]


class Probes(Protocol):
    """The parts over the levels of one search; each call sweeps over them `repeats` times and once more.

    `floor_milliseconds` is what a part takes when there is nothing to do.
    """

    floor_milliseconds: float

    def gather(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Read every level's neighbours with one of GATHERS."""
        ...

    def look_up(self, name: str, *, repeats: int) -> Timed:
        """Look every level's neighbours up with one of LOOKUPS, after what the levels before it left."""
        ...

    def couple(self, name: str, *, schedule: str, repeats: int) -> Timed:
        """Do both in one kernel, with one of COUPLED."""
        ...

    def labels(self) -> NDArray[Any]:
        """Return the distances that the latest look-up left, int32 (vertices,), on the host."""
        ...

    def distinct(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Count every level's distinct neighbours, and sum up column + 1; int64 and uint64 (levels,)."""
        ...


def prepare(columns: Any, levels: Levels, vertex_count: int, *, block: int = 256) -> Probes:
    """Make the levels of a search ready for probes; every array is allocated and filled here.

    Parameters
    ----------
    columns : uint32 or uint64 (arcs,), NumPy or CuPy, the column indices of the graph that was searched.
    levels : see `gravel.kernels.probes.levels.levels_of`.
    block : threads of a block, a multiple of 32 from 32 to 1024; 256 is what `two_phase` runs with.

    """
    if block % 32 or not 32 <= block <= 1024:
        raise ValueError(f"block is {block}; it can be a multiple of 32 from 32 to 1024")
    if backend_of(columns) == "cuda":
        from gravel.kernels.probes.cuda import CUDAProbes

        return CUDAProbes(columns, levels, vertex_count, block)
    from gravel.kernels.probes.cpu import CPUProbes

    return CPUProbes(columns, levels, vertex_count, block)
