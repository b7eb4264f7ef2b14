"""Sentences of a run about what it waits for, and what a cache that cannot be written lacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.scheduler.execution import _not_served
from gravel.pipeline.scheduler.run_events import _other_run
from gravel.pipeline.store.failures import ReadOnly


@pytest.mark.parametrize(
    ("purpose", "message"),
    [
        ("run 20260101-abc", "another run is computing it (20260101-abc, process 7 on there)"),
        ("unknown", "another user's run is computing it"),
        ("", "another user's run is computing it"),
    ],
)
def test_another_run_is_named_where_it_is_known(purpose: str, message: str) -> None:
    assert _other_run({"purpose": purpose, "pid": 7, "host": "there"}) == message


@pytest.mark.parametrize(("count", "named"), [(1, "s0"), (3, "s0, s1, s2"), (4, "s0, s1, s2, ...")])
def test_what_a_cache_that_cannot_be_written_lacks_is_named(count: int, named: str) -> None:
    missing: list[Any] = [SimpleNamespace(key=f"s{number}") for number in range(count)]
    refused = _not_served(ReadOnly("the cache x cannot be written", hint="see to it"), missing)
    problem = refused.problems[0]
    assert problem.message == f"the cache x cannot be written, and {named} would have to be computed"
    assert problem.hint == "see to it"
