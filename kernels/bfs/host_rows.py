"""Rows in host memory, read over the link in ascending order, each line of it once a level."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="host_rows",
    about="Reads rows in host memory in ascending order, each cache line once a level.",
    source="gravel; merged and aligned reads: Min et al., EMOGI, PVLDB 14(2), 2020, section 4.3",
    cuda="gravel.kernels.bfs.cuda.host_rows:prepare",
    encoded=True,
)
