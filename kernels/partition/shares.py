"""What ranges of rows add to the ranks of a partition, and the index of delegates that divides them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray


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
    counts = numpy.bitwise_count(words)
    before = numpy.zeros(len(words), numpy.uint32)
    numpy.cumsum(counts[:-1], out=before[1:], dtype=numpy.uint32)
    return DelegateIndex(words, before, degrees)
