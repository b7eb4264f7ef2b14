"""Drawn lists of edges are read as pandas reads them, or refused, or remarked on."""

import random

import pytest

from tests.drills.reading import compare, draw_file


@pytest.mark.parametrize("seed", range(4))
def test_no_drawn_file_is_wrong_in_silence(tmp_path, seed):
    equal = 0
    for number in range(60):
        drawn = draw_file(random.Random(f"test {seed} {number}"))
        outcome, why = compare(drawn, tmp_path)
        assert outcome != "wrong", f"{number}: {why}\n{drawn}"
        equal += outcome == "equal"
    assert equal > 30
