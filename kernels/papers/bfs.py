"""The breadth-first searches of papers, in the order of their years; see `gravel.kernels.bfs.strategies`."""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="contract_expand",
        about="Filters the gathered arcs and gathers the neighbours of what is left, in one step a level.",
        source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.2",
        cuda="gravel.kernels.papers.merrill2012.edge_queues:contract_expand",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:edge_queues",
    ),
    Strategy(
        name="two_phase",
        about="Gathers the neighbours of the frontier, then filters them, each with linear work.",
        source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.3",
        cuda="gravel.kernels.papers.merrill2012.edge_queues:two_phase",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:edge_queues",
    ),
    Strategy(
        name="quadratic",
        about="Checks every vertex in every level, with a thread or a warp for each (`mapping`).",
        source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 2; Hong et al., PPoPP 2011",
        cuda="gravel.kernels.papers.baselines.quadratic:prepare",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:rounds",
    ),
    Strategy(
        name="linear_queue",
        about="Expands a queue of vertices, one thread each, and adds every new one by an atomic.",
        source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 3",
        cuda="gravel.kernels.papers.baselines.linear_queue:prepare",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:sliding_queue",
    ),
    Strategy(
        name="hierarchical_queue",
        about="Fills queues in shared memory, merged into one in global memory; one block for small levels.",
        source="Luo, Wong, Hwu, DAC 2010",
        cuda="gravel.kernels.papers.baselines.hierarchical_queue:prepare",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:sliding_queue",
    ),
    Strategy(
        name="flex",
        about="Fits the number of threads to the frontier; `configuration` is a row of the paper's table 1.",
        source="Liu et al., FlexBFS, PPoPP 2012 (poster)",
        cuda="gravel.kernels.papers.flexbfs.flex:FlexSearch",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:flex_search",
    ),
    Strategy(
        name="adaptive",
        about="Expands a vertex of few arcs with one thread, and one of many (`threshold`) with a warp.",
        source="Moschou, section 2.2",
        cuda="gravel.kernels.papers.moschou.adaptive:prepare",
        counts=("cuda",),
        buffers="gravel.kernels.papers.buffers:sliding_queue",
    ),
)

DECODERS = {"one_lane": "gravel.kernels.papers.moschou.one_lane:OneLaneSource"}
"""Ways to decode rows that `top_down` takes beside its own."""
