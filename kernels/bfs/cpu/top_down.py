"""Level-synchronous top-down search on the CPU, on directed graphs as well."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kernels.bfs.cpu.search import CPUSearch


def prepare(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    *,
    output: str = "both",
    symmetric: bool = False,
    max_depth: int | None = None,
    serial_below: int = 4096,
) -> CPUSearch:
    """Make a CSR graph ready for top-down searches along its arcs.

    `serial_below` is as for `kernels.bfs.cpu.direction_optimizing.prepare`; the others are as for
    `kernels.bfs.prepare`.
    """
    return CPUSearch(
        row_offsets,
        column_indices,
        output=output,
        max_depth=max_depth,
        pull=False,
        alpha=0,
        beta=0,
        serial_below=serial_below,
    )
