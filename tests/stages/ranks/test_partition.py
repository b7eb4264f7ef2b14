"""traverse of a compressed partition: ranks search rows as they are, in lock step and by a rank group."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import CompressedGraph
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ranks import rank
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE, traverse
from tests.stages.ranks.test_searches import RankGroupContext, search, split

CODECS = [
    "varint",
    "csr",
    # Compiling their readers takes longer than CI has for it.
    pytest.param("blocks", marks=pytest.mark.slow),
    pytest.param("elias_fano", marks=pytest.mark.slow),
]


def packed(name: str, ranks: int, codec: str = "varint", symmetric: bool = True) -> CompressedGraph:
    return compress(PlainContext(), CompressParameters(codec=codec), input=split(name, ranks, symmetric))


@pytest.mark.parametrize("codec", CODECS)
def test_ranks_find_what_those_with_columns_do(codec: str) -> None:
    for name, ranks, symmetric in (
        ("skewed_random", 3, True),
        ("grid_13x17", 2, False),
        ("path_33", 1, True),
    ):
        wanted, told = search(PlainContext(), split(name, ranks, symmetric))
        context = RankGroupContext(ranks)
        for each in (PlainContext(), context):
            found, measured = search(each, packed(name, ranks, codec, symmetric))
            assert numpy.array_equal(found.distance, wanted.distance)
            assert numpy.array_equal(found.predecessor, wanted.predecessor)
            for mine, theirs in zip(measured.searches, told.searches, strict=True):
                for key in ("edges", "arcs", "levels"):
                    assert mine[key] == theirs[key]
                for key in ("mask_bytes", "vertex_bytes", "backward"):
                    assert mine["ranks"][key] == theirs["ranks"][key]
            as_they_are = codec != "csr"
            assert any("by each rank its own" in note for note in measured.notes) == as_they_are
            assert measured.asked.get("layout") == (codec if as_they_are else None)
        assert context.calls == ([ranks] * 3 if ranks > 1 else [])
    assert not rank.RESIDENT


def test_rows_are_read_by_their_ranks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("the partition was decoded")

    monkeypatch.setattr("gravel.stages.rows.decoding.decompress", refuse)
    found, measured = search(RankGroupContext(2), packed("skewed_random", 2))
    assert (numpy.asarray(found.distance) >= 0).any()
    # Loops and duplicates are counted from columns, and components are found in them.
    with pytest.raises(AssertionError, match="was decoded"):
        traverse(PlainContext(), TraverseParameters(algorithm="components"), input=packed("skewed_random", 2))
    assert measured.asked["row_bytes"] > 0
    monkeypatch.undo()
    parts = TraverseParameters(algorithm="components")
    _, measured = traverse(PlainContext(), parts, input=packed("skewed_random", 2))
    assert any("components over ranks read columns" in note for note in measured.notes)


def test_damage_is_said() -> None:
    stored = packed("skewed_random", 2)
    broken = numpy.array(stored.byte_offsets)
    broken[5:] = broken[5:][::-1]
    from dataclasses import replace

    with pytest.raises(StageError, match="byte_offsets") as refused:
        search(PlainContext(), replace(stored, byte_offsets=broken))
    assert "compress it again" in str(refused.value.hint)


def test_a_rank_group_is_asked_for_here_too() -> None:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 32)
    partition = Extent(kind="Partition", vertices=100, arcs=1000, bytes=8000, normal_arcs=100, ranks=4)
    (extent,) = COMPRESS.estimate(CompressParameters(), {"input": (partition,)}, machine).outputs
    assert extent.ranks == 4
    assert STAGE.estimate(TraverseParameters(), {"input": (extent,)}, machine).workers == 4
    parts = TraverseParameters(algorithm="components")
    assert STAGE.estimate(parts, {"input": (extent,)}, machine).workers == 0
