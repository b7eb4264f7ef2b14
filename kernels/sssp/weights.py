"""Weights as searches take them: checked, with the type of distances and the width of buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

DTYPES = (numpy.dtype(numpy.uint32), numpy.dtype(numpy.int32), numpy.dtype(numpy.float32))

MAX_VERTICES_OF_UINT32 = (1 << 31) - 1
"""Predecessors of uint32 columns are int32."""

INFINITY = 0x7FF0 << 48
"""The bits of a float64 that is infinite."""

MAX_INT32, MAX_INT64 = (1 << 31) - 1, (1 << 63) - 1

MAX_FLOAT32 = 0x7F7FFFFF
"""The bits of the largest float32; those above it have a sign, or are infinite or NaN."""


class UnusableWeight(ValueError):
    """A weight that no search takes, of the arc from `tail` to `head`."""

    def __init__(self, tail: int, head: int, weight: Any) -> None:
        super().__init__(
            f"the arc ({tail}, {head}) has the weight {weight}; shortest paths take weights that are finite "
            "and not negative"
        )
        self.tail, self.head, self.weight = tail, head, weight


class Distances:
    """How distances are counted; subclasses know the graph's sizes and weights.

    `words` is the dtype in which searches compare distances, uint32 or uint64, whose order is that of
    distances: integers themselves, or the bits of a float64 that is not negative. `mean_weight` is that of
    all arcs.
    """

    vertices: int
    arcs: int
    is_float: bool
    words: numpy.dtype[Any]
    mean_weight: float

    @property
    def unreached(self) -> int:
        """The word of a vertex that is not reached: the largest integer, or the bits of inf."""
        return INFINITY if self.is_float else (1 << (8 * self.words.itemsize)) - 1

    @property
    def tree(self) -> numpy.dtype[Any]:
        """The dtype of predecessors while they are found; all ones say none."""
        return numpy.dtype(numpy.uint32 if self.vertices <= MAX_VERTICES_OF_UINT32 else numpy.uint64)

    def distances(self, words: Any) -> Any:
        """Read words as distances: int32 or int64 with -1 for unreached, or float64 with inf."""
        if self.is_float:
            return words.view(numpy.float64)
        return words.view(numpy.int32 if self.words.itemsize == 4 else numpy.int64)

    def predecessors(self, tree: Any) -> Any:
        """Read predecessors as int32 or int64, -1 for none."""
        return tree.view(numpy.int32 if self.tree.itemsize == 4 else numpy.int64)

    @property
    def mean_degree(self) -> float:
        """Arcs of a vertex, at least 1."""
        return max(1.0, self.arcs / max(1, self.vertices))

    def width(self, factor: float) -> Any:
        """Return a bucket's width of `factor` mean weights, of the weights' dtype."""
        wanted = factor * self.mean_weight
        if self.is_float:
            # A width of zero would leave a bucket empty for ever.
            return numpy.float32(min(max(wanted, float(numpy.finfo(numpy.float32).tiny)), 3e38))
        return numpy.uint32(min(max(wanted, 1), (1 << 31) - 1))

    def check_source(self, source: int) -> int:
        """Return a source as an integer; raises ValueError for one that is no vertex."""
        if not 0 <= source < self.vertices:
            raise ValueError(f"source {source} is not a vertex; there are {self.vertices}")
        return int(source)


@dataclass(frozen=True)
class WeightedRows(Distances):
    """Checked rows; `weights` are uint32 or float32.

    Without weights, which is None, every arc is 1 long. `symmetric` says whether every arc has one back with
    its weight; None where nobody has said so.
    """

    row_offsets: Any
    column_indices: Any
    weights: Any
    words: numpy.dtype[Any]
    mean_weight: float
    symmetric: bool | None = None

    @property
    def vertices(self) -> int:  # type: ignore[override]
        """How many rows there are."""
        return len(self.row_offsets) - 1

    @property
    def arcs(self) -> int:  # type: ignore[override]
        """How many arcs there are."""
        return len(self.column_indices)

    @property
    def is_float(self) -> bool:  # type: ignore[override]
        """Whether weights are float32."""
        return self.weights is not None and bool(self.weights.dtype == numpy.float32)


def checked(
    row_offsets: Any, column_indices: Any, weights: Any, symmetric: bool | None = None
) -> WeightedRows:
    """Check weights against their rows; raises ValueError as `gravel.kernels.sssp.prepare` does."""
    n = len(row_offsets) - 1
    if weights.dtype not in DTYPES:
        raise ValueError(f"weights are {weights.dtype}; uint32, int32 or float32 are expected")
    if weights.shape != column_indices.shape:
        raise ValueError(f"there are {len(weights)} weights and {len(column_indices)} arcs")
    if column_indices.dtype == numpy.uint32 and n > MAX_VERTICES_OF_UINT32:
        raise ValueError(f"{n:,} vertices with uint32 columns; from 2^31 vertices on columns must be uint64")
    if not len(weights):
        empty = weights if weights.dtype == numpy.float32 else weights.view(numpy.uint32)
        words = numpy.dtype(numpy.uint64 if weights.dtype == numpy.float32 else numpy.uint32)
        return WeightedRows(row_offsets, column_indices, empty, words, 0.0, symmetric)
    weights = without_minus_zeros(weights)
    refuse_unusable(row_offsets, column_indices, weights)
    mean = float(weights.mean(dtype=numpy.float64))
    if weights.dtype == numpy.float32:
        return WeightedRows(row_offsets, column_indices, weights, numpy.dtype(numpy.uint64), mean, symmetric)
    largest = int(weights.max())
    total = largest * len(weights)
    if total < 1 << 64:
        total = int(weights.sum(dtype=numpy.uint64))
    words = words_of(n, largest, total)
    return WeightedRows(row_offsets, column_indices, weights.view(numpy.uint32), words, mean, symmetric)


def without_minus_zeros(weights: Any) -> Any:
    """Return weights with 0.0 for every -0.0, whose bits come after all others'; copied if need be."""
    return weights if are_plain(weights) else weights + weights.dtype.type(0)


def are_plain(weights: Any) -> bool:
    """Whether weights have no sign and are finite; other floats may still be -0.0."""
    if weights.dtype == numpy.uint32 or not len(weights):
        return True
    largest = MAX_FLOAT32 if weights.dtype == numpy.float32 else MAX_INT32
    return int(weights.view(numpy.uint32).max()) <= largest


def words_of(vertices: int, largest: int, total: int) -> numpy.dtype[Any]:
    """Choose the words of integers by the largest weight and the sum of all; raises ValueError."""
    # A path has fewer arcs than there are vertices, and uses each arc once at most.
    longest = min(max(0, vertices - 1) * largest, total)
    # A search adds an arc to any distance before it compares, and a bucket's width to where it starts.
    if longest + max(largest, MAX_INT32) <= 2 * MAX_INT32 and longest < MAX_INT32:
        return numpy.dtype(numpy.uint32)
    if longest + largest > MAX_INT64:
        raise ValueError(
            f"a path may be {longest:,} long: {vertices - 1:,} arcs of up to {largest:,}; "
            f"distances are at most {MAX_INT64:,}. Scale the weights down"
        )
    return numpy.dtype(numpy.uint64)


def refuse_unusable(row_offsets: Any, column_indices: Any, weights: Any) -> None:
    """Raise `UnusableWeight` for one that is negative, NaN or infinite, naming the first such arc."""
    if are_plain(weights):
        return
    usable = weights >= 0
    if weights.dtype == numpy.float32:
        usable &= weights < numpy.float32(numpy.inf)
    if bool(usable.all()):
        return
    arc = int(usable.argmin())
    # By bisection: the offsets may lie on a device.
    low, high = 0, len(row_offsets) - 1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if int(row_offsets[middle]) <= arc else (low, middle)
    raise UnusableWeight(low, int(column_indices[arc]), weights[arc].item())
