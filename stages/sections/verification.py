"""Verifications: the checks that each traversal passed, and those that did not apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gravel.stages.artifacts import Verification
from gravel.stages.sections.section import Made, Section, table

ABOUT = "Checked from the graph alone, with code that is independent of the traversal."

DEVICES = {"cpu": "on the CPU", "cuda": "on the GPU", "ranks": "by the ranks that have the graph"}

ONE_BY_ONE = 4
"""Verifications up to which each check has a row that says what it is; of more, each has a column."""

PASSED, FAILED, NOT_MADE = "passed", "FAILED", "not made"

DID_NOT_PASS, DID_NOT_APPLY = "Checks that did not pass", "Checks that did not apply"

Row = tuple[str, str, str, int | None, str]


def verification_sections(members: Sequence[tuple[str, Verification]]) -> list[Made]:
    """Make a table of all checks; of many verifications a short one, and a row for each that did not pass.

    Where all of many passed there is a row for each check, not for each verification.
    """
    rows = [row for label, one in members for row in _rows(label, one)]
    if len(members) <= ONE_BY_ONE:
        return [_listed("Verification", _about(members), rows)]
    if all(verdict == PASSED for _, _, verdict, *_ in rows):
        return [_all_passed(rows, _about(members))]
    checks = list(dict.fromkeys(check for _, check, *_ in rows))
    verdicts = {(label, check): verdict for label, check, verdict, *_ in rows}
    tables = [
        table(
            "Verification",
            _about(members),
            ["run", *(check.replace("_", " ") for check in checks)],
            [[label, *(verdicts.get((label, check)) for check in checks)] for label, _ in members],
        )
    ]
    failed = [row for row in rows if row[2] == FAILED]
    if failed:
        tables.append(_listed(DID_NOT_PASS, "", failed))
    if skipped := _not_made(rows):
        tables.append(
            _listed(DID_NOT_APPLY, "A check does not apply if the run does not find what it checks.", skipped)
        )
    return tables


def checked_on(verified: Sequence[Verification]) -> str:
    """Say where checks were made, after a comma; empty where none of them tells."""
    places = {check.get("on") for one in verified for check in one.checks}
    devices = [text for place, text in DEVICES.items() if place in places]
    return f", {' or '.join(devices)}" if devices else ""


def _about(members: Sequence[tuple[str, Verification]]) -> str:
    where = checked_on([one for _, one in members])
    return f"{ABOUT.removesuffix('.')}{where}."


def _all_passed(rows: Sequence[Row], about: str) -> dict[str, Any]:
    counts: dict[str, list[Row]] = {}
    for row in rows:
        counts.setdefault(row[1], []).append(row)
    return table(
        "Verification",
        about,
        "check | result | runs | searches | detail",
        [
            [check, PASSED, len(alike), sum(row[3] or 0 for row in alike), alike[0][4]]
            for check, alike in counts.items()
        ],
    )


def _not_made(rows: Sequence[Row]) -> list[Row]:
    """Put the runs in which a check was not made for one reason into one row."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row[2] == NOT_MADE:
            alike.setdefault((row[1], row[4]), []).append(row)
    return [
        each[0] if len(each) == 1 else (f"{len(each)} runs", *each[0][1:3], None, each[0][4])
        for each in alike.values()
    ]


def _rows(label: str, one: Verification) -> list[Row]:
    rows: list[Row] = []
    for check in one.checks:
        verdict = PASSED if check["passed"] else FAILED
        rows.append((label, check["check"], verdict, check["searches"], check.get("detail", "")))
    for skipped in one.skipped:
        name = skipped if isinstance(skipped, str) else skipped.get("check", "")
        why = "" if isinstance(skipped, str) else skipped.get("reason", "")
        rows.append((label, name, NOT_MADE, None, why))
    return rows


def _listed(title: str, about: str, rows: Sequence[Row]) -> Made:
    return table(title, about, "run | check | result | searches | detail", [list(row) for row in rows])


SECTIONS = (Section(rank=170, make=verification_sections, kinds=("Verification",)),)
