"""Published figures beside measured ones, each ratio within one convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.published.reading import read_published
from gravel.stages.sections.cells import Checks
from gravel.stages.sections.published.claims import claims_table
from gravel.stages.sections.published.experiments import experiments
from gravel.stages.sections.published.printed import printed_tables
from gravel.stages.sections.published.tables import published_tables
from gravel.stages.sections.repetitions import typical
from gravel.stages.sections.section import Section

if TYPE_CHECKING:
    from gravel.stages.artifacts import Verification
    from gravel.stages.published import Published


def published_sections(
    published: str | Published,
    members: Sequence[tuple[str, Any]],
    not_run: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Make a section of each printed table that any experiment compares with, and one of the claims.

    `published` is a file or what it says; `not_run` are reasons by the labels of what was not run.
    """
    if isinstance(published, str):
        published = read_published(published)
    measured = experiments(members)
    kinds: dict[str, list[tuple[str, Any]]] = {}
    for label, one in members:
        kinds.setdefault(type(one).__name__, []).append((label, one))
    middle = typical(kinds.get("Measurement", []))
    kinds["Measurement"] = middle
    checks = Checks(kinds)
    found = {label: checks.of(label) for label, _ in middle}
    verified = {label: _verdict(one) for label, one in found.items() if one is not None}
    made = printed_tables(published, experiments(middle), not_run or {}, verified)
    claims = claims_table(published, measured)
    return [*made, *published_tables(published, measured), *([claims] if claims is not None else [])]


def _verdict(one: Verification) -> str:
    """Say whether the labels passed; of components that were left in parts, how many vertices are whole."""
    if not all(check["passed"] for check in one.checks):
        return "FAILED"
    parts = [each for each in one.skipped if isinstance(each, dict) and each.get("check") == "edges_agree"]
    share = next((each["whole"] for each in parts if "whole" in each), None)
    return "passed" if share is None else f"passed, parts left: {100 * share:.6g} % of vertices whole"


SECTIONS = (Section(rank=190, make=published_sections, needs=("published", "members", "not_run")),)
