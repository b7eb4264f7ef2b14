"""PageRank on a team of threads: a phase is an iteration, and a chunk some rows of near-equal work.

The chunks depend on the graph alone. What each adds to the residual and to the rank of dangling vertices is
summed in the order of the chunks, so that the number of threads changes no bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.buffers import make
from gravel.kernels.jit import serial
from gravel.kernels.layouts.spans import readable, span, values_of
from gravel.kernels.pagerank.buffers import MAX_CHUNKS, ranks
from gravel.kernels.row_blocks import equal_blocks
from gravel.kernels.team import PRIVATE, Team, close, closed, finish, idle, open_phase, take, wait_for_all
from gravel.kernels.threads import thread_count

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows
    from gravel.kernels.pagerank.interface import Walk

_DONE = PRIVATE  # iterations
_UNTIL = PRIVATE + 1  # the last iteration of this run
_WORDS = 2

_DAMPING, _BOUND, _RESIDUAL, _DANGLING = range(4)  # of `numbers`

CHUNK = 1 << 14
"""Rows plus arcs of a chunk, 10 to 50 us."""

_ONE, _TWO, _THREE, _FOUR = (numpy.uint64(each) for each in (1, 2, 3, 4))


class Ranks:
    """Ranks on the CPU, and what each vertex passes on along an arc, of this iteration and the next.

    Arguments are those of `gravel.kernels.pagerank.pagerank`.
    """

    def __init__(
        self, rows: EncodedRows, outgoing: NDArray[Any], weights: NDArray[Any] | None, walk: Walk
    ) -> None:
        n = rows.vertex_count
        offsets, columns = readable(rows)
        arcs = offsets if rows.layout == "csr" else _arcs(rows)
        if weights is not None and len(weights) != int(arcs[-1]):
            raise ValueError(f"there are {len(weights)} weights and {int(arcs[-1])} arcs")
        blocks = equal_blocks(arcs, CHUNK, MAX_CHUNKS)
        bounds = numpy.array([0, *(last for _, last in blocks)], numpy.int64)
        self.rank, inverse, shares, parts = make(ranks(n, len(blocks)), numpy).values()
        numpy.divide(1.0, outgoing, out=inverse, where=outgoing != 0)
        self.rank[:] = walk.start
        numpy.multiply(self.rank, inverse, out=shares[0])
        dangling = self.rank[inverse == 0].sum()
        self._numbers = numpy.array([walk.damping, 0.0, numpy.inf, dangling])
        self._arguments = (
            *(offsets, columns, arcs, numpy.empty(0) if weights is None else weights),
            *(inverse, walk.teleport, walk.leak, self.rank, shares),
            *(bounds, parts, self._numbers),
        )
        self._threads = min(thread_count(), len(blocks))
        # Without chunks nothing is done but compiled.
        self._run(1, 0)

    def run(self, until: int, bound: float) -> tuple[int, float]:
        """Go on; see `gravel.kernels.pagerank.interface.Ranks`."""
        self._numbers[_BOUND] = bound
        done = self._run(self._threads, until)
        return done, float(self._numbers[_RESIDUAL])

    _done = 0

    def _run(self, threads: int, until: int) -> int:
        team = Team(_member, threads, _WORDS)
        try:
            team.gather()
            team.state[PRIVATE:] = (self._done, until)
            team.run(*self._arguments)
            self._done = int(team.state[_DONE])
        finally:
            team.close()
        return self._done


def _arcs(rows: EncodedRows) -> NDArray[Any]:
    from gravel.kernels.layouts.readers import count_neighbours

    return count_neighbours(rows)


@serial
def _member(
    rank: int,
    state: NDArray[Any],
    offsets: NDArray[Any],
    columns: Any,
    arcs: NDArray[Any],
    weights: NDArray[Any],
    inverse: NDArray[Any],
    teleport: NDArray[Any],
    leak: NDArray[Any],
    ranks: NDArray[Any],
    shares: NDArray[Any],
    bounds: NDArray[Any],
    parts: NDArray[Any],
    numbers: NDArray[Any],
) -> None:
    values = values_of(columns)
    chunks = len(bounds) - 1
    spins = 0
    opened = False
    while True:
        chunk = take(state)
        if chunk >= 0:
            spins = 0
            now = (state[_DONE] - 1) & 1
            _pull(
                offsets,
                columns,
                values,
                arcs,
                weights,
                inverse,
                teleport,
                leak,
                ranks,
                shares[now],
                shares[1 - now],
                numbers,
                bounds[chunk],
                bounds[chunk + 1],
                parts[:, chunk],
            )
            finish(state)
        elif rank != 0:
            if closed(state):
                return
            spins = idle(state, spins)
        else:
            wait_for_all(state)
            if opened:
                residual = dangling = 0.0
                for part in range(chunks):
                    residual += parts[0, part]
                    dangling += parts[1, part]
                numbers[_RESIDUAL], numbers[_DANGLING] = residual, dangling
            if numbers[_RESIDUAL] < numbers[_BOUND] or state[_DONE] >= state[_UNTIL]:
                close(state)
                return
            opened = True
            state[_DONE] += 1
            open_phase(state, 0, chunks)


@serial
def _pull(
    offsets: NDArray[Any],
    columns: Any,
    values: NDArray[Any],
    arcs: NDArray[Any],
    weights: NDArray[Any],
    inverse: NDArray[Any],
    teleport: NDArray[Any],
    leak: NDArray[Any],
    ranks: NDArray[Any],
    shares: NDArray[Any],
    next_shares: NDArray[Any],
    numbers: NDArray[Any],
    first: int,
    last: int,
    part: NDArray[Any],
) -> None:
    """Compute the next ranks of some rows, and what these pass on."""
    damping, lost = numbers[_DAMPING], numbers[_DANGLING]
    stays, weighted = 1.0 - damping, len(weights) > 0
    apart, leaks_apart = numpy.uint64(len(teleport) > 1), numpy.uint64(len(leak) > 1)
    # Where the surfer jumps to alike, nothing is read.
    alike = len(teleport) == 1 and len(leak) == 1
    jumps = stays * teleport[0] + damping * lost * leak[0]
    residual = dangling = 0.0
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        low, high = span(columns, offsets, v, values)
        begin, end = numpy.uint64(low), numpy.uint64(high)
        if weighted:
            pulled = _weighted_sum(values, begin, end, shares, weights, numpy.uint64(arcs[v]))
        else:
            pulled = _sum(values, begin, end, shares)
        if not alike:
            jumps = stays * teleport[v * apart] + damping * lost * leak[v * leaks_apart]
        found = damping * pulled + jumps
        residual += abs(found - ranks[v])
        ranks[v] = found
        factor = inverse[v]
        dangling += found if factor == 0.0 else 0.0
        next_shares[v] = found * factor
    part[0], part[1] = residual, dangling


@serial
def _sum(values: NDArray[Any], k: Any, end: Any, shares: NDArray[Any]) -> float:
    """Add up in four sums, which need not wait for one another."""
    a = b = c = d = 0.0
    while k + _FOUR <= end:
        a += shares[values[k]]
        b += shares[values[k + _ONE]]
        c += shares[values[k + _TWO]]
        d += shares[values[k + _THREE]]
        k += _FOUR
    while k < end:
        a += shares[values[k]]
        k += _ONE
    return (a + b) + (c + d)


@serial
def _weighted_sum(
    values: NDArray[Any], k: Any, end: Any, shares: NDArray[Any], weights: NDArray[Any], arc: Any
) -> float:
    a = b = 0.0
    while k + _TWO <= end:
        a += shares[values[k]] * weights[arc]
        b += shares[values[k + _ONE]] * weights[arc + _ONE]
        k += _TWO
        arc += _TWO
    if k < end:
        a += shares[values[k]] * weights[arc]
    return a + b
