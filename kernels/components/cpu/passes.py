"""Components by passes over all arcs on the CPU, row blocks on threads; the twin of `cuda/passes.py`.

Moschou, "GPU Acceleration with CUDA: Adaptive BFS & Afforest", section 2.4. Threads lower parents by atomic
minima, of which some are lost where two threads hook the same root; one thread loses none.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from gravel.kernels.atomics import fetch_min
from gravel.kernels.components import ComponentsResult
from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks

SAMPLES = 256


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
    if giant not in ("sampled", "first"):
        raise ValueError(f"giant is {giant!r}; it must be sampled or first")
    n = len(row_offsets) - 1
    component = numpy.zeros(n, columns.dtype)
    nothing = row_offsets[:1], columns[:0], component[:0]
    _pass(0, 0, *nothing, 0, True, 1)
    _compress(0, 0, component[:0])
    started = time.perf_counter()
    component[:] = numpy.arange(n, dtype=columns.dtype)
    blocks = row_blocks(row_offsets)
    whole = numpy.iinfo(numpy.int64).max

    def flatten() -> None:
        run_blocks(lambda a, b: _compress(a, b, component), blocks)

    if giant == "sampled":
        run_blocks(lambda a, b: _pass(a, b, row_offsets, columns, component, 0, False, 1), blocks)
        flatten()
    passes, changed = 0, True
    while changed and passes != most:
        skipped = (_most_frequent(component) if giant == "sampled" else int(component[0])) if n else 0
        changes = run_blocks(
            lambda a, b, skipped=skipped: _pass(  # type: ignore[misc]
                a, b, row_offsets, columns, component, skipped, prune, whole
            ),
            blocks,
        )
        changed = any(changes)
        flatten()
        passes += 1
    milliseconds = (time.perf_counter() - started) * 1e3
    converged = not changed or not any(
        run_blocks(lambda a, b: _apart(a, b, row_offsets, columns, component), blocks)
    )
    return ComponentsResult(component, milliseconds, name, converged, passes)


def _most_frequent(component: NDArray[Any]) -> int:
    places = numpy.random.default_rng(27491095).integers(0, len(component), SAMPLES)
    labels, counts = numpy.unique(component[places], return_counts=True)
    return int(labels[numpy.argmax(counts)])


@serial
def _root(component: NDArray[Any], v: int) -> int:
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
            p = _root(component, numpy.uint64(v))
            q = _root(component, numpy.uint64(columns[k]))
            if prune and p == giant and q == giant:
                continue
            low = min(p, q)
            if fetch_min(component, max(p, q), low) > low:
                changed = True
    return changed


@serial
def _compress(first: int, last: int, component: NDArray[Any]) -> None:
    for v in range(numpy.uint64(first), numpy.uint64(last)):
        component[v] = _root(component, numpy.uint64(v))


@serial
def _apart(
    first: int, last: int, row_offsets: NDArray[Any], columns: NDArray[Any], component: NDArray[Any]
) -> bool:
    for v in range(first, last):
        for k in range(row_offsets[v], row_offsets[v + 1]):
            if component[columns[k]] != component[v]:
                return True
    return False
