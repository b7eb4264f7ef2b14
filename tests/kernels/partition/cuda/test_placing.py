"""What a rank keeps on its device: whole subgraphs by how hot they are, and lines of the longest rows."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.partition.cuda.placing import Placing, keep_longest
from tests.kernels.cuda_case import fast_csr, rmat


def test_the_hottest_come_first() -> None:
    sizes = {"nn": 10, "nd": 20, "dn": 30, "dd": 40}
    assert Placing("device").kept(sizes) == sizes
    assert Placing("pinned", 100).kept(sizes) == dict.fromkeys(sizes, 0)
    assert Placing("split", 75).kept(sizes) == {"dd": 40, "dn": 30, "nd": 5, "nn": 0}
    assert Placing("split", 1000).kept(sizes) == sizes
    assert sum(Placing("split", 39).kept(sizes).values()) == 39


@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("budget", [0, 128, 2000, 20_000, 1 << 30])
def test_kept_lines_are_those_of_the_longest_rows(budget: int, index: type) -> None:
    offsets, columns = fast_csr(rmat(9), symmetric=True, index=index)
    kept = keep_longest(offsets.astype(numpy.uint32), columns, budget)
    lengths = numpy.diff(offsets)
    if kept is None:
        assert budget < 32 * columns.itemsize * ((lengths.max() + 62) // 32)
        return
    assert kept.lines.nbytes <= budget
    assert kept.lines.dtype == index
    flags = numpy.unpackbits(kept.bits.view(numpy.uint8), bitorder="little").astype(bool)
    places = numpy.flatnonzero(flags)
    assert len(places) == len(kept.lines)
    for number, line in enumerate(places.tolist()):
        own = columns[32 * line : 32 * line + 32]
        assert numpy.array_equal(kept.lines[number, : len(own)], own)
        word = line // 32
        assert kept.before[word] + flags[32 * word : line].sum() == number
    whole = [
        length
        for first, length in zip(offsets.tolist(), lengths.tolist(), strict=False)
        if length and flags[first // 32 : (first + length - 1) // 32 + 1].all()
    ]
    shortest = min(whole)
    missing = [
        length
        for first, length in zip(offsets.tolist(), lengths.tolist(), strict=False)
        if length and not flags[first // 32 : (first + length - 1) // 32 + 1].all()
    ]
    # Short rows beside long ones come with them; no row longer than the last of the long ones is left out.
    assert not missing or max(missing) <= max(whole)
    assert shortest >= 1
    if budget >= 1 << 30:
        assert not missing
