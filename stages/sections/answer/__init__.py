"""The answer that a report begins with: one sentence with its figure, checked or not, where, against what.

It is derived from the artifacts alone, so that it cannot say more than was measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.artifacts import Verification
from gravel.stages.sections.answer.found import SEARCHES, found, leading, reached
from gravel.stages.sections.answer.sentences import MAX_NAMED, asked, beside_runs, sentence, timing
from gravel.stages.sections.graph500 import graph500_facts
from gravel.stages.sections.page import Findings
from gravel.stages.sections.ranks import in_turns
from gravel.stages.sections.rates import count
from gravel.stages.sections.section import Made, Runs
from gravel.stages.sections.studies import coordinates
from gravel.stages.sections.verification import checked_on

NO_CPU_CODE = re.compile(r"needs a GPU: strategy (\w+) has no CPU code")
"""A reason that a report has once for all strategies."""

MAX_REASONS = 3
"""Reasons why something was not run that the answer gives."""


def answer_section(findings: Findings, sections: Sequence[Mapping[str, Any]]) -> Made:
    """Make the section of the answer from what a report was given and the other sections.

    Its `title` is a text, or pieces of it where it names vertices of files.

    `verdict` is "passed", "FAILED", "not verified", or empty where nothing was measured.
    """
    measured, not_run = findings.measured, findings.not_run
    verdict, checks = verdict_of(measured, findings.of("Verification"))
    central = findings.of("Centrality")
    facts: list[list[Any]] = []
    title = found(findings) if findings.from_files else []
    if measured:
        facts.append(["asked", asked(measured, findings.repeated)])
        facts.append(["checked", checks])
        if title:
            facts.append(["time", timing(measured)])
        elif len(measured) == 1:
            facts += reached(measured[0][1])
    elif central:
        facts += leading(central)
    reasons = dict.fromkeys(one.why for _, one in findings.of("Counters") if one.why)
    if reasons:
        facts.append(["not read", f"{'; '.join(reasons)}."])
    facts += graph500_facts(measured)
    machines = sorted({one.hardware for _, one in findings.members if hasattr(one, "hardware")})
    if machines:
        facts.append(["machine", "; ".join(machines)])
    sentences = [*beside_runs(measured, findings.repeated, sections), *_compared(sections)]
    if sentences:
        facts.append(["compared", " ".join(sentences)])
    elif len(measured) == 1 and not title:
        facts.append(["compared", "Nothing: there is one measurement."])
    if any(in_turns(one) for _, one in measured):
        facts.append(["note", "Ranks took turns on shared hardware, so a speedup cannot be seen."])
    if not_run:
        facts.append(["not run", _not_run(not_run)])
    end = _ending(verdict, subject_of(measured))
    return {
        "kind": "answer",
        "title": [*title, end] if title else sentence(findings, sections) + end,
        "about": "",
        "verdict": verdict if measured else "",
        "facts": facts,
    }


def _compared(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what sections have to say of how what was measured compares, the first of many."""
    sentences = [sentence for each in sections for sentence in each["place"].get("compared", ())]
    more = len(sentences) - MAX_NAMED
    return [*sentences[:MAX_NAMED], *([f"And {more} more."] if more > 0 else [])]


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
    texts = [
        f"{count(number, 'stage run')}: {reason}" for reason, number in list(several.items())[:MAX_REASONS]
    ]
    more = len(several) - MAX_REASONS
    return "; ".join([*texts, *([f"and {count(more, 'other reason')}"] if more > 0 else [])]) + "."


PASSED, FAILED, UNCHECKED = "passed", "FAILED", "not verified"


def subject_of(measured: Runs) -> str:
    """Name what a verification checks: neither how a file was read nor what was timed is meant."""
    return "searches" if all(one.algorithm in SEARCHES for _, one in measured) else "labels"


def verdict_of(measured: Runs, verified: Sequence[tuple[str, Verification]]) -> tuple[str, str]:
    """Return the verdict on all measurements together, empty if there are none, and what it rests on."""
    if not measured:
        return "", ""
    failed = [(label, check) for label, one in verified for check in one.checks if not check["passed"]]
    if failed:
        label, check = failed[0]
        more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        return FAILED, f"{label}: {check['check']} failed: {check.get('detail', '')}{more}."
    if not verified:
        return UNCHECKED, "No verification is among this report's inputs."
    checked = _count_checked([label for label, _ in measured], [label for label, _ in verified])
    if checked < len(measured):
        return UNCHECKED, f"{checked:,} of {len(measured):,} measurements were verified."
    checks = max(len(one.checks) for _, one in verified)
    searches = sum(max((check["searches"] for check in one.checks), default=0) for _, one in verified)
    skipped = sum(len(one.skipped) for _, one in verified)
    left_out = f"; {skipped:,} did not apply" if skipped else ""
    what = "search" if measured[0][1].algorithm in SEARCHES else "result"
    several = "" if searches == 1 else "es" if what == "search" else "s"
    return PASSED, (
        f"Passed: {checks} check{'' if checks == 1 else 's'} on {searches:,} {what}{several}, from the graph "
        f"alone{checked_on([one for _, one in verified])}{left_out}."
    )


def _count_checked(measured: Sequence[str], verified: Sequence[str]) -> int:
    """Count the measurements with which a verification agrees on all axes that both have."""
    checks = _by_axes(verified)
    count = 0
    for axes, several in _by_axes(measured).items():
        common = [(axes & others, there) for others, there in checks.items()]
        known = [(shared, {_values(at, shared) for at in there}) for shared, there in common]
        count += sum(any(_values(at, shared) in there for shared, there in known) for at in several)
    return count


def _by_axes(labels: Sequence[str]) -> dict[frozenset[str], list[dict[str, str]]]:
    """Group the coordinates of labels by their axes, of which a report has few different sets."""
    found: dict[frozenset[str], list[dict[str, str]]] = {}
    for at in map(coordinates, labels):
        found.setdefault(frozenset(at), []).append(at)
    return found


def _values(at: Mapping[str, str], axes: frozenset[str]) -> frozenset[tuple[str, str]]:
    return frozenset((axis, at[axis]) for axis in axes)
