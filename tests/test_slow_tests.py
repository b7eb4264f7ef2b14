"""docs/development.md lists the slow tests; `python -m tests.slow_tests` writes the list."""

from __future__ import annotations

import pytest

from tests.conftest import COLLECTED
from tests.slow_tests import ROOT, listed, slow_among


def test_every_slow_test_is_listed_and_every_listed_one_is_slow(request: pytest.FixtureRequest) -> None:
    items = request.config.stash[COLLECTED]
    files = {item.nodeid.partition("::")[0] for item in items}
    told = "run `python -m tests.slow_tests`"
    assert slow_among(items) - listed() == set(), told
    for file, name in listed():
        assert (ROOT / file).is_file(), told
        if file in files and len(files) > 1:
            # Where the files of graphs are missing there is one case, which is skipped.
            cases = [each for each in items if each.nodeid.startswith(f"{file}::{name}")]
            no_data = all(each.name.endswith("[NOTSET]") for each in cases) and cases
            assert no_data or slow_among(cases), f"{file}::{name} is not slow; {told}"
