"""What every search is asked: refused before anything is made ready, and how labels come of it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import DEEPEST, Query


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"output": "all"}, "output is 'all'; it can be 'distance', 'predecessor' or 'both'"),
        ({"max_depth": -1}, "max_depth is -1; it must be 0 or more"),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Query(**wrong)


def test_kernels_take_a_depth_in_any_case() -> None:
    assert Query().depth == DEEPEST == numpy.iinfo(numpy.int32).max
    assert Query(max_depth=0).depth == 0


@pytest.mark.parametrize(
    ("output", "lengths"), [("distance", (3, 0)), ("predecessor", (0, 3)), ("both", (3, 3))]
)
def test_labels_are_made_and_given_where_they_are_asked_for(output: str, lengths: tuple[int, int]) -> None:
    query = Query(output=output)
    made = query.allocate(3, numpy)
    assert tuple(map(len, made)) == lengths
    assert [array.dtype for array in made] == [numpy.int32, numpy.int32]
    assert [array is not None for array in query.wanted(*made)] == [length > 0 for length in lengths]
