"""Published figures beside measured ones, each ratio within one convention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.published.claims import claims_table
from gravel.stages.sections.published.experiments import experiments
from gravel.stages.sections.published.tables import published_tables

if TYPE_CHECKING:
    from gravel.stages.published import Published


def published_sections(published: Published, members: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Make a section of each printed table that any experiment compares with, and one of the claims."""
    measured = experiments(members)
    claims = claims_table(published, measured)
    return published_tables(published, measured) + ([claims] if claims is not None else [])
