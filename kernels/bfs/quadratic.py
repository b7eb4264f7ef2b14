"""Every level looks at every vertex; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="quadratic",
    about="Checks every vertex in every level, with a thread or a warp for each (`mapping`).",
    source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 2; Hong et al., PPoPP 2011",
    cuda="gravel.kernels.bfs.cuda.quadratic:prepare",
    counts=("cuda",),
)
