"""All sections of reports, found by what files declare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from gravel.stages.sections.findings import Findings
from gravel.stages.sections.section import Made, Section
from gravel.stages.stage import PAPERS, declared


@cache
def all_sections() -> tuple[Section, ...]:
    """Return every section by its rank: of this folder, and of papers where they are installed."""
    found = [
        each for room in ("sections", PAPERS) for several in declared(room, "SECTIONS") for each in several
    ]
    return tuple(sorted(found, key=lambda section: section.rank))


def make_sections(
    findings: Findings, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Made]:
    """Make all tables and figures that a report's findings allow, in the order of the sections."""
    made: list[Made] = []
    for done, section in enumerate(all_sections()):
        members = findings.of(*section.kinds) if section.kinds else []
        found: Sequence[Made | None] = []
        if members or not section.kinds:
            needed: list[Any] = [getattr(findings, name) for name in section.needs]
            if section.kinds:
                found = section.make(members, *needed)
            elif needed[0]:
                found = section.make(*needed)
        made += [each for each in found if each is not None]
        progress(done + 1, len(all_sections()))
    return made
