"""A table for each printed one: the paper's value, the measured one in the same convention, their ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.papers.published.claims import claims_table
from gravel.stages.papers.published.experiments import Experiment, experiments, graph_size
from gravel.stages.papers.published.model import CONVENTIONS, read_published
from gravel.stages.papers.published.printed import printed_tables
from gravel.stages.sections.cells import Checks
from gravel.stages.sections.repetitions import typical
from gravel.stages.sections.section import Section, table

if TYPE_CHECKING:
    from gravel.stages.artifacts import Verification
    from gravel.stages.papers.published.model import Published, Row, Table


def published_tables(published: Published, measured: Sequence[Experiment]) -> list[dict[str, Any]]:
    """Make a section of each printed table that any experiment compares with."""
    made = [_section(published, printed, measured) for printed in published.tables if not printed.printed]
    return [section for section in made if section["rows"]]


def _section(published: Published, printed: Table, measured: Sequence[Experiment]) -> dict[str, Any]:
    unit = CONVENTIONS[printed.convention]
    rows = [
        _row(row, printed, one)
        for row in printed.rows
        for one in measured
        if one.fits(printed.match, row.match)
    ]
    if printed.convention == "order_milliseconds":
        rows = [row for row in rows if row[2] is not None]  # it is measured by searches of columns alone
    about = [
        f"{published.papers[printed.paper]}; measured there on {printed.machine}.",
        f"Both columns of values count {unit}.",
    ]
    if any(row[-1] is None for row in rows) and printed.convention == "generated":
        about.append("A rate per generated edge needs the edge list among the inputs of the report.")
    return table(
        f"Beside {printed.paper}, {printed.table}",
        " ".join(about),
        f"paper's row | paper, {unit} | here, {unit} | here / paper | graph | run",
        rows,
        result=80,
        compared=_ratios(printed, rows),
    )


def _ratios(printed: Table, rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Give the range of ratios to the printed values."""
    ratios = [row[3] for row in rows if row[3] is not None]
    if not ratios:
        return ()
    least, most = f"{min(ratios):.3g}", f"{max(ratios):.3g}"
    told = least if min(ratios) == max(ratios) else f"{least} to {most}"
    others = "" if all(row[4] == "the paper's size" for row in rows) else ", on other graphs"
    return (f"{told} times the values of {printed.paper}, {printed.table}{others}.",)


def _row(row: Row, printed: Table, one: Experiment) -> list[Any]:
    found = one.value(printed.convention)
    return [
        row.row,
        row.value,
        found,
        None if found is None or row.value is None else found / row.value,
        graph_size(row, one),
        one.label,
    ]


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
