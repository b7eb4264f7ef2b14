"""Direction-optimising search on the CPU: top-down while the frontier is small, else bottom-up."""

from __future__ import annotations

from gravel.kernels.bfs.asked import Asked
from gravel.kernels.bfs.cpu.search import CPUSearch
from gravel.kernels.layouts import EncodedRows


def prepare(
    rows: EncodedRows, asked: Asked, *, alpha: int = 15, beta: int = 18, serial_below: int = 4096
) -> CPUSearch:
    """Make a symmetric CSR graph ready for direction-optimising searches, its rows in any layout.

    Beamer, Asanovic, Patterson, Direction-Optimizing Breadth-First Search, SC 2012, section V.

    Parameters
    ----------
    rows : see `gravel.kernels.bfs.prepare_rows`; bytes of encoded rows stand for arcs.
    alpha : go bottom-up when the frontier has more than 1/alpha of the unexplored arcs. 15 is the GAP
        Benchmark Suite's value (Beamer, Asanovic, Patterson, arXiv 1508.03619); the paper has 14.
    beta : go back when the frontier shrinks and has less than 1/beta of the vertices; 18 in GAP, 24 in the
        paper.
    serial_below : levels whose frontier has fewer arcs run on one thread; 4096 arcs take about 10 us.

    Raises ValueError if the graph is not symmetric.

    """
    if not asked.symmetric:
        raise ValueError("strategy 'direction_optimizing' needs a symmetric graph")
    return CPUSearch(rows, asked, pull=True, alpha=alpha, beta=beta, serial_below=serial_below)
