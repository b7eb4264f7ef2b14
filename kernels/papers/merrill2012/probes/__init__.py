"""Parts of a breadth-first search run alone, over the frontiers that a search had.

These are the microbenchmarks of Merrill, Garland and Grimshaw (PPoPP 2012), section 4: gathering neighbours,
looking their status up, and both in one kernel, each with the interchangeable parts that searches are made of
(`kernels/bfs/cuda/gather.cuh`, `kernels/bfs/cuda/lookup.cuh`). On the CPU they are played by twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs.cuda.parts import GATHERS, LOOKUPS
from gravel.kernels.cuda import refuse_block
from gravel.kernels.papers.merrill2012.probes.timed import Probes

if TYPE_CHECKING:
    from gravel.kernels.papers.merrill2012.probes.levels import Levels

__all__ = ["COUPLED", "GATHERS", "LOOKUPS", "SCHEDULES", "prepare"]

COUPLED = ("label", "history_culling", "atomic")
"""Look-ups that are also there fused with the gather by scan, warp and block."""

SCHEDULES = ("oversubscribed", "stealing")
"""How blocks come by tiles (section 4.1): one block for each, or resident blocks that take the next one."""


def prepare(columns: Any, levels: Levels, vertex_count: int, *, block: int = 256) -> Probes:
    """Make the levels of a search ready for probes; every array is allocated and filled here.

    Parameters
    ----------
    columns : uint32 or uint64 (arcs,), NumPy or CuPy, the column indices of the graph that was searched.
    levels : see `gravel.kernels.papers.merrill2012.probes.levels.levels_of`.
    block : threads of a block, a multiple of 32 from 32 to 1024; 256 is what `two_phase` runs with.

    """
    refuse_block(block)
    if backend_of(columns) == "cuda":
        from gravel.kernels.papers.merrill2012.probes.cuda import CUDAProbes

        return CUDAProbes(columns, levels, vertex_count, block)
    from gravel.kernels.papers.merrill2012.probes.cpu import CPUProbes

    return CPUProbes(columns, levels, vertex_count, block)
