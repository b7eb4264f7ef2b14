"""A graph made ready for searches on the CPU: the workspace, the threads and the clock."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.buffers import Size, levels_on_host
from gravel.kernels.bfs.cpu import levels
from gravel.kernels.bfs.query import Query, check_source
from gravel.kernels.bfs.result import BFSResult
from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.layouts.spans import readable, span, values_of
from gravel.kernels.team import KIND, Team
from gravel.kernels.threads import thread_count

_NAMES = ("", "push", "pull")


class CPUSearch:
    """Searches of one graph, one after another; `run` allocates nothing that grows with the graph.

    Parameters
    ----------
    rows : of a square graph, in any layout; bytes of encoded rows stand for arcs wherever those are weighed.
    pull : whether levels may be searched bottom-up, which needs a symmetric graph.
    alpha, beta, serial_below : see `direction_optimizing`.
    threads : of this search's own team, so that no other search is affected; None for `thread_count`.

    """

    strategy = ""
    reason = ""

    def __init__(
        self,
        rows: EncodedRows,
        query: Query,
        *,
        pull: bool,
        serial_below: int,
        alpha: int = 0,
        beta: int = 0,
        threads: int | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is {threads}; it must be 1 or more")
        row_offsets, columns = readable(rows)
        n = len(row_offsets) - 1
        index = numpy.dtype(rows.dtype)
        _compile_marking(row_offsets, columns, index)
        started = time.perf_counter()
        self._query = query
        threads = threads or thread_count()
        arcs = int(row_offsets[-1])
        size = Size(n, arcs, query.tree, query.distance, threads=threads, item=index.itemsize)
        made = make(levels_on_host(size, pull=pull), numpy)
        active = mark_isolated(row_offsets, columns, made["heads"], made["done_before"]) if pull else n
        self._distance, self._predecessor = made["distance"], made["predecessor"]
        self._directions = made["directions"]
        # As an unsigned number no predecessor is larger than any.
        arrays = made | {"predecessor": self._predecessor.view(f"u{self._predecessor.itemsize}")}
        self._arrays = row_offsets, columns, *arrays.values()
        self._team = Team(levels.member, threads, levels.WORDS)
        # Waking helpers costs as much as searching this many arcs, so a small graph does without.
        self._helped = threads > 1 and arcs >= serial_below
        setting = {
            levels.MAX_DEPTH: query.depth,
            levels.ALONE: int(not self._helped),
            levels.MAY_PULL: int(pull),
            levels.ALPHA: alpha,
            levels.BETA: beta,
            levels.SERIAL_BELOW: serial_below,
            levels.UNVISITED: active,
            levels.UNEXPLORED: arcs,
            KIND: levels.START,
        }
        self._state = numpy.zeros_like(self._team.state)
        self._state[[*setting]] = [*setting.values()]
        self._vertices = n
        self.prepare_milliseconds = (time.perf_counter() - started) * 1e3

    def run(self, source: int) -> BFSResult:
        """Search from one vertex; raises ValueError if there is no such vertex."""
        check_source(source, self._vertices)
        team = self._team
        team.gather()
        state = team.state
        state[:] = self._state
        state[levels.SOURCE] = source
        started = time.perf_counter()
        team.run(*self._arrays, helpers=self._helped)
        milliseconds = (time.perf_counter() - started) * 1e3
        directions = tuple(_NAMES[code] for code in self._directions[: state[levels.DEPTH]])
        labels = self._query.wanted(self._distance, self._predecessor)
        return BFSResult(source, *labels, milliseconds, directions)


def direction_optimizing(
    rows: EncodedRows, query: Query, *, alpha: int = 15, beta: int = 18, serial_below: int = 4096
) -> CPUSearch:
    """Make a symmetric CSR graph ready for direction-optimising searches, its rows in any layout.

    Top-down while the frontier is small, else bottom-up: Beamer, Asanovic, Patterson, Direction-Optimizing
    Breadth-First Search, SC 2012, section V.

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
    if not query.symmetric:
        raise ValueError("strategy 'direction_optimizing' needs a symmetric graph")
    return CPUSearch(rows, query, pull=True, alpha=alpha, beta=beta, serial_below=serial_below)


def top_down(
    rows: EncodedRows, query: Query, *, serial_below: int = 4096, threads: int | None = None
) -> CPUSearch:
    """Make a CSR graph, directed or not, ready for level-synchronous top-down searches along its arcs.

    `serial_below` is as for `direction_optimizing`; `threads` is how many
    share a search (4 were best for the CPU search that FlexBFS, section 4, compares with), by default as many
    as kernels may use. Raises ValueError for fewer than 1 thread.
    """
    return CPUSearch(rows, query, pull=False, serial_below=serial_below, threads=threads)


def _compile_marking(row_offsets: NDArray[Any], columns: Any, index: Any) -> None:
    # Kept out of the preparation's time, which is that of a process that has searched before.
    columns = columns if isinstance(columns, tuple) else columns[:0]
    mark_isolated(row_offsets[:1], columns, numpy.empty(0, index), numpy.empty(0, numpy.uint64))


@serial
def mark_isolated(
    row_offsets: NDArray[Any], columns: Any, heads: NDArray[Any], done_before: NDArray[Any]
) -> int:
    """Note every vertex's first neighbour, and what no pull needs to look at; counts the others.

    The bits behind the last vertex are set as well, so that a word is never looked at for nothing.
    """
    n = len(heads)
    values = values_of(columns)
    active = 0
    for v in range(n):
        low = high = 0
        if row_offsets[v] < row_offsets[v + 1]:
            low, high = span(columns, row_offsets, v, values)
        if low < high:
            heads[v] = values[numpy.uint64(low)]
            active += 1
        else:
            heads[v] = 0
            done_before[v >> 6] |= numpy.uint64(1) << numpy.uint64(v & 63)
    for v in range(n, 64 * len(done_before)):
        done_before[v >> 6] |= numpy.uint64(1) << numpy.uint64(v & 63)
    return active
