"""The distributor as each rank goes through it; a builder does the work on its side, CPU or GPU."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from gravel.kernels.exchange import Endpoint, Program, Ticket, gather, swap
from gravel.kernels.generate import ON_DEVICE, generate, size
from gravel.kernels.generate.slices import parts_of
from gravel.kernels.partition.census import LARGEST, Census
from gravel.kernels.partition.distributor.buffers import PART_EDGES
from gravel.kernels.partition.layout import RankGraph, local_count
from gravel.kernels.partition.storage import RankSize, rank_size

PIECE = 1 << 22
"""Values of an array that ranks tell all others at once."""

LEAST_PIECE = 1 << 16

Steps = Generator[Ticket, dict[int, Any], Any]


class Edges(Protocol):
    """The edges of an undirected graph, of which each rank takes an equal share."""

    @property
    def vertices(self) -> int:
        """Count the vertices."""
        ...

    @property
    def edges(self) -> int:
        """Count the edges as listed, loops and repetitions included."""
        ...

    def make(self, first: int, count: int, backend: str = "cpu") -> tuple[Any, Any]:
        """Give both ends of edges `first` to `first + count`."""
        ...


@dataclass(frozen=True)
class EdgeSource:
    """An undirected graph by its recipe; `name` and `arguments` are those of `gravel.kernels.generate`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vertices(self) -> int:
        """Count the vertices; raises ValueError for a generator or a parameter that cannot be."""
        return size(self.name, **self.arguments).vertices

    @property
    def edges(self) -> int:
        """Count the edges as listed, loops and repetitions included."""
        return size(self.name, **self.arguments).edges

    def make(self, first: int, count: int, backend: str = "cpu") -> tuple[Any, Any]:
        """Make edges `first` to `first + count`; CuPy arrays for "cuda", with whichever generator."""
        if backend == "cpu" or self.name in ON_DEVICE:
            return generate(self.name, first=first, count=count, backend=backend, **self.arguments)
        import cupy

        source, target = generate(self.name, first=first, count=count, **self.arguments)
        return cupy.asarray(source), cupy.asarray(target)


class Builder(Protocol):
    """A rank's side of the work; arrays are those of its side, and only it looks into them."""

    ranks: int
    rank: int
    refused: tuple[int, str] | None
    """The smallest vertex whose arcs do not make rows, and why; None where all do."""

    @property
    def source(self) -> Edges:
        """The edges of the graph."""
        ...

    def arcs_by_owner(self, first: int, count: int, *, with_columns: bool) -> Sequence[tuple[Any, ...]]:
        """Make edges, and their arcs by the rank that owns the source: local rows, columns where asked."""
        ...

    def count(self, rows: Any) -> None:
        """Count arcs of local rows."""
        ...

    def close_counts(self) -> None:
        """Make room for what was counted."""
        ...

    def place(self, rows: Any, columns: Any) -> None:
        """Put arcs, all of which were counted, into their rows."""
        ...

    def close_rows(self) -> None:
        """Sort the rows and drop duplicates."""
        ...

    def capped_degrees(self) -> Any:
        """Give the degrees of the own vertices as the census takes them, or their classes."""
        ...

    def learn_degrees(self, rank: int, first: int, degrees: Any) -> None:
        """Take in what a rank gave of its vertices from its local index `first` on."""
        ...

    def count_ends(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Count own vertices by degree and own arcs by either end, as `Census`; forget all degrees."""
        ...

    def busy_vertices(self, threshold: int) -> tuple[Any, Any]:
        """Give own vertices with more arcs than that, and their degrees."""
        ...

    def learn_delegates(self, vertices: Any, degrees: Any) -> None:
        """Take in all delegates, in any order."""
        ...

    def together(self, pieces: Sequence[Any]) -> Any:
        """Join arrays."""
        ...

    def split(self) -> tuple[RankGraph, Any]:
        """Make the subgraphs, and give them with the delegates, ascending in the dtype of columns."""
        ...


class RefusedArcs(ValueError):
    """Arcs that do not make rows."""


@dataclass(frozen=True)
class RankShare:
    """What a rank has at the end, and what all know of the whole."""

    part: RankGraph
    delegates: Any  # (delegates,) ascending, in the dtype of column_indices
    threshold: int
    vertex_count: int
    arc_count: int
    census: Census | None = None  # of the whole graph, where it was counted
    sizes: tuple[RankSize, ...] = ()  # of all ranks, likewise


def distribute_program(
    end: Endpoint,
    builder: Builder,
    *,
    threshold: int | Callable[[Census], int],
    part_edges: int = PART_EDGES,
    report: Callable[[int, int, str], None] = lambda *_: None,
) -> Program[RankShare]:
    """Make one rank of a generated graph; every rank runs this with its own builder.

    Parameters
    ----------
    threshold : vertices with more neighbours are delegates; or what chooses it from the census.
    part_edges : edges that a rank makes at once.
    report : takes how many edges were gone through, of how many, and what was done to them.

    Raises `RefusedArcs` on all ranks for what any builder has `refused`.

    """
    source, ranks = builder.source, builder.ranks
    n = source.vertices
    parts = parts_of(source.edges, ranks, end.rank, part_edges)
    for place, (first, count) in enumerate(parts, 1):
        yield from _spread(end, builder.arcs_by_owner(first, count, with_columns=False), builder.count)
        report(source.edges * place // len(parts), source.edges, "edges counted")
    builder.close_counts()
    for place, (first, count) in enumerate(parts, 1):
        yield from _spread(end, builder.arcs_by_owner(first, count, with_columns=True), builder.place)
        report(source.edges * place // len(parts), source.edges, "edges divided")
    builder.close_rows()
    refused = [each for each in (yield from gather(end, builder.refused)) if each is not None]
    if refused:
        raise RefusedArcs(min(refused)[1])
    census = yield from _take_census(end, builder, n, max(LEAST_PIECE, min(PIECE, part_edges)))
    chosen = threshold if isinstance(threshold, int) else threshold(census)
    yield from _tell_delegates(end, builder, chosen)
    part, delegates = builder.split()
    sizes = yield from gather(end, rank_size(part))
    return RankShare(
        part=part,
        delegates=delegates,
        threshold=chosen,
        vertex_count=n,
        arc_count=sum(sum(size.arcs) for size in sizes),
        census=census,
        sizes=tuple(sizes),
    )


def _spread(end: Endpoint, parcels: Sequence[tuple[Any, ...]], take: Callable[..., None]) -> Steps:
    """Send each rank its parcel, and take in the own and all that come."""
    arrived = yield from swap(end, {rank: parcels[rank] for rank in end.others})
    take(*parcels[end.rank])
    for parcel in arrived.values():
        take(*parcel)


def gather_pieces(
    end: Endpoint, own: Any, most: int, take: Callable[[int, int, Any], None], *, piece: int = PIECE
) -> Steps:
    """Tell all ranks an array of at most `most` values, some at a time.

    `take(rank, first, values)` gets what each rank told, from its place `first` on; the own values, too.
    """
    for first in range(0, most, piece):
        gathered = yield from gather(end, own[first : first + piece])
        for rank, values in enumerate(gathered):
            if len(values):
                take(rank, first, values)


def _take_census(
    end: Endpoint, builder: Builder, n: int, piece: int
) -> Generator[Ticket, dict[int, Any], Census]:
    most = local_count(n, end.size, 0)
    yield from gather_pieces(end, builder.capped_degrees(), most, builder.learn_degrees, piece=piece)
    # Few graphs have degrees up to where they are capped, and a histogram takes half a MiB.
    gathered = yield from gather(end, tuple(numpy.trim_zeros(each, "b") for each in builder.count_ends()))
    total = numpy.zeros((3, LARGEST + 1), numpy.int64)
    for of_rank in gathered:
        for sums, histogram in zip(total, of_rank, strict=True):
            sums[: len(histogram)] += histogram
    return Census(*total)


def _tell_delegates(end: Endpoint, builder: Builder, threshold: int) -> Steps:
    vertices, degrees = builder.busy_vertices(threshold)
    counts = yield from gather(end, len(vertices))
    joined = []
    for own in (vertices, degrees):
        joined.append(builder.together((yield from _gather_all(end, own, max(counts)))))
    del vertices, degrees, own
    builder.learn_delegates(*joined)


def _gather_all(end: Endpoint, own: Any, most: int) -> Generator[Ticket, dict[int, Any], list[Any]]:
    """Give the pieces of all ranks' arrays, those of a rank together; at least one, which may be empty."""
    pieces: list[list[Any]] = [[own[:0]] for _ in range(end.size)]

    def keep(rank: int, first: int, values: Any) -> None:
        pieces[rank].append(values)

    yield from gather_pieces(end, own, most, keep)
    return [each for of_rank in pieces for each in of_rank]


BLOCK = 1 << 12
"""Local rows whose vertices with arcs are counted together; p blocks are a range of the graph's vertices."""


def draw_program(
    end: Endpoint, filled: NDArray[numpy.bool_], vertex_count: int, count: int, seed: int
) -> Program[NDArray[numpy.int64]]:
    """Draw vertices that have arcs, without replacement; all of them, ascending, where there are fewer.

    Parameters
    ----------
    filled : which of the own vertices have arcs, bool (local,).
    seed : of NumPy's PCG64, whose choice among the vertices with arcs, ascending, this is.

    Returns the same int64 vertices on every rank.

    """
    blocks = -(-local_count(vertex_count, end.size, 0) // BLOCK)
    padded = numpy.zeros(blocks * BLOCK, numpy.bool_)
    padded[: len(filled)] = filled
    by_block = padded.reshape(blocks, BLOCK)
    counts = numpy.sum((yield from gather(end, by_block.sum(axis=1, dtype=numpy.int64))), axis=0)
    upto = numpy.cumsum(counts)
    total = int(upto[-1]) if blocks else 0
    if total <= count:
        chosen = numpy.arange(total)
    else:
        generator = numpy.random.Generator(numpy.random.PCG64(seed))
        chosen = generator.choice(total, count, replace=False)
    where = numpy.searchsorted(upto, chosen, side="right")
    needed = numpy.unique(where)
    own = [(numpy.flatnonzero(by_block[each]) + each * BLOCK) * end.size + end.rank for each in needed]
    gathered = yield from gather(end, own)
    vertices = {
        int(each): numpy.sort(numpy.concatenate([of_rank[place] for of_rank in gathered]))
        for place, each in enumerate(needed)
    }
    before = upto - counts
    places = zip(chosen, where, strict=True)
    return numpy.array([vertices[int(at)][one - before[at]] for one, at in places], numpy.int64)


def with_arcs(part: RankGraph, delegates: Any, vertex_count: int, ranks: int) -> NDArray[numpy.bool_]:
    """Tell which of a rank's vertices have arcs, on the host; delegates have."""
    filled = numpy.zeros(local_count(vertex_count, ranks, part.rank), numpy.bool_)
    for offsets in (part.nn.row_offsets, part.nd.row_offsets):
        filled |= _host(offsets[1:] != offsets[:-1])
    own = _host(delegates)
    filled[own[own % ranks == part.rank] // ranks] = True
    return filled


def _host(array: Any) -> NDArray[Any]:
    on_host: NDArray[Any] = array if isinstance(array, numpy.ndarray) else array.get()
    return on_host
