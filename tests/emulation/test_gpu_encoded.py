"""traverse with `backend: cuda` over a compressed partition: ranks search their rows as they are."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ranks import rank
from tests.emulation.test_gpu_placed import pinned_on_cpu
from tests.emulation.test_gpu_ranks import GPU, Workers
from tests.stages.ranks.test_partition import packed
from tests.stages.ranks.test_searches import search, split

__all__ = ["pinned_on_cpu"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pinned_on_cpu")]

NAME = "star_300"


@pytest.mark.parametrize(
    "codec", ["varint", *(pytest.param(name, marks=pytest.mark.slow) for name in ("blocks", "elias_fano"))]
)
def test_ranks_search_their_rows_as_they_are(codec: str) -> None:
    wanted, _ = search(PlainContext(), split(NAME, 2))
    for context in (PlainContext(GPU), Workers(2)):
        found, measured = search(
            context, packed(NAME, 2, codec), backend="cuda", tuning={"predecessors": "smallest"}
        )
        assert numpy.array_equal(found.distance, wanted.distance)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
        assert (measured.backend, measured.asked["layout"]) == ("cuda", codec)
        assert any("by each rank its own" in note for note in measured.notes)
    assert context.calls == 3
    assert not rank.RESIDENT


def test_columns_in_host_memory_are_decoded() -> None:
    wanted, _ = search(PlainContext(), split(NAME, 2))
    found, measured = search(PlainContext(GPU), packed(NAME, 2), backend="cuda", placement="pinned")
    assert numpy.array_equal(found.distance, wanted.distance)
    assert measured.asked["placement"] == "pinned"
    assert any("decoded before the search" in note for note in measured.notes)


def test_a_gpu_that_is_too_small_is_said() -> None:
    limits: dict[str, Any] = {"backend": "cuda", "device_memory": 1000}
    with pytest.raises(StageError, match=r"the encoded ranks of a GPU take about .* has 1,000"):
        search(PlainContext(GPU), packed(NAME, 2), **limits)
