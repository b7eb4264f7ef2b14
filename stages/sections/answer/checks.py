"""Whether what was measured was verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gravel.stages.sections.studies import coordinates
from gravel.stages.sections.verification import checked_on

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Verification

PASSED, FAILED, UNCHECKED = "passed", "FAILED", "not verified"


SEARCHES = ("bfs", "sssp")
"""Algorithms whose results are those of searches; others label vertices."""


def subject_of(measured: Sequence[tuple[str, Measurement]]) -> str:
    """Name what a verification checks: neither how a file was read nor what was timed is meant."""
    return "searches" if all(one.algorithm in SEARCHES for _, one in measured) else "labels"


def verdict_of(
    measured: Sequence[tuple[str, Measurement]], verified: Sequence[tuple[str, Verification]]
) -> tuple[str, str]:
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
        f"Passed: {checks} check{'' if checks == 1 else 's'} on {searches:,} {what}{several}, "
        f"from the graph alone{checked_on([one for _, one in verified])}{left_out}."
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
