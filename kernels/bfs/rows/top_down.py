"""Every level from the frontier to its neighbours, which are decoded on the way."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="top_down",
    about="Searches every level from the frontier to its neighbours, decoding their rows on the way.",
    source="gravel",
    cpu="gravel.kernels.bfs.rows.cpu.top_down:prepare",
    cuda="gravel.kernels.bfs.rows.cuda.top_down:prepare",
)
