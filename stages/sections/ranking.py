"""Ranks of measurements that compare: rows of the same code are one, and a tie is no victory.

Two measurements differ by more than their spread if all repetitions of one are faster than all of the other;
or, where they were not repeated, if most searches from the same sources were: the quartiles of the ratios of
times lie on one side of 1. What was measured once, from one source, has no spread, and is not ranked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.rates import quartile

BEST, TIED, ONCE = "best", "tied for best", "measured once"

RULE = (
    "Rows that ran the same function with the same constants are not ranked. Differences within the spread "
    "of repetitions are ties. Without repetitions, the spread is that of searches from the same sources."
)


@dataclass(frozen=True)
class Entrant:
    """A measurement under its name; `times` are the median times of its repetitions, if there are several."""

    name: str
    one: Measurement
    times: tuple[float, ...] = ()

    @property
    def milliseconds(self) -> float:
        """The median time of a search."""
        return float(median(search["milliseconds"] for search in self.one.searches))


@dataclass(frozen=True)
class Standing:
    """The standing of one measurement: whether it is best, and which others are the same code or tied."""

    word: str
    same_code: tuple[str, ...] = ()
    tied_with: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The cell of a table."""
        same = f"same code as {', '.join(self.same_code)}" if self.same_code else ""
        return "; ".join(part for part in (self.word, same) if part)


def standings(entrants: Sequence[Entrant]) -> list[Standing]:
    """Rank measurements that compare, in their order."""
    groups: dict[str, list[Entrant]] = {}
    for each in entrants:
        groups.setdefault(code_of(each.one) or f"run {id(each.one)}", []).append(each)
    several = [_joined(group) for group in groups.values()]
    best = min(several, key=lambda each: each.milliseconds)
    unlike = [each for each in several if each is not best]
    differs = {id(each): differ(best, each) for each in unlike}
    tied = [each for each in unlike if differs[id(each)] is False]
    known = [each for each in unlike if differs[id(each)] is not None]
    words = dict.fromkeys(map(id, several), "")
    if unlike and not known:
        words = dict.fromkeys(map(id, several), ONCE)
    elif unlike:
        words[id(best)] = TIED if tied else BEST
        words |= {id(each): TIED for each in tied}
    leaders = [each.name for each in (best, *tied)] if tied else []
    found = {}
    for joined, group in zip(several, groups.values(), strict=True):
        for each in group:
            same = tuple(other.name for other in group if other is not each)
            others = tuple(name for name in leaders if name != joined.name) if joined.name in leaders else ()
            found[id(each)] = Standing(words[id(joined)], same, others)
    return [found[id(each)] for each in entrants]


def code_of(one: Measurement) -> str:
    """Give what measurements of one graph share if they ran the same code; empty where nothing says so."""
    if not one.ran:
        return ""
    asked = one.asked
    where = {name: asked.get(name) for name in ("placement", "output", "layout", "workers", "direction")}
    prepared = {name: _asked_for(one.graph.get(name)) for name in ("order", "rows", "partition")}
    return json.dumps([one.ran, one.hardware, where, prepared], sort_keys=True, default=str)


def _asked_for(prepared: Mapping[str, Any] | None) -> Any:
    """Leave of an order, of rows or of a partition what was asked for, not what it was measured to be."""
    return (
        None if prepared is None else [prepared.get(name) for name in ("method", "codec", "ranks", "scheme")]
    )


def _joined(group: Sequence[Entrant]) -> Entrant:
    """Let rows of the same code stand as repetitions of one measurement, the one with the median time."""
    if len(group) == 1:
        return group[0]
    ordered = sorted(group, key=lambda each: each.milliseconds)
    middle = ordered[(len(ordered) - 1) // 2]
    times = [time for each in group for time in (each.times or (each.milliseconds,))]
    return Entrant(middle.name, middle.one, tuple(times))


def differ(first: Entrant, second: Entrant) -> bool | None:
    """Say whether two measurements differ by more than their spread; None if no spread is known."""
    mine, its = (each.times or (each.milliseconds,) for each in (first, second))
    if len(mine) > 1 and len(its) > 1:
        return max(mine) < min(its) or max(its) < min(mine)
    ratios = sorted(_ratios(first.one, second.one))
    if len(ratios) < 2:
        return None
    low, high = quartile(ratios, 1), quartile(ratios, 3)
    return not low <= 1 <= high


def _ratios(first: Measurement, second: Measurement) -> list[float]:
    """Divide the times of searches from the same sources, each source as often as both have it."""
    by_source: dict[Any, list[float]] = {}
    for search in first.searches:
        by_source.setdefault(search["source"], []).append(search["milliseconds"])
    ratios = []
    for search in second.searches:
        waiting = by_source.get(search["source"])
        if waiting and (mine := waiting.pop(0)) > 0:
            ratios.append(search["milliseconds"] / mine)
    return ratios
