"""One parallel step a level, from the frontier to its neighbours."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="top_down",
    about="Searches every level from the frontier to its neighbours.",
    source="gravel",
    cpu="gravel.kernels.bfs.cpu.top_down:prepare",
    cuda="gravel.kernels.bfs.cuda.top_down:prepare",
    encoded=True,
)
