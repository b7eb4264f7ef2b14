"""Encoded rows in host memory, copied over the link line by line in ascending order and decoded meanwhile."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="host_rows",
    about="Reads encoded rows that lie in host memory in ascending order, each line of them once a level.",
    source="gravel; merged and aligned reads: Min et al., EMOGI, PVLDB 14(2), 2020, section 4.3",
    cuda="gravel.kernels.bfs.rows.cuda.host_rows:prepare",
)
