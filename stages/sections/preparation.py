"""What preparation costs, and after how many searches it has paid for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stages.sections.studies import Member, Study


def preparation_table(studies: Sequence[Study]) -> dict[str, Any] | None:
    """Set each run against the one of its graph that needs the least preparation.

    Returns None where no graph was searched in two ways.
    """
    rows: list[list[Any]] = []
    for study in studies:
        if len(study.members) < 2:
            continue
        plain = min(study.members, key=preparation_milliseconds)
        for member in study.members:
            against = "" if member is plain else plain.name
            paid = None if member is plain else paid_after(member, plain)
            rows.append(
                [
                    study.graph,
                    member.name,
                    member.one.prepare_milliseconds,
                    member.one.order_milliseconds,
                    search_milliseconds(member),
                    against,
                    "never" if paid == math.inf else paid,
                ]
            )
    if not rows:
        return None
    return {
        "kind": "table",
        "title": "When preparation has paid for itself",
        "about": (
            "Preparation is what a strategy does once for a graph already in memory: structures, orders of "
            "its own, workspace; the order of a `reorder` stage was timed again beside it where statistics "
            "were asked for, found and applied in memory. A search counts with mapping its labels back, both "
            "by medians. A run has paid for itself after so many searches that preparation, order and "
            "searches together take no longer than those of the run of the same graph that prepares the "
            "least. What else stages did before stands in the table of stage runs."
        ),
        "columns": [
            "graph",
            "run",
            "preparation ms",
            "order ms",
            "ms a search, mapped back",
            "against",
            "paid after searches",
        ],
        "rows": rows,
    }


def preparation_milliseconds(member: Member) -> float:
    """What a strategy and the order of its graph take once."""
    return member.one.prepare_milliseconds + (member.one.order_milliseconds or 0.0)


def search_milliseconds(member: Member) -> float:
    """The median time of a search together with mapping its labels back."""
    return float(
        median(search["milliseconds"] + search["map_back_milliseconds"] for search in member.one.searches)
    )


def paid_after(member: Member, plain: Member) -> float:
    """Count the searches after which `member` is no slower in all than `plain`; infinity for never."""
    more = preparation_milliseconds(member) - preparation_milliseconds(plain)
    saved = search_milliseconds(plain) - search_milliseconds(member)
    if more <= 0:
        return 0 if saved >= 0 else math.inf
    return math.ceil(more / saved) if saved > 0 else math.inf
