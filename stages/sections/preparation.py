"""Costs of preparation, and after how many searches it has paid for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from gravel.stages.sections.section import Made, Section, table
from gravel.stages.sections.studies import Member, Study


def preparation_sections(studies: Sequence[Study]) -> list[Made]:
    """Set each run against those of its graph and backend that prepare less; none where there are none."""
    rows: list[list[Any]] = []
    for study in studies:
        if len(study.members) < 2:
            continue
        for member in study.members:
            against, paid = _paid(member, study.like(member))
            facts = (study.graph, member.name, member.one.prepare_milliseconds, member.one.order_milliseconds)
            figures = (member.one.order_find_milliseconds, search_milliseconds(member), against)
            rows.append([*facts, *figures, "never" if paid == math.inf else paid])
    if not rows:
        return []
    return [
        table(
            "When preparation has paid for itself",
            "Preparation is what a strategy does once for a graph in memory: structures, its own orders, "
            "workspace"
            + (
                ". The order of a `reorder` stage was found and applied in memory, and timed separately"
                if any(row[3] is not None for row in rows)
                else ""
            )
            + (
                ". The time of a search includes mapping labels back; both are medians"
                if any(
                    search["map_back_milliseconds"]
                    for study in studies
                    for each in study.members
                    for search in each.one.searches
                )
                else ". Times of searches are medians"
            )
            + ". After the given number of searches, preparation, order and searches together take no longer "
            "than those of any run that prepares less. `against` names the last of these to be overtaken. "
            "Only runs with the same graph, output and backend compare. Times of earlier stages are in the "
            "table of stage runs.",
            "graph | run | preparation ms | order ms | of that to find it | ms a search, mapped back | "
            "against | paid after searches",
            rows,
        )
    ]


def _paid(member: Member, others: Sequence[Member]) -> tuple[str, float | None]:
    """Name the run that is overtaken last and after how many searches; nothing where none prepares less."""
    cheaper = [
        other
        for other in others
        if other.one.backend == member.one.backend
        and preparation_milliseconds(other) < preparation_milliseconds(member)
    ]
    if not cheaper:
        return "", None
    # Of those that are never overtaken, the fastest says most.
    last = max(cheaper, key=lambda other: (paid_after(member, other), -search_milliseconds(other)))
    return last.name, paid_after(member, last)


def preparation_milliseconds(member: Member) -> float:
    """Return what a strategy and the order of its graph take once."""
    return member.one.prepare_milliseconds + (member.one.order_milliseconds or 0.0)


def search_milliseconds(member: Member) -> float:
    """Return the median time of a search together with mapping its labels back."""
    return float(
        median(search["milliseconds"] + search["map_back_milliseconds"] for search in member.one.searches)
    )


def paid_after(member: Member, cheaper: Member) -> float:
    """Count the searches after which `member` is no slower in all than `cheaper`; infinity for never."""
    more = preparation_milliseconds(member) - preparation_milliseconds(cheaper)
    saved = search_milliseconds(cheaper) - search_milliseconds(member)
    return math.ceil(more / saved) if saved > 0 else math.inf


SECTIONS = (Section(rank=113, make=preparation_sections, needs=("studies",)),)
