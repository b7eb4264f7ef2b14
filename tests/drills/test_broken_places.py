"""The places that `tests/drills/test_broken_kernels.py` breaks stand in the code, each once."""

from __future__ import annotations

import pytest

from gravel.kernels.cuda.source import ROOT
from tests.drills.test_broken_kernels import PLACES, Place


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_place_that_is_broken_is_there(place: Place) -> None:
    text = (ROOT / place.file).read_text(encoding="utf-8")
    assert place.broken(text) != text
    for name in place.tests:
        assert not name.startswith("tests/") or (ROOT.parent / name).is_file() or (ROOT / name).is_file(), (
            name
        )
