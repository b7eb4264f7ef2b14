"""Top-down search of encoded rows on the CPU."""

from __future__ import annotations

from gravel.kernels.bfs.cpu.search import CPUSearch
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.readers import columns_of, readable


def prepare(
    rows: EncodedRows,
    *,
    output: str = "both",
    symmetric: bool = False,
    max_depth: int | None = None,
    serial_below: int = 4096,
    threads: int | None = None,
) -> CPUSearch:
    """Make encoded rows ready for top-down searches along their arcs.

    Constants are those of `gravel.kernels.bfs.cpu.top_down.prepare`; `serial_below` counts bytes of rows.
    """
    if rows.layout == "csr":
        from gravel.kernels.bfs.cpu import top_down

        return top_down.prepare(
            *columns_of(rows),
            output=output,
            symmetric=symmetric,
            max_depth=max_depth,
            serial_below=serial_below,
            threads=threads,
        )
    return CPUSearch(
        rows.arrays["byte_offsets"],
        readable(rows),
        output=output,
        max_depth=max_depth,
        pull=False,
        alpha=0,
        beta=0,
        serial_below=serial_below,
        threads=threads,
    )
