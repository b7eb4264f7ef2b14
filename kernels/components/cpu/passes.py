"""Components by passes over all arcs on the CPU, row blocks on threads; the twin of `cuda/passes.py`.

Moschou, "GPU Acceleration with CUDA: Adaptive BFS & Afforest", section 2.4. Threads lower parents by atomic
minima, of which some are lost where two threads hook the same root; one thread loses none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_min
from gravel.kernels.components import ComponentsResult
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import even_blocks, row_blocks, run_blocks

SAMPLES = 256
ALL_ARCS = (1 << 63) - 1
"""More than any row has."""


def single_pass(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> ComponentsResult:
    """Link all arcs once; see `gravel.kernels.components.cuda.passes.single_pass`."""
    return _run("afforest_single_pass", row_offsets, column_indices, giant, prune, most=1)


def multi_pass(
    row_offsets: NDArray[Any],
    column_indices: NDArray[Any],
    *,
    symmetric: bool,
    giant: Literal["sampled", "first"] = "first",
    prune: bool = True,
) -> ComponentsResult:
    """Link all arcs until a pass changes nothing; see `gravel.kernels.components.cuda.passes.multi_pass`."""
    return _run("afforest_multi_pass", row_offsets, column_indices, giant, prune, most=None)


def _run(
    name: str, row_offsets: NDArray[Any], columns: NDArray[Any], giant: str, prune: bool, *, most: int | None
) -> ComponentsResult:
    nothing = row_offsets[:1], columns[:0], columns[:0]
    _pass(0, 0, *nothing, 0, True, 1)
    component = numpy.zeros(len(row_offsets) - 1, columns.dtype)
    blocks = row_blocks(row_offsets)

    def link(skipped: int, prune: bool, arcs: int) -> bool:
        return any(
            run_blocks(
                lambda a, b: _pass(a, b, row_offsets, columns, component, skipped, prune, arcs), blocks
            )
        )

    def apart() -> bool:
        return any(run_blocks(lambda a, b: _apart(a, b, row_offsets, columns, component), blocks))

    return by_passes(name, component, link, apart, giant=giant, prune=prune, most=most)


def by_passes(
    name: str,
    component: NDArray[Any],
    link: Callable[[int, bool, int], bool],
    apart: Callable[[], bool],
    *,
    giant: str,
    prune: bool,
    most: int | None,
) -> ComponentsResult:
    """Find components by at most so many passes; whether they were enough is found out off the clock.

    `link(skipped, prune, arcs)` links up to `arcs` arcs of each row and says whether that changed anything;
    `apart()` says whether an arc joins two labels.
    """
    if giant not in ("sampled", "first"):
        raise ValueError(f"giant is {giant!r}; it must be sampled or first")
    n = len(component)
    compress(0, 0, component[:0])
    started = time.perf_counter()
    component[:] = numpy.arange(n, dtype=component.dtype)
    blocks = even_blocks(n)

    def flatten() -> None:
        run_blocks(lambda a, b: compress(a, b, component), blocks)

    if giant == "sampled":
        link(0, False, 1)
        flatten()
    passes, changed = 0, True
    while changed and passes != most:
        skipped = (_most_frequent(component) if giant == "sampled" else int(component[0])) if n else 0
        changed = link(skipped, prune, ALL_ARCS)
        flatten()
        passes += 1
    milliseconds = (time.perf_counter() - started) * 1e3
    return ComponentsResult(component, milliseconds, name, not changed or not apart(), passes)


def _most_frequent(component: NDArray[Any]) -> int:
    places = numpy.random.default_rng(27491095).integers(0, len(component), SAMPLES)
    labels, counts = numpy.unique(component[places], return_counts=True)
    return int(labels[numpy.argmax(counts)])


@serial
def root(component: NDArray[Any], v: int) -> int:
    """Return the root above a vertex, and let what is on the way point further up."""
    while component[v] != v:
        component[v] = component[component[v]]
        v = component[v]
    return v


@serial
def _pass(
    first: int,
    last: int,
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    component: NDArray[Any],
    giant: int,
    prune: bool,
    most: int,
) -> bool:
    """Link up to `most` arcs of each row; returns whether any parent was lowered."""
    changed = False
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        begin = row_offsets[v]
        for k in range(begin, begin + min(row_offsets[v + numpy.uint64(1)] - begin, most)):
            p = root(component, numpy.uint64(v))
            q = root(component, numpy.uint64(columns[k]))
            if prune and p == giant and q == giant:
                continue
            low = min(p, q)
            if fetch_min(component, max(p, q), low) > low:
                changed = True
    return changed


@serial
def compress(first: int, last: int, component: NDArray[Any]) -> None:
    """Point each of some vertices at its root."""
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        component[v] = root(component, numpy.uint64(v))


@serial
def _apart(
    first: int, last: int, row_offsets: NDArray[Any], columns: NDArray[Any], component: NDArray[Any]
) -> bool:
    for v in range(first, last):
        for k in range(row_offsets[v], row_offsets[v + 1]):
            if component[columns[k]] != component[v]:
                return True
    return False
