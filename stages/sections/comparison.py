"""All ways of searching a graph side by side: who is best, by how much, and what each reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.counted import counting_rule, mean_bytes
from gravel.stages.sections.ranking import RULE
from gravel.stages.sections.studies import Member, Study

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

Value = str | float | None


def compared(study: Study, member: Member) -> dict[str, Value]:
    """Set one way of searching a graph beside the others that find the same labels."""
    one = member.one
    counted = mean_bytes(one)
    mean = sum(search["milliseconds"] for search in one.searches) / len(one.searches)
    return {
        "standing": study.standing(member).text,
        "times the least": member.milliseconds / study.best(member).milliseconds,
        "redundant expansion": _redundancy(one),
        "counted MB a search": None if counted is None else counted / 1e6,
        "GB/s of counted bytes": None if counted is None or not mean else counted / mean / 1e6,
        "over sequential": speedup(study, member),
    }


def comparison_rules(studies: Sequence[Study]) -> str:
    """Say how to read the columns of `compared`, as far as they hold anything."""
    members = [member for study in studies for member in study.members]
    told = [f"The best is among searches for the same labels. {RULE}"]
    if any(speedup(study, member) is not None for study in studies for member in study.members):
        told.append("Over sequential: the sequential search's median time over this one's.")
    if any(_redundancy(member.one) is not None for member in members):
        told.append(
            "Redundant expansion is arcs gathered over arcs of the reached vertices, over all searches"
            + (": below 1 where a bottom-up search left arcs unread" if _is_below(members) else "")
            + "."
        )
    return " ".join([*told, counting_rule([member.one for member in members])]).strip()


def comparison_table(studies: Sequence[Study]) -> dict[str, Any]:
    """Make the table of every strategy on every graph."""
    rows: list[list[Any]] = []
    columns = ["graph", "strategy", "standing", "median ms"]
    for study in studies:
        for member in study.members:
            beside = compared(study, member)
            standing = beside.pop("standing")
            columns = [*columns[:4], *beside]
            rows.append([study.graph, member.name, standing, member.milliseconds, *beside.values()])
    return {
        "kind": "table",
        "title": "Every strategy on every graph",
        "about": f"Times are medians over the sources. {comparison_rules(studies)}",
        "columns": columns,
        "rows": rows,
    }


def _is_below(members: Sequence[Member]) -> bool:
    return any((_redundancy(member.one) or 1) < 1 for member in members)


def _redundancy(one: Measurement) -> float | None:
    pairs = [
        (search["expanded"], search["expanded"] / search["redundant_expansion"])
        for search in one.searches
        if search.get("redundant_expansion")
    ]
    return sum(gathered for gathered, _ in pairs) / sum(logical for _, logical in pairs) if pairs else None


def speedup(study: Study, member: Member) -> float | None:
    """Return the sequential search's time over that of another; None for itself, and where there is none."""
    baseline = study.baseline(member)
    if baseline is None or member is baseline:
        return None
    return baseline.milliseconds / member.milliseconds
