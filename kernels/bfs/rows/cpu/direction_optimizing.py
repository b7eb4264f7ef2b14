"""Direction-optimizing search of encoded rows on the CPU."""

from __future__ import annotations

from gravel.kernels.bfs.cpu.search import CPUSearch
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.readers import columns_of, readable


def prepare(
    rows: EncodedRows,
    *,
    output: str = "both",
    symmetric: bool = True,
    max_depth: int | None = None,
    alpha: int = 15,
    beta: int = 18,
    serial_below: int = 4096,
) -> CPUSearch:
    """Make a symmetric graph's rows ready.

    Constants are those of `gravel.kernels.bfs.cpu.direction_optimizing.prepare`; `alpha` compares bytes of
    rows, and `serial_below` counts them. Raises ValueError if the graph is not symmetric.
    """
    if not symmetric:
        raise ValueError("strategy 'direction_optimizing' needs a symmetric graph")
    if rows.layout == "csr":
        from gravel.kernels.bfs.cpu import direction_optimizing

        return direction_optimizing.prepare(
            *columns_of(rows),
            output=output,
            max_depth=max_depth,
            alpha=alpha,
            beta=beta,
            serial_below=serial_below,
        )
    return CPUSearch(
        rows.arrays["byte_offsets"],
        readable(rows),
        output=output,
        max_depth=max_depth,
        pull=True,
        alpha=alpha,
        beta=beta,
        serial_below=serial_below,
    )
