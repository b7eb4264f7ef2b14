"""Times every vertex order on one GPU, checked, with what it does to the lists; a line per graph and order.

    python -m tests.benchmarks.orders FILE kron22 lattice300 --methods rcm,degree --repeats 21 --pinned

A graph is a name or a file as `tests.benchmarks.deep` takes it. Times are those of finding the order on
arrays in device memory, the clock read when the device is idle, after the device was woken; applying it is
timed once. `--pinned` times `rcm` once more with the columns in mapped host memory, in so many bytes a second
of the columns read once for each search and once for the numbering; and the community orders, with the graphs
of clusters there too, but for `--room` MB at a time, and tells what they took of the device. `--check`
compares with the CPU's order, `--scipy` with SciPy's time and bandwidth.
"""

from __future__ import annotations

import argparse
import statistics as middle
import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy

from gravel.kernels.cuda.wake import wake
from gravel.kernels.order import METHODS, apply, permutation, statistics
from gravel.kernels.order.rcm_cuda import rcm
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import parser_of


def milliseconds(work: Callable[[], Any]) -> float:
    """Wall-clock time of a call and of what it leaves the device to do."""
    wake()
    cupy.cuda.Device().synchronize()
    started = time.perf_counter()
    work()
    cupy.cuda.Device().synchronize()
    return (time.perf_counter() - started) * 1e3


def times(work: Callable[[], Any], repeats: int) -> list[float]:
    """Times of calls after one that compiles; fewer where they are long."""
    work()
    first = milliseconds(work)
    return [first, *(milliseconds(work) for _ in range(min(repeats - 1, int(2000 / first))))]


def pinned(columns: Any) -> Any:
    """A device array over a copy in mapped host memory."""
    held = cupy.cuda.alloc_pinned_memory(columns.nbytes)
    numpy.frombuffer(held, columns.dtype, len(columns))[...] = columns.get()
    memory = cupy.cuda.UnownedMemory(held.ptr, columns.nbytes, held)
    return cupy.ndarray(columns.shape, columns.dtype, cupy.cuda.MemoryPointer(memory, 0))


def measure(name: str, methods: list[str], repeats: int, chosen: argparse.Namespace) -> None:
    arrays = rows_of(name)
    print(f"{name}: {len(arrays[0]) - 1} vertices, {len(arrays[1])} arcs", flush=True)
    for method in methods:
        slow = METHODS[method].cuda is None and METHODS[method].reads_columns
        taken = times(lambda method=method: permutation(method, *arrays), 1 if slow else repeats)
        found = permutation(method, *arrays).astype(arrays[1].dtype, copy=False)
        applying = times(lambda found=found: apply(*arrays, found), 2)
        moved = [array.get() for array in apply(*arrays, found)]
        each = statistics(*moved)
        print(
            f"  {method:14} median {middle.median(taken):9.3f} of {len(taken):2} ms, worst {max(taken):.3f}, "
            f"apply {min(applying):8.3f} ms; bandwidth {each.bandwidth:9}, mean gap {each.mean_gap:11.1f}, "
            f"{each.bits_per_arc:6.3f} bits per arc",
            flush=True,
        )
        if chosen.check and METHODS[method].cuda:
            host = [array.get() for array in arrays]
            started = time.perf_counter()
            assert numpy.array_equal(permutation(method, *host), found.get()), "the CPU's order differs"
            print(f"    equal to the CPU's, {(time.perf_counter() - started) * 1e3:.0f} ms", flush=True)
        if chosen.pinned and method == "rcm":
            there = pinned(arrays[1])
            assert bool((rcm(arrays[0], there) == found).all()), "the order of pinned columns differs"
            taken = [milliseconds(lambda there=there: rcm(arrays[0], there)) for _ in range(3)]
            rate = there.nbytes / middle.median(taken) / 1e6
            print(
                f"    pinned columns: {middle.median(taken):.1f} ms, {rate:.1f} GB/s of columns", flush=True
            )
        if chosen.pinned and method.startswith("community"):
            under_a_cap(method, arrays, found, chosen.room << 20)
        if chosen.scipy and method == "rcm":
            against_scipy(arrays)


def under_a_cap(method: str, arrays: Any, expected: Any, room: int) -> None:
    """Time an order whose columns are pinned, and tell the device memory that it took beside the graph."""
    there, pool = pinned(arrays[1]), cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.total_bytes()
    taken = []
    for _ in range(2):
        taken.append(milliseconds(lambda: permutation(method, arrays[0], there, room=room)))
    # Blocks stay in the pool when they are freed, so that it has no less than the most that was taken.
    took = pool.total_bytes() - before
    found = permutation(method, arrays[0], there, room=room)
    assert bool((found == expected).all()), "the order of pinned columns differs"
    print(
        f"    pinned columns, {room >> 20} MB for rows: {min(taken):.1f} ms, {took / 1e6:.0f} MB of the "
        f"device, {took / max(1, len(expected)):.0f} bytes per vertex",
        flush=True,
    )


def against_scipy(arrays: Any) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    offsets, columns = (array.get() for array in arrays)
    vertices = len(offsets) - 1
    matrix = csr_array(
        (numpy.ones(len(columns), numpy.int8), columns.astype(numpy.int32), offsets.astype(numpy.int32)),
        (vertices, vertices),
    )
    started = time.perf_counter()
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    taken = time.perf_counter() - started
    new = cupy.empty(vertices, arrays[1].dtype)
    new[cupy.asarray(order)] = cupy.arange(vertices, dtype=new.dtype)
    theirs = statistics(*(array.get() for array in apply(*arrays, new)))
    print(f"    SciPy: {taken * 1e3:.0f} ms, bandwidth {theirs.bandwidth}", flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+", help="a name or a file")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--room", type=int, default=512, help="MB of the device for rows of pinned columns")
    for option in ("check", "pinned", "scipy"):
        parser.add_argument(f"--{option}", action="store_true")
    chosen = parser.parse_args()
    for name in chosen.graphs:
        measure(name, chosen.methods.split(","), chosen.repeats, chosen)
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
