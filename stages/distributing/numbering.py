"""The ids of all pieces numbered by a distributed sort: a vertex is the rank of its id, as everywhere.

Splitters from a sample cut the ids into a range for each rank. Every rank sends each range's ids to its
owner, block by block. Owners sort what came, drop repetitions, and answer each block with vertices.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.exchange import Endpoint, Program, Ticket, gather, swap
from gravel.stages.distributing.pieces import Pieces, Stretch
from gravel.stages.distributing.tables import IntegerTable, Table, TextTable
from gravel.stages.partitioning.ranges import ArrayFile
from gravel.stages.rank_group import Report
from gravel.stages.texts import Texts

SAMPLES = 1 << 10
"""Ids that a rank samples: ranges differ by about 3 % with four ranks."""

TEXT_BYTES = 16
"""Bytes of texts that are sent for each whole number that would be."""

Steps = Generator[Ticket, dict[int, Any], Any]


@dataclass(frozen=True)
class Numbered:
    """Counts of the numbering, and the files with this rank's range of the ids.

    `low` and `high` are its first and last id, None of an empty range and where ids are texts.
    """

    vertices: int
    before: int
    table: tuple[ArrayFile, ...]
    low: int | None
    high: int | None


def number_program(
    end: Endpoint,
    pieces: Pieces,
    folder: Path,
    numbers: NDArray[Any],
    *,
    block: int,
    memory: int,
    report: Report,
) -> Program[Numbered]:
    """Number all ids as one rank, and write the vertices of its share into `numbers`.

    Parameters
    ----------
    folder : where its range of the ids is written.
    numbers : the vertex of each id of all pieces; a file that all ranks write to, each its own share.
    block : ids that a rank sends at once.
    memory : bytes for the ids of its range; more are on disk.
    report : takes how many ids were gone through, of how many, and what was done to them.

    """
    texts = pieces.has_texts
    sampled = yield from gather(end, pieces.sampled(end.size, end.rank, SAMPLES))
    splitters = chosen(sorted(each for of_rank in sampled for each in of_rank), end.size)
    stretches = list(pieces.stretches(end.size, end.rank, block, TEXT_BYTES * block))
    blocks = max((yield from gather(end, len(stretches))))
    table: Table = TextTable(folder, memory) if texts else IntegerTable(folder, memory)
    try:
        asked: list[list[int]] = []
        for turn, stretch in zip_longest(range(1, blocks + 1), stretches):
            ids, bounds = _cut(stretch, splitters, end.size, texts=texts)
            own = [_between(ids, bounds, rank) for rank in range(end.size)]
            arrived = yield from swap(end, {rank: own[rank] for rank in end.others})
            arrived[end.rank] = own[end.rank]
            asked.append([table.take(_as_ids(arrived[rank], texts=texts)) for rank in range(end.size)])
            report(pieces.ids * turn // blocks, pieces.ids, "ids sorted")
        files = table.finish()
        owned = yield from gather(end, table.count)
        vertices, before = sum(owned), sum(owned[: end.rank])
        dtype = index_dtype(vertices)
        for turn, (numbered, stretch) in enumerate(zip_longest(asked, stretches), 1):
            answers = [(table.ranks(number) + before).astype(dtype) for number in numbered]
            answered = yield from swap(end, {rank: answers[rank] for rank in end.others})
            answered[end.rank] = answers[end.rank]
            if stretch is not None:
                found = numpy.concatenate([answered[rank] for rank in range(end.size)])
                numbers[stretch.place : stretch.place + len(found)] = found
            report(pieces.ids * turn // blocks, pieces.ids, "ids numbered")
    finally:
        table.close()
    ids = numpy.asarray(files[0].map()) if not texts else numpy.empty(0, numpy.int64)
    low, high = (int(ids[0]), int(ids[-1])) if len(ids) else (None, None)
    return Numbered(vertices, before, files, low, high)


def chosen(sampled: Sequence[Any], ranks: int) -> list[Any]:
    """Choose the ids at which the ranges of all ranks but the first begin, from an ascending sample."""
    if not sampled:
        return []
    return [sampled[len(sampled) * rank // ranks] for rank in range(1, ranks)]


def _cut(
    stretch: Stretch | None, splitters: Sequence[Any], ranks: int, *, texts: bool
) -> tuple[Any, list[int]]:
    """Read a stretch, and find where the range of each rank begins and ends in it; None is an empty one."""
    ids: Any
    if texts:
        ids = (
            Texts(numpy.empty(0, numpy.uint8), numpy.zeros(1, numpy.int64))
            if stretch is None
            else stretch.texts()
        )
        inner = [bisect_left(range(ids.size), splitter, key=ids.item) for splitter in splitters]
    else:
        ids = numpy.empty(0, numpy.int64) if stretch is None else stretch.integers()
        inner = numpy.searchsorted(ids, numpy.array(splitters, numpy.int64)).tolist()
    # Where nothing was sampled there is nothing to cut.
    return ids, [0, *(inner or [0] * (ranks - 1)), ids.size]


def _between(ids: Any, bounds: Sequence[int], rank: int) -> Any:
    """Take the ids of a rank's range; texts as a plain pair, which wires carry."""
    first, last = bounds[rank], bounds[rank + 1]
    if isinstance(ids, Texts):
        ends = ids.offsets[first : last + 1]
        return (ids.text[ends[0] : ends[-1]].copy(), ends - ends[0])
    return ids[first:last]


def _as_ids(parcel: Any, *, texts: bool) -> Any:
    return Texts(*parcel) if texts else parcel
