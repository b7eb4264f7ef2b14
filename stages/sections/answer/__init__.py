"""The answer that a report begins with: one sentence with its figure, checked or not, where, against what.

It is derived from the artifacts alone, so that it cannot say more than was measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.sections.answer.beside import beside_papers, beside_runs
from gravel.stages.sections.answer.checks import UNCHECKED, subject_of, verdict_of
from gravel.stages.sections.answer.found import leading, reached
from gravel.stages.sections.answer.sentences import asked, count, sentence
from gravel.stages.sections.graph500 import graph500_facts
from gravel.stages.sections.ranks.times import in_turns
from gravel.stages.sections.repetitions import repeated_times, typical

TIMED = ("Measurement", "Probe", "Links", "Counters")
"""Kinds of artifact that name the machine they were measured on."""

MAX_MEASURES = 6
"""Centralities of which the answer names the first vertices."""

NO_CPU_CODE = re.compile(r"needs a GPU: strategy (\w+) has no CPU code")
"""A reason that a report has once for all strategies."""

MAX_REASONS = 3
"""Reasons why something was not run that the answer gives."""


def answer_section(
    members: Sequence[tuple[str, Any]],
    not_run: Mapping[str, str],
    sections: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Make the section of the answer from a report's inputs and the other sections.

    `verdict` is "passed", "FAILED", "not verified", or empty where nothing was measured.
    """
    by_kind: dict[str, list[tuple[str, Any]]] = {}
    for label, one in members:
        by_kind.setdefault(type(one).__name__, []).append((label, one))
    every = by_kind.get("Measurement", [])
    measured = typical(every)
    verdict, checks = verdict_of(measured, by_kind.get("Verification", []))
    facts: list[list[Any]] = []
    if measured:
        facts.append(["asked", asked(measured, repeated_times(every))])
        facts.append(["checked", checks])
        facts += reached(measured[0][1]) if len(measured) == 1 else []
    elif "Centrality" in by_kind:
        facts += leading([one for _, one in by_kind["Centrality"]][:MAX_MEASURES])
    reasons = dict.fromkeys(one.why for _, one in by_kind.get("Counters", []) if one.why)
    if reasons:
        facts.append(["not read", f"{'; '.join(reasons)}."])
    facts += graph500_facts(measured)
    machines = sorted({one.hardware for kind in TIMED for _, one in by_kind.get(kind, [])})
    if machines:
        facts.append(["machine", "; ".join(machines)])
    told = [*beside_runs(measured, repeated_times(every), sections), *beside_papers(sections)]
    if told:
        facts.append(["compared", " ".join(told)])
    elif len(measured) == 1:
        facts.append(["compared", "Nothing: one way of searching was measured."])
    if any(in_turns(one) for _, one in measured):
        facts.append(["note", "Ranks took turns on shared hardware, so a speedup cannot be seen."])
    if not_run:
        facts.append(["not run", _not_run(not_run)])
    return {
        "kind": "answer",
        "title": sentence(by_kind, measured, sections) + _ending(verdict, subject_of(measured)),
        "about": "",
        "verdict": verdict if measured else "",
        "facts": facts,
    }


def _ending(verdict: str, subject: str) -> str:
    return {
        "": ".",
        UNCHECKED: f", {subject} not verified.",
        "passed": f", {subject} verified.",
        "FAILED": f"; verification of the {subject} FAILED.",
    }[verdict]


def _not_run(reasons: Mapping[str, str]) -> str:
    several: dict[str, int] = {}
    without_code: dict[str, int] = {}
    for reason in reasons.values():
        found = NO_CPU_CODE.fullmatch(reason)
        group, name = (without_code, found[1]) if found else (several, reason)
        group[name] = group.get(name, 0) + 1
    if without_code:
        names = list(without_code)
        rest = f" and {len(names) - MAX_REASONS} more" if len(names) > MAX_REASONS else ""
        word = "strategies" if len(names) > 1 else "strategy"
        reason = f"needs a GPU: no CPU code of {word} {', '.join(names[:MAX_REASONS])}{rest}"
        several[reason] = sum(without_code.values())
    told = [
        f"{count(number, 'stage run')}: {reason}" for reason, number in list(several.items())[:MAX_REASONS]
    ]
    more = len(several) - MAX_REASONS
    return "; ".join([*told, *([f"and {count(more, 'other reason')}"] if more > 0 else [])]) + "."
