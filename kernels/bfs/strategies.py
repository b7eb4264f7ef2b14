"""The table of breadth-first searches: every strategy that can be asked for, and what it takes and gives.

Whatever lists strategies reads it: dispatch, the checks of a workflow, the command line, the docs and the
tests. A strategy that is neither here nor in `gravel.kernels.papers` cannot run.
"""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="serial",
        about="Searches with one queue on one thread: the CPU baseline of the papers.",
        source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 1",
        cpu="gravel.kernels.bfs.cpu.serial:SerialSearch",
    ),
    Strategy(
        name="top_down",
        about="Searches every level from the frontier to its neighbours.",
        cpu="gravel.kernels.bfs.cpu.search:top_down",
        cuda="gravel.kernels.bfs.cuda.top_down:prepare",
        encoded=True,
        automatic=("cpu",),
    ),
    Strategy(
        name="direction_optimizing",
        about="Searches top-down while the frontier is small and bottom-up while it is large.",
        source="Beamer, Asanovic, Patterson, SC 2012, sections IV and V; on encoded rows: gravel",
        cpu="gravel.kernels.bfs.cpu.search:direction_optimizing",
        cuda="gravel.kernels.bfs.cuda.direction_optimizing:prepare",
        encoded=True,
        directed=False,
        automatic=("cpu", "cuda"),
    ),
    Strategy(
        name="persistent",
        about="Searches several levels between two barriers, for deep graphs.",
        cuda="gravel.kernels.bfs.cuda.persistent:prepare",
        encoded=True,
        counts=("cuda",),
        automatic=("cuda",),
    ),
    Strategy(
        name="multi_source",
        about="Searches from up to 64 vertices at once, with one bit each, sharing every arc they read.",
        source="Then et al., The More the Merrier, PVLDB 8(4), 2014, sections 3 and 4",
        cpu="gravel.kernels.bfs.cpu.multi_source:MultiSource",
        cuda="gravel.kernels.bfs.cuda.multi_source:MultiSource",
        encoded=True,
    ),
    Strategy(
        name="expand_contract",
        about="Gathers the neighbours of the frontier and filters them as they come, in one step a level.",
        source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.1",
        cuda="gravel.kernels.bfs.cuda.frontier_queues:expand_contract",
        counts=("cuda",),
        automatic=("cuda",),
    ),
    Strategy(
        name="hybrid",
        about="Contract-expand for small edge frontiers, two-phase for large ones.",
        source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.4",
        cuda="gravel.kernels.bfs.cuda.frontier_queues:hybrid",
        counts=("cuda",),
        automatic=("cuda",),
    ),
    Strategy(
        name="host_rows",
        about="Reads rows in host memory in ascending order, each cache line once a level.",
        source="gravel; merged and aligned reads: Min et al., EMOGI, PVLDB 14(2), 2020, section 4.3",
        cuda="gravel.kernels.bfs.cuda.host_rows:HostRowsSearch",
        encoded=True,
        placements=("device", "split", "pinned"),
    ),
    Strategy(
        name="streamed",
        about="Reads rows in parts through a few buffers, in each level those parts that hold its rows.",
        cpu="gravel.kernels.bfs.cpu.streamed:StreamedSearch",
        cuda="gravel.kernels.bfs.cuda.streamed:StreamedSearch",
        encoded=True,
        placements=("streamed",),
    ),
)
"""Plain searches, those that a GPU chooses among, then those of rows that do not fit."""
