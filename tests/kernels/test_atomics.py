import threading

import numpy
import pytest
from numba.core.errors import TypingError

from gravel.kernels.atomics import atomic_load, atomic_store, compare_and_swap, fetch_add, fetch_min, fetch_or
from gravel.kernels.bits import set_bits, trailing_zeros
from gravel.kernels.jit import serial

DTYPES = (numpy.int32, numpy.int64, numpy.uint32, numpy.uint64)
THREADS = 4
TIMES = 100_000


@serial
def each_once(array, low, high):
    return (
        fetch_add(array, 0, 5),
        fetch_or(array, 1, 6),
        fetch_min(array, 2, low),
        fetch_min(array, 3, high),
        compare_and_swap(array, 4, 1, 9),
        compare_and_swap(array, 5, 1, 9),
        atomic_load(array, 6),
    )


@serial
def store(array, value):
    atomic_store(array, 0, value)


@serial
def hammer(array, owners, rank, times):
    first = 0
    for turn in range(times):
        fetch_add(array, 0, 1)
        fetch_or(array, 1, 1 << ((turn * 7 + rank) % 31))
        fetch_min(array, 2, times * 4 - turn * 4 - rank)
        while True:
            seen = atomic_load(array, 3)
            if compare_and_swap(array, 3, seen, seen + 1) == seen:
                break
        if compare_and_swap(owners, turn, 0, rank + 1) == 0:
            first += 1
    return first


@serial
def read_bits(word):
    return trailing_zeros(word), set_bits(word)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_returns_what_was_there(dtype):
    array = numpy.array([1, 1, 7, 7, 1, 2, 8], dtype)
    assert each_once(array, 3, 11) == (1, 1, 7, 7, 1, 2, 8)
    assert array.tolist() == [6, 7, 3, 7, 9, 2, 8]
    store(array, 4)
    assert array[0] == 4


def test_the_sign_decides_what_is_smaller():
    for dtype, expected in ((numpy.int32, -1), (numpy.uint32, 7), (numpy.int64, -1), (numpy.uint64, 7)):
        array = numpy.array([0, 0, 7, -1 & 0x7F, 0, 0, 0], dtype)
        each_once(array, numpy.array(-1).astype(dtype)[()], 0)
        assert array[2] == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_lose_no_update(dtype):
    array = numpy.array([0, 0, 2**31 - 1, 0], dtype)
    owners = numpy.zeros(TIMES, dtype)
    wins = [0] * THREADS

    def work(rank):
        wins[rank] = hammer(array, owners, rank, TIMES)

    hammer(array.copy(), owners.copy(), 0, 1)
    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array.tolist() == [THREADS * TIMES, 2**31 - 1, 1, THREADS * TIMES]
    assert sum(wins) == TIMES
    assert numpy.bincount(owners.astype(numpy.int64), minlength=THREADS + 1)[1:].tolist() == wins


@pytest.mark.parametrize(
    "array", [numpy.zeros(8, numpy.int16), numpy.zeros(8, numpy.float64), numpy.zeros((4, 2), numpy.int64)]
)
def test_other_arrays_are_refused(array):
    with pytest.raises(TypingError, match="atomics need"):
        store(array, 1)


def test_a_strided_array_is_refused():
    with pytest.raises(TypingError, match="contiguous"):
        store(numpy.zeros(8, numpy.int64)[::2], 1)


def test_bits():
    assert read_bits(numpy.uint64(0)) == (64, 0)
    assert read_bits(numpy.uint64(1 << 63)) == (63, 1)
    assert read_bits(numpy.uint64(0b101000)) == (3, 2)
    assert read_bits(numpy.uint64(2**64 - 1)) == (0, 64)
