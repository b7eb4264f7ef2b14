"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `state` is good, note (gravel runs, but) or bad (it does not run)."""

    subject: str
    state: str
    found: str
    cure: str | None = None


def checked(subject: str, found: str, cure: str | None, otherwise: str = "note") -> Finding:
    """Return a finding that is good where there is nothing to cure."""
    return Finding(subject, otherwise if cure else "good", found, cure)
