"""What measurements say in words: the machine, why a strategy was taken, and their notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

MAX_NAMED = 4
"""Runs that one sentence names; of more it gives the number."""


def told(members: Sequence[tuple[str, Measurement]]) -> list[str]:
    """Say where it was measured, why each strategy was taken and what runs noted, alike runs together."""
    found = [f"Measured on {hardware}." for hardware in sorted({one.hardware for _, one in members})]
    sentences: dict[str, list[str]] = {}
    for label, one in members:
        sentences.setdefault(f"{one.strategy}, because {one.reason}", []).append(label)
        for note in one.notes:
            sentences.setdefault(note.removesuffix("."), []).append(label)
    for sentence, labels in sentences.items():
        named = ", ".join(labels) if len(labels) <= MAX_NAMED else f"{len(labels)} runs"
        if len(members) <= MAX_NAMED or not sentence.endswith("because asked for"):
            found.append(f"{named}: {sentence}.")
    return found


def not_run_table(reasons: Mapping[str, str]) -> dict[str, Any]:
    """List the stage runs that this machine could not run; no other section has them."""
    return {
        "kind": "table",
        "title": "Not run on this machine",
        "about": (
            "These stage runs of the workflow are in no table above. No other code ran instead of them."
        ),
        "columns": ["run", "not run"],
        "rows": [[label, reason] for label, reason in reasons.items()],
    }
