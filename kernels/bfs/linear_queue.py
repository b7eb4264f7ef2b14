"""A queue of vertices that single threads expand; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="linear_queue",
    about="Expands a queue of vertices, one thread each, and adds every new one by an atomic.",
    source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 3",
    cuda="gravel.kernels.bfs.cuda.linear_queue:prepare",
    counts=("cuda",),
)
