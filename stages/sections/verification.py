"""Which checks each traversal passed, and which could not be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stages.artifacts import Verification


def verification_sections(members: Sequence[tuple[str, Verification]]) -> list[dict[str, Any]]:
    """Make one table with a row per check of each verification."""
    rows: list[list[Any]] = []
    for label, one in members:
        for check in one.checks:
            verdict = "passed" if check["passed"] else "FAILED"
            rows.append([label, check["check"], verdict, check["searches"], check.get("detail", "")])
        for skipped in one.skipped:
            name = skipped if isinstance(skipped, str) else skipped.get("check", "")
            why = "" if isinstance(skipped, str) else skipped.get("reason", "")
            rows.append([label, name, "not made", None, why])
    return [
        {
            "kind": "table",
            "title": "Verification",
            "about": "Checked from the graph alone, by code that the traversal does not use.",
            "columns": ["run", "check", "result", "searches", "detail"],
            "rows": rows,
        }
    ]
