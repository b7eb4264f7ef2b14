"""Every level looks at every vertex; on the CPU its twin is the top-down search."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="quadratic",
    about="Looks at every vertex in every level, with a thread or a warp for each (`mapping`).",
    source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 2; Hong et al., PPoPP 2011",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.quadratic:prepare",
    counts=("cuda",),
)
