"""How what was measured compares: with the other runs of a report, ties as ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.ranking import BEST, ONCE, TIED
from gravel.stages.sections.studies import Member, Study, studies

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

MAX_GRAPHS = 3
"""Graphs on which the answer names what is best; of more it counts."""

MAX_NAMED = 3
"""Tied runs that the answer names."""


def beside_runs(
    measured: Sequence[tuple[str, Measurement]],
    repeated: Mapping[str, Sequence[float]],
    sections: Sequence[Mapping[str, Any]],
) -> list[str]:
    """Say what is best on each graph, ties as ties."""
    if any("scaling with" in section["title"] for section in sections):
        return []  # the sentence itself compares
    groups = [
        (study, like) for study in studies(measured, repeated) for like in _alike(study) if len(like) > 1
    ]
    if len(groups) > MAX_GRAPHS:
        return _counted(groups)
    if len(groups) == 1:
        return [f"{standing_text(*groups[0])}."]
    return [
        # The place says what the labels are, so the names need not.
        f"{_place(study, like, groups)}: {standing_text(study, like).replace(f' ({_output(like)})', '')}."
        for study, like in groups
    ]


def _alike(study: Study) -> list[list[Member]]:
    """Group the members that find the same labels."""
    outputs = dict.fromkeys(str(member.one.asked.get("output")) for member in study.members)
    return [
        [member for member in study.members if str(member.one.asked.get("output")) == output]
        for output in outputs
    ]


def _output(like: Sequence[Member]) -> str:
    return str(like[0].one.asked.get("output"))


def _place(study: Study, like: Sequence[Member], groups: Sequence[tuple[Study, Any]]) -> str:
    output = _output(like)
    same = sum(each is study for each, _ in groups) > 1
    told = [study.graph] if len({id(each) for each, _ in groups}) > 1 else []
    return ", ".join([*told, *([output] if same else [])]) or study.graph


def standing_text(study: Study, like: Sequence[Member]) -> str:
    """Say which of some runs is fastest, or which are tied, or why they are not ranked."""
    ordered = sorted(like, key=lambda member: member.milliseconds)
    standing = {member.label: study.standing(member) for member in like}
    tied = [member for member in ordered if standing[member.label].word == TIED]
    best = [member for member in ordered if standing[member.label].word == BEST]
    slowest = ordered[-1]
    factor = slowest.milliseconds / ordered[0].milliseconds if ordered[0].milliseconds else 0.0
    span = f"; the slowest, {_plain(slowest.name)}, takes {factor:.3g} times as long"
    if best:
        first = f"fastest is {_plain(best[0].name)}, {best[0].milliseconds:.3g} ms"
        return first if slowest in best else first + span
    if tied:
        named = ", ".join(_plain(member.name) for member in tied[:MAX_NAMED])
        more = f" and {len(tied) - MAX_NAMED} more" if len(tied) > MAX_NAMED else ""
        return (
            f"{named}{more} are tied within their spread, from {tied[0].milliseconds:.3g} ms"
            f"{span if slowest not in tied else ''}"
        )
    if any(standing[member.label].word == ONCE for member in like):
        return "measured once and from one source each, so they are not ranked"
    return "all ran the same code, so they are not ranked"


def _plain(name: str) -> str:
    """Write a name of several values so that it can stand in a list."""
    return name.replace(", ", " ")


def _counted(groups: Sequence[tuple[Study, Sequence[Member]]]) -> list[str]:
    """Count on how many graphs each run is best, or tied for it."""
    leads: dict[str, list[int]] = {}
    for study, like in groups:
        for member in like:
            standing = study.standing(member)
            # Runs of the same code lead together, and count once.
            same = sorted([member.name, *standing.same_code])
            if standing.word in (BEST, TIED) and member.name == same[0]:
                name = f"{_plain(' and '.join(same[:2]))} (same code)" if same[1:] else _plain(member.name)
                leads.setdefault(name, [0, 0])[0 if standing.word == BEST else 1] += 1
    if not leads:
        return [f"On {len(groups)} graphs: not ranked, each measured once or by the same code."]
    ordered = sorted(leads.items(), key=lambda item: (-sum(item[1]), -item[1][0]))
    told = [
        f"{name} fastest on {best}" + (f", tied on {tied}" if tied else "")
        for name, (best, tied) in ordered[:MAX_NAMED]
    ]
    more = f"; {len(ordered) - MAX_NAMED} others on fewer" if len(ordered) > MAX_NAMED else ""
    graphs = len({id(study) for study, _ in groups}) == len(groups)
    return [f"Of {len(groups)} {'graphs' if graphs else 'groups that compare'}: {'; '.join(told)}{more}."]
