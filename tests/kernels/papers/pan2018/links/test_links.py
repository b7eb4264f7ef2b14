"""Messages over the wire arrive, are counted and timed; links that were measured make a machine."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.kernels.papers.pan2018.links import PATTERNS, carried_bytes, measure, sizes_between
from gravel.kernels.papers.pan2018.links.wire import WireLink
from gravel.stages.rank_group import run_in_threads


def measured(group: Any, sizes: tuple[int, ...]) -> Any:
    return measure(group, WireLink(group, total=4096), sizes, repeats=2, total=4096)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_rank_finds_the_same_curves(ranks: int) -> None:
    first, *others = run_in_threads(measured, [(8, 1024, 8192)] * ranks)
    assert all(other == first for other in others)
    by_pattern = {name: [point for point in first if point.pattern == name] for name in PATTERNS}
    assert [point.bytes for point in by_pattern["meet"]] == [0]
    for name in ("pair", "exchange", "reduce"):
        assert [point.bytes for point in by_pattern[name]] == [8, 1024, 8192]
    assert [point.bytes for point in by_pattern["cut"]] == [1024]  # larger than all, or too many, is left out
    assert by_pattern["cut"][0].carried == (ranks - 1) * 4096
    assert by_pattern["exchange"][1].carried == by_pattern["reduce"][1].carried == (ranks - 1) * 1024
    for point in first:
        assert 0 < point.fastest <= point.seconds
        assert point.turns >= 1


class SlowLink:
    """Takes the seconds of a turn that it is told; on rank 1 half as long again."""

    name, patterns = "slow", ("meet", "pair", "exchange")

    def __init__(self, group: Any, seconds: float) -> None:
        self._seconds = seconds * (1.5 if group.rank == 1 else 1)
        self.turns: list[int] = []

    def run(self, pattern: str, size: int, turns: int) -> float:
        self.turns.append(turns)
        return self._seconds * turns

    def arrived(self, pattern: str, size: int) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("seconds", "turns", "repeats"),
    [
        (1e-3, 1, [5, 5, 5]),
        (1e-4, 13, [5, 5, 5]),
        (0.1, 1, [3, 1, 3]),  # of 1 s: 0.15 are gone after the first turn, 0.45 after two more
        (0.2, 1, [1, 1, 1]),
        (0.4, 1, [1, 1, 1]),
        (7.0, 1, [1, 1, 1]),
    ],
)
def test_long_turns_are_repeated_less_often(seconds: float, turns: int, repeats: list[int]) -> None:
    links = {}

    def take(group: Any, _: Any) -> Any:
        links[group.rank] = link = SlowLink(group, seconds)
        return measure(group, link, (64,), repeats=5, total=64, point_seconds=1.0)

    first, second = run_in_threads(take, [None] * 2)
    assert first == second
    assert links[0].turns == links[1].turns
    assert [point.repeats for point in first] == repeats
    assert all(point.seconds == pytest.approx(1.5 * seconds) for point in first)
    if repeats[0] == 5:
        assert {point.turns for point in first} == {turns}
    # A point takes the second that it may, or one turn.
    assert 1.5 * seconds * sum(links[0].turns) <= 3 * max(1.0, 1.5 * seconds) + 1e-9


@pytest.mark.parametrize("pattern", ["pair", "exchange", "cut", "reduce"])
def test_what_does_not_arrive_is_noticed(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = WireLink.run

    def spoilt(self: Any, name: str, size: int, turns: int) -> float:
        taken = run(self, name, size, turns)
        if name == pattern and self._group.rank == 1:
            got = self._got if name == "reduce" else self._got[0]
            # What was sent must stay as it is.
            words = got.copy()
            words[-1] ^= 1
            self._got = words if name == "reduce" else {**self._got, 0: words}
        return taken

    monkeypatch.setattr(WireLink, "run", spoilt)
    with pytest.raises(RuntimeError, match=f"wire {pattern} of 1024 bytes did not bring what was sent"):
        run_in_threads(measured, [(1024,)] * 2)


def test_sizes_are_whole_words() -> None:
    assert sizes_between(1, 100, 4) == (8, 32, 104)
    assert sizes_between(64, 64, 2) == (64,)
    assert [carried_bytes(name, 64, 3, 100) for name in PATTERNS] == [0, 64, 128, 256, 128]
