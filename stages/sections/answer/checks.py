"""Whether what was measured was verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gravel.stages.sections.studies import coordinates

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement, Verification

PASSED, FAILED, UNCHECKED = "passed", "FAILED", "not verified"


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
    checked = sum(_is_checked(label, verified) for label, _ in measured)
    if checked < len(measured):
        return UNCHECKED, f"{checked:,} of {len(measured):,} measurements were verified."
    checks = max(len(one.checks) for _, one in verified)
    searches = sum(max((check["searches"] for check in one.checks), default=0) for _, one in verified)
    skipped = sum(len(one.skipped) for _, one in verified)
    left_out = f"; {skipped:,} could not be made" if skipped else ""
    what = "search" if measured[0][1].algorithm == "bfs" else "result"
    several = "" if searches == 1 else "es" if what == "search" else "s"
    return PASSED, (
        f"Passed: {checks} check{'' if checks == 1 else 's'} on {searches:,} {what}{several}, "
        f"from the graph alone{left_out}."
    )


def _is_checked(label: str, verified: Sequence[tuple[str, Verification]]) -> bool:
    """Tell whether a verification agrees with a measurement on all axes that both have."""
    at = coordinates(label)
    return any(
        all(at.get(axis, value) == value for axis, value in coordinates(each).items()) for each, _ in verified
    )
