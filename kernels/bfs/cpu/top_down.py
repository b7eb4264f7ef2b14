"""Level-synchronous top-down search on the CPU, on directed graphs as well."""

from __future__ import annotations

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.bfs.cpu.search import CPUSearch
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows, asked: Asked, *, serial_below: int = 4096, threads: int | None = None
) -> CPUSearch:
    """Make a CSR graph ready for top-down searches along its arcs.

    `serial_below` is as for `gravel.kernels.bfs.cpu.direction_optimizing.prepare`; `threads` is how many
    share a search (4 were best for the CPU search that FlexBFS, section 4, compares with), by default as many
    as kernels may use. Raises ValueError for fewer than 1 thread.
    """
    return CPUSearch(rows, asked, pull=False, serial_below=serial_below, threads=threads)
