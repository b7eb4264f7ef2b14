"""The pool in numbers holds what CuPy's would, and the arrays of an emulated GPU are counted in it."""

from __future__ import annotations

import numpy

from tests.emulation.device_cupy import POOL, Array, module, sort_bytes
from tests.emulation.device_pool import UNIT, DevicePool


def test_blocks_are_rounded_up_cut_and_joined() -> None:
    pool = DevicePool()
    one, other = pool.take(1), pool.take(10 * UNIT)
    assert (pool.total_bytes(), pool.used_bytes(), pool.free_bytes()) == (11 * UNIT, 11 * UNIT, 0)
    pool.give(other)
    parts = [pool.take(3 * UNIT), pool.take(4 * UNIT)]
    assert pool.total_bytes() == 11 * UNIT
    assert pool.free_bytes() == 3 * UNIT
    # What is left is too small, and the device gives more.
    parts.append(pool.take(4 * UNIT))
    assert pool.total_bytes() == 15 * UNIT
    pool.give(parts[0])
    pool.give(parts[1])
    assert pool.take(10 * UNIT).size == 10 * UNIT
    assert pool.total_bytes() == pool.peak == 15 * UNIT
    pool.give(one)
    pool.free_all_blocks()
    assert pool.total_bytes() == 14 * UNIT


def test_the_smallest_block_that_suffices_is_taken() -> None:
    pool = DevicePool()
    large, apart, small = pool.take(8 * UNIT), pool.take(UNIT), pool.take(2 * UNIT)
    pool.give(large)
    pool.give(small)
    assert pool.take(2 * UNIT).before is None
    assert pool.take(8 * UNIT).size == 8 * UNIT
    assert pool.total_bytes() == 11 * UNIT
    pool.give(apart)


def test_arrays_are_counted_with_what_makes_them() -> None:
    cupy = module()
    POOL.restart()
    before = POOL.used_bytes()

    def used() -> int:
        return POOL.used_bytes() - before

    count, size = 1 << 10, 8 << 10
    keys = cupy.empty(count, cupy.uint64)
    assert used() == size
    half = keys[: count // 2].view(cupy.uint32)
    assert used() == size
    more = keys + 1
    assert isinstance(more, Array)
    assert used() == 2 * size
    chosen = keys[cupy.arange(4)]
    assert used() == 2 * size + UNIT
    del more, chosen
    POOL.restart()
    keys.sort()
    assert POOL.most_used - before == size + -(-sort_bytes(count, 8) // UNIT) * UNIT
    del keys
    assert used() == size
    del half
    assert used() == 0
    assert isinstance(cupy.asnumpy(cupy.zeros(3, "u8")), numpy.ndarray)
