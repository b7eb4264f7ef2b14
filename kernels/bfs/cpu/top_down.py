"""Level-synchronous top-down search on the CPU, on directed graphs as well."""

from __future__ import annotations

from gravel.kernels.bfs.cpu.search import CPUSearch
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows,
    *,
    output: str = "both",
    symmetric: bool = False,
    max_depth: int | None = None,
    serial_below: int = 4096,
    threads: int | None = None,
) -> CPUSearch:
    """Make a CSR graph ready for top-down searches along its arcs.

    `serial_below` is as for `gravel.kernels.bfs.cpu.direction_optimizing.prepare`; `threads` is how many
    share a search (4 were best for the CPU search that FlexBFS, section 4, compares with), by default as many
    as kernels may use; the others are as for `gravel.kernels.bfs.prepare_rows`. Raises ValueError for fewer
    than 1 thread.
    """
    return CPUSearch(
        rows,
        output=output,
        max_depth=max_depth,
        pull=False,
        alpha=0,
        beta=0,
        serial_below=serial_below,
        threads=threads,
    )
