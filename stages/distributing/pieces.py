"""The pieces of all files as one sequence of ids and one of edges; every rank takes an equal share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.generate.slices import slice_of
from gravel.stages.artifacts import EdgePiece
from gravel.stages.texts import Texts

if TYPE_CHECKING:
    from gravel.stages.partitioning.ranges import ArrayFile
    from gravel.stages.weights import StoredAs


@dataclass(frozen=True)
class Stretch:
    """Ids `first` to `last` - 1 of a piece, and the place of its ids among those of all pieces."""

    piece: EdgePiece
    first: int
    last: int
    before: int

    @property
    def place(self) -> int:
        """Where the stretch begins among the ids of all pieces."""
        return self.before + self.first

    def integers(self) -> NDArray[numpy.int64]:
        """Read ids that are whole numbers, ascending."""
        if self.piece.ids is None:
            return numpy.arange(self.piece.first + self.first, self.piece.first + self.last)
        return numpy.asarray(self.piece.ids[self.first : self.last]).astype(numpy.int64, copy=False)

    def texts(self) -> Texts:
        """Read ids that are texts, ascending."""
        assert self.piece.text is not None
        assert self.piece.offsets is not None
        ends = numpy.asarray(self.piece.offsets[self.first : self.last + 1])
        return Texts(numpy.asarray(self.piece.text[ends[0] : ends[-1]]), ends - ends[0])


class Pieces:
    """Pieces in a fixed order."""

    def __init__(self, pieces: Sequence[EdgePiece]) -> None:
        self._pieces = pieces
        self._ids = [0, *accumulate(piece.vertex_count for piece in pieces)]
        self._edges = [0, *accumulate(len(piece.source) for piece in pieces)]
        self.has_texts = any(piece.text is not None for piece in pieces)
        self.has_weights = any(piece.weight is not None for piece in pieces)

    @property
    def ids(self) -> int:
        """Ids of all pieces; one that several have counts as often."""
        return self._ids[-1]

    @property
    def edges(self) -> int:
        """Edges of all pieces."""
        return self._edges[-1]

    def stretches(self, ranks: int, rank: int, size: int, text_bytes: int) -> Iterator[Stretch]:
        """Cut a rank's share of the ids, each of at most `size` ids, and of texts so many bytes (or one)."""
        first, last = slice_of(self.ids, ranks, rank)
        for number, low, high in _pieces_between(self._ids, first, last):
            piece, before = self._pieces[number], self._ids[number]
            while low < high:
                upto = min(high, low + size)
                if piece.offsets is not None:
                    ends = numpy.asarray(piece.offsets[low : upto + 1])
                    fits = int(numpy.searchsorted(ends, ends[0] + text_bytes, side="right")) - 1
                    upto = low + max(1, fits)
                yield Stretch(piece, low, min(upto, high), before)
                low = min(upto, high)

    def sampled(self, ranks: int, rank: int, count: int) -> list[Any]:
        """Take about `count` ids of a rank's share, evenly: whole numbers, or texts as bytes."""
        first, last = slice_of(self.ids, ranks, rank)
        found: list[Any] = []
        for place in (
            numpy.linspace(first, last, min(count, last - first), endpoint=False).astype(int).tolist()
        ):
            number = bisect_right(self._ids, place) - 1
            at = place - self._ids[number]
            stretch = Stretch(self._pieces[number], at, at + 1, self._ids[number])
            found.append(stretch.texts().item(0) if self.has_texts else int(stretch.integers()[0]))
        return found

    def between(self, first: int, last: int) -> Iterator[tuple[EdgePiece, int, slice]]:
        """Yield the pieces with edges `first` to `last` - 1, where their ids begin, and which edges."""
        for number, low, high in _pieces_between(self._edges, first, last):
            yield self._pieces[number], self._ids[number], slice(low, high)


def _pieces_between(starts: Sequence[int], first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield piece, first and last of the places in it, for what lies from `first` to `last` - 1 of all."""
    number = max(0, bisect_right(starts, first) - 1)
    while first < last and number < len(starts) - 1:
        end = min(last, starts[number + 1])
        if first < end:
            yield number, first - starts[number], end - starts[number]
        first, number = max(first, end), number + 1


class NumberedEdges:
    """The edges of all pieces by vertex, as the distributor takes them (`EdgeSource`).

    `numbers` has the vertex of each id of each piece. `stored` says how weights are stored, once ranks know.
    """

    stored: StoredAs | None = None

    def __init__(self, pieces: Pieces, numbers: ArrayFile, vertices: int) -> None:
        self._pieces, self._numbers = pieces, numpy.asarray(numbers.map())
        self._dtype = index_dtype(vertices)
        self.vertices, self.edges = vertices, pieces.edges

    def make(self, first: int, count: int, backend: str = "cpu") -> tuple[NDArray[Any], NDArray[Any]]:
        """Read edges `first` to `first` + `count` - 1 of all pieces."""
        ends = numpy.empty(count, self._dtype), numpy.empty(count, self._dtype)
        place = 0
        for piece, before, edges in self._pieces.between(first, first + count):
            upto = place + edges.stop - edges.start
            numbers = self._numbers[before : before + piece.vertex_count]
            for out, column in zip(ends, (piece.source, piece.target), strict=True):
                numpy.take(numbers, numpy.asarray(column[edges]), out=out[place:upto], mode="clip")
            place = upto
        return ends

    def read_weights(self, first: int, count: int) -> NDArray[numpy.float64]:
        """Read the weights of edges `first` to `first` + `count` - 1, as the files have them."""
        weights = numpy.empty(count, numpy.float64)
        place = 0
        for piece, _, edges in self._pieces.between(first, first + count):
            assert piece.weight is not None
            weights[place : place + edges.stop - edges.start] = piece.weight[edges]
            place += edges.stop - edges.start
        return weights

    def weights(self, first: int, count: int) -> NDArray[Any]:
        """Read the same weights as they are stored."""
        assert self.stored is not None
        return self.stored.convert(self.read_weights(first, count))
