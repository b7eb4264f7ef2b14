"""What ranges of rows add to the ranks of a partition, and the index of delegates that divides them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.distributor import buffers


class DelegateIndex(NamedTuple):
    """Which vertices are delegates, and their positions, in 3/16 of a byte for each vertex."""

    words: NDArray[Any]  # uint64, bit v % 64 of word v // 64
    before: NDArray[Any]  # uint32, delegates before each word
    degrees: NDArray[Any]  # int64, of each delegate


class Share(NamedTuple):
    """What a range adds to one rank: lengths of rows and their columns, by subgraph."""

    lengths: dict[str, NDArray[Any]]  # uint32
    columns: dict[str, NDArray[Any]]


def index_delegates(words: NDArray[Any], degrees: NDArray[Any]) -> DelegateIndex:
    """Complete the words of all vertices; `degrees` are those of the delegates, ascending by vertex."""
    before = buffers.delegate_sums(len(words), "host").make(numpy)
    numpy.bitwise_count(words, out=before[1:])
    numpy.cumsum(before, out=before)
    return DelegateIndex(words, before[:-1], degrees)


def delegates_before(index: DelegateIndex, vertex: int) -> int:
    """Count the delegates with smaller numbers."""
    word, bit = divmod(vertex, 64)
    if word >= len(index.words):
        return len(index.degrees)
    below = int(index.words[word]) & ((1 << bit) - 1)
    return int(index.before[word]) + below.bit_count()


def offsets_of(lengths: Any, arcs: int, arrays: Any = numpy) -> Any:
    """Sum the lengths of rows up, which have so many arcs: uint32 where these fit, else int64 (rows + 1,).

    The arrays are NumPy's or CuPy's.
    """
    offsets = buffers.row_offsets(len(lengths), arcs).make(arrays)
    arrays.cumsum(lengths, dtype=offsets.dtype, out=offsets[1:])
    return offsets


def narrow(offsets: Any) -> Any:
    """Give offsets as uint32, where they fit."""
    return offsets.astype(numpy.uint32) if int(offsets[-1]) < 1 << 32 else offsets
