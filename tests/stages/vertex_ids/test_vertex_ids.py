"""Ids and ranks within a small budget: bitmap, sorted runs, several passes; always NumPy's `unique`."""

import numpy
import pytest

from gravel.stages.readers import Chunk
from gravel.stages.vertex_ids.edges import Spool, ranked
from gravel.stages.vertex_ids.ids import IdSet, SparseIds

TOP = (1 << 63) - 1


def spread(kind, count):
    rng = numpy.random.default_rng(5)
    return {
        "dense": rng.integers(0, count, (count, 2)),
        "far": rng.integers(0, count, (count, 2)) + (1 << 50),
        "hashed": rng.integers(0, TOP, (count, 2)),
        "both": numpy.where(rng.random((count, 2)) < 0.5, rng.integers(0, count, (count, 2)), TOP - 3),
        "below": numpy.concatenate(
            [rng.integers(1 << 40, (1 << 40) + count, (count // 2, 2)), rng.integers(0, TOP, (count, 2))]
        ),
        "one": numpy.full((count, 2), 77),
    }[kind]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory", [3 << 14, 1 << 18, 1 << 26])
@pytest.mark.parametrize("kind", ["dense", "far", "hashed", "both", "below", "one"])
def test_ranks_are_those_of_unique(tmp_path, kind, memory, weighted):
    pairs = spread(kind, 20_000)
    ids, spool = IdSet(tmp_path, memory), Spool(tmp_path, memory // 4, weighted=weighted)
    for begin in range(0, len(pairs), 3000):
        part = pairs[begin : begin + 3000]
        weight = numpy.arange(begin, begin + len(part)) * 0.5 if weighted else None
        chunk = Chunk(part[:, 0].copy(), part[:, 1].copy(), weight)
        high = max(ids.add(chunk.source), ids.add(chunk.target))
        assert high == part.max()
        spool.append(chunk, narrow=high < 1 << 32)
    ids.finish()
    expected, ranks = numpy.unique(pairs, return_inverse=True)
    assert (ids.count, ids.first, ids.last) == (len(expected), expected[0], expected[-1])
    assert ids.consecutive == bool((numpy.diff(expected) == 1).all())
    assert numpy.concatenate(list(ids.blocks(1000))).tolist() == expected.tolist()
    chunks = [
        (c.source.copy(), c.target.copy(), c.weight)
        for c in ranked(spool, ids, tmp_path, memory // 4, weighted=weighted, dtype=numpy.uint32, threads=2)
    ]
    got = numpy.column_stack([numpy.concatenate([chunk[end] for chunk in chunks]) for end in (0, 1)])
    assert (got == ranks.reshape(-1, 2)).all()
    if weighted:
        assert (numpy.concatenate([chunk[2] for chunk in chunks]) == numpy.arange(len(pairs)) * 0.5).all()
    ids.close()
    assert list(tmp_path.iterdir()) == []


def test_a_small_budget_takes_several_passes(tmp_path):
    ids = IdSet(tmp_path, 3 << 14)
    for begin in range(0, 20_000, 3000):
        ids.add(spread("hashed", 20_000)[begin : begin + 3000].ravel())
    ids.finish()
    assert not ids.fits
    assert len(list(ids.sparse_blocks())) > 3
    ids.close()


def test_many_runs_are_merged(tmp_path):
    rng = numpy.random.default_rng(1)
    sparse = SparseIds(tmp_path, 0)
    every = [rng.integers(0, TOP, 900) for _ in range(300)]
    for part in every:
        sparse.add(part)
    sparse.finish()
    expected = numpy.unique(numpy.concatenate(every))
    assert sparse.count == len(expected)
    assert (sparse.read(0, sparse.count) == expected).all()
    assert sparse.position(int(expected[1234])) == 1234
    sparse.close()
