"""Afforest on a team of threads.

Sutton, Ben-Nun, Barak, Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling, IPDPS
2018. `component` is a forest whose parents are smaller than their children, so a component's root is its
smallest vertex, whatever order the threads link in. Linking a few neighbours of every vertex joins most of
the largest component; a sample tells which that is, and the rest of its arcs is skipped.

Two things differ from the paper. The first round only hooks each vertex to a smaller neighbour, without
looking for roots, which needs no atomics. And a vertex outside the largest component stops at its first
neighbour inside: an arc to a third vertex is either between two members by then or is stored with the third
one as well, which looks at all of its own until it meets a member.

Skipping is right only if each skipped arc is stored the other way round as well. On a graph that is not
symmetric nothing is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from gravel.kernels.components import ComponentsResult, RowComponents, refuse_giant
from gravel.kernels.components.cpu.forest import compress, link
from gravel.kernels.jit import serial
from gravel.kernels.layouts import EncodedRows
from gravel.kernels.team import (
    KIND,
    PRIVATE,
    Team,
    close,
    closed,
    finish,
    idle,
    open_phase,
    take,
    wait_for_all,
)
from gravel.kernels.threads import thread_count

_STEP = PRIVATE  # phases opened so far
_GIANT = PRIVATE + 1  # root of the largest component, or -1 to skip none
_ROUNDS = PRIVATE + 2  # neighbours linked before the sample is taken
_SKIP = PRIVATE + 3  # whether arcs may be skipped
_WORDS = 4

_HOOK, _LINK, _COMPRESS, _REST = range(4)
_CHUNK = 1 << 13  # vertices, 10 to 100 us
_BLOCK = 512  # vertices filtered before any is linked

_ONE = numpy.uint64(1)


SAMPLED_EVERY = 64
"""Encoded rows per row that is joined before the largest component is sought."""


def prepare(
    rows: EncodedRows,
    *,
    symmetric: bool,
    rounds: int = 2,
    samples: int = 1024,
    sampled_every: int = SAMPLED_EVERY,
    giant: Literal["sampled", "first"] = "sampled",
    prune: bool = True,
) -> RowComponents:
    """Make rows ready; see `gravel.kernels.components.prepare_rows`.

    Before the largest component is sought, first neighbours of columns are linked, and some rows of other
    layouts.

    Parameters
    ----------
    rows : of a square graph, in any layout.
    symmetric : whether every arc has its reverse; without it nothing is skipped.
    rounds : for columns, neighbours of each vertex that are linked before the sample, at least 1; the paper
        takes 2.
    samples : for columns, vertices looked at to find the largest component; 1024 in the GAP Benchmark Suite.
    sampled_every : every such row of another layout is joined first, at least 1.
    giant : which component is taken for the largest: the sample's most frequent one, or that of vertex 0.
    prune : whether the largest component's vertices are skipped. Only a symmetric graph's are.

    Raises ValueError for a value that a parameter cannot have, and for bytes that are no rows.

    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; it must be at least 1")
    if sampled_every < 1:
        raise ValueError(f"sampled_every is {sampled_every}; it must be at least 1")
    refuse_giant(giant)
    if rows.layout == "csr":
        columns = rows.arrays["row_offsets"], rows.arrays["column_indices"]
        return ColumnForest(*columns, symmetric and prune, rounds, samples, giant)
    from gravel.kernels.components.cpu.afforest_encoded import RowForest

    return RowForest(rows, symmetric, sampled_every, giant, prune)


class ColumnForest:
    """Rows in columns; `advance`, if it is set, gets how many visits of chunks are done, and of all."""

    prepare_milliseconds = 0.0

    def __init__(self, *given: Any) -> None:
        self._given = given
        self.advance: Callable[[int, int], None] | None = None

    def run(self) -> ComponentsResult:
        """Find the components."""
        return _in_columns(*self._given, advance=self.advance)


def _in_columns(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    skip: bool,
    rounds: int,
    samples: int,
    giant: str,
    *,
    advance: Callable[[int, int], None] | None,
) -> ComponentsResult:
    n = len(row_offsets) - 1
    component = numpy.zeros(n, column_indices.dtype)
    # The same sample in every run; a bad one costs time and never correctness.
    sample = numpy.random.default_rng(27491095).integers(0, max(n, 1), samples if n else 0)
    if giant == "first":
        sample = sample[:1] * 0
    votes = numpy.empty(len(sample), component.dtype)
    helped = thread_count() > 1 and n > 4 * _CHUNK
    team = Team(_member, thread_count() if helped else 1, _WORDS)
    pending = numpy.empty((team.threads, _BLOCK), component.dtype)
    arguments = (row_offsets, column_indices, component, sample, votes, pending)
    _compile(team, arguments)
    component[:] = 0  # touches the pages, which is the allocation's work and not the search's
    team.gather()
    team.state[PRIVATE:] = (0, -1, rounds, int(skip))
    with team.reported(_STEP, rounds + 3, advance):
        started = time.perf_counter()
        team.run(*arguments)
        milliseconds = (time.perf_counter() - started) * 1e3
    team.close()
    return ComponentsResult(component, milliseconds, "afforest")


def _compile(team: Team, arguments: tuple[Any, ...]) -> None:
    offsets, columns, component, sample, votes, pending = arguments
    _member(0, team.state, offsets[:1], columns[:0], component[:0], sample[:0], votes[:0], pending)


@serial
def _member(
    rank: int,
    state: NDArray[Any],
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    sample: NDArray[Any],
    votes: NDArray[Any],
    pending: NDArray[Any],
) -> None:
    n = len(component)
    rounds = state[_ROUNDS]
    spins = 0
    while True:
        chunk = take(state)
        if chunk >= 0:
            spins = 0
            first, last = chunk * _CHUNK, min((chunk + 1) * _CHUNK, n)
            kind = state[KIND]
            if kind == _HOOK:
                _hook(row_offsets, column_indices, component, first, last, rounds - 1)
            elif kind == _LINK:
                turn = rounds - state[_STEP]
                _link_neighbour(row_offsets, column_indices, component, first, last, turn, pending[rank])
            elif kind == _COMPRESS:
                compress(component, first, last)
            else:
                _link_rest(row_offsets, column_indices, component, first, last, state[_GIANT])
            finish(state)
        elif rank != 0:
            if closed(state):
                return
            spins = idle(state, spins)
        else:
            wait_for_all(state)
            state[_STEP] += 1
            step = state[_STEP]
            if step > rounds + 3 or n == 0:
                close(state)
                return
            kind = _HOOK if step == 1 else _LINK if step <= rounds else _COMPRESS
            if step == rounds + 2:
                kind = _REST
                if state[_SKIP] != 0:
                    for i in range(len(sample)):
                        votes[i] = component[sample[i]]
                    state[_GIANT] = _most_frequent(votes)
            open_phase(state, kind, (n + _CHUNK - 1) // _CHUNK)


@serial
def _hook(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    first: int,
    last: int,
    turn: int,
) -> None:
    """Make each vertex a child of its neighbour number `turn` if that is smaller, else a root."""
    end = len(column_indices) - 1
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        k = row_offsets[v] + turn
        # Half of a skewed graph's vertices have no neighbour: reading any column is cheaper than a branch.
        u = column_indices[numpy.uint64(min(k, end))] if end >= 0 else v
        component[v] = u if (k < row_offsets[v + _ONE]) & (u < v) else v


@serial
def _link_neighbour(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    first: int,
    last: int,
    turn: int,
    pending: NDArray[Any],
) -> None:
    """Link each vertex and its neighbour number `turn`; those that share a parent are sorted out first."""
    end = len(column_indices) - 1
    if end < 0:
        return
    for low in range(first, last, _BLOCK):
        count = 0
        for v in range(numpy.uint64(low), numpy.uint64(min(low + _BLOCK, last))):
            k = row_offsets[v] + turn
            u = column_indices[numpy.uint64(min(k, end))]
            pending[count] = v
            count += int((k < row_offsets[v + _ONE]) & (component[u] != component[v]))
        for i in range(count):
            v = pending[i]
            link(component, v, column_indices[numpy.uint64(row_offsets[v] + turn)])


@serial
def _link_rest(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    component: NDArray[Any],
    first: int,
    last: int,
    giant: int,
) -> None:
    """Link the vertices outside the component with root `giant`, or all of them if it is -1."""
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        if component[v] == giant:
            continue
        for k in range(row_offsets[v], row_offsets[v + _ONE]):
            u = column_indices[numpy.uint64(k)]
            if component[v] != component[u]:
                link(component, v, u)
            if component[u] == giant or component[v] == giant:
                break


@serial
def _most_frequent(votes: NDArray[Any]) -> int:
    """Sort the votes and return the value that occurs most."""
    votes.sort()
    best, most, run = -1, 0, 0
    for i in range(len(votes)):
        run = run + 1 if i > 0 and votes[i] == votes[i - 1] else 1
        if run > most:
            best, most = int(votes[i]), run
    return best
