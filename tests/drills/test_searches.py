"""Searches by weight and pairs against an own Dijkstra; `python -m tests.drills.searches` makes 100,000."""

from __future__ import annotations

import sys

import pytest

from tests.drills import searches

dropped_by_python = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A Ctrl-C that falls into a finalizer ends that alone: Python writes it out, and the search goes on."""


@pytest.mark.parametrize(
    "words", [["--searches", "500"], ["--weights", "extreme", "--questions", "6", "--count", "60"]]
)
def test_none_is_wrong(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["searches", *words, "--largest", "1000"])
    assert searches.main() == 0


@dropped_by_python
def test_interrupts_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(searches.interrupted("cpu", 14, 10, 1)) == []


@pytest.mark.gpu
@pytest.mark.timeout(600)
@dropped_by_python
def test_none_is_wrong_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--backend", "cuda", "--searches", "1200", "--interrupts", "20", "--scale", "19"]
    monkeypatch.setattr(sys, "argv", ["searches", *words])
    assert searches.main() == 0
