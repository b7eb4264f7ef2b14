"""Tables with the rows and columns that a paper prints: its value, its way measured here, and gravel's own.

A line is a row of the paper on one graph with its rows in one place. A cell
says what was left out because it needs a GPU; nothing stands in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.artifacts import Verification
from gravel.stages.papers.published.claims import claims_table
from gravel.stages.papers.published.experiments import Experiment, experiments, graph_size
from gravel.stages.papers.published.model import CONVENTIONS, Published, Row, Table, read_published
from gravel.stages.sections.layouts import Checks
from gravel.stages.sections.repetitions import repeated_times, typical
from gravel.stages.sections.section import Made, Section, table
from gravel.stages.sections.studies import BEST, ONCE, Member, coordinates, standings

NOT_RUN = "not run: needs a GPU"
NEEDS_GPU = "needs a GPU"
"""How a reason begins for which something was not run on a CPU."""

PAPER, HERE, OURS = "paper", "its way here", "gravel's"
"""What stands in a column of the paper: its number, its way measured here, and gravel's own way."""

Cells = dict[tuple[str, str, str], Any]
"""Values by row, column, and one of the three."""

Used = dict[tuple[str, str, str], tuple[Row, Experiment]]
"""What was measured for them, by the same."""


def printed_tables(
    published: Published,
    measured: Sequence[Experiment],
    not_run: Mapping[str, str],
    verified: Mapping[str, str],
    repeated: Mapping[str, Sequence[float]],
) -> list[Made]:
    """Make a section of each table that is shown as it is printed and that any experiment compares with.

    `not_run` are reasons by the label of what was not run; `verified` the verdict by a measurement's label,
    and `repeated` the times of its repetitions.
    """
    lost = [coordinates(key) for key, reason in not_run.items() if reason.startswith(NEEDS_GPU)]
    made = [
        _section(published, printed, measured, lost, verified, repeated)
        for printed in published.tables
        if printed.printed
    ]
    return [section for section in made if section["rows"]]


def _section(
    published: Published,
    printed: Table,
    measured: Sequence[Experiment],
    lost: Sequence[Mapping[str, str]],
    verified: Mapping[str, str],
    repeated: Mapping[str, Sequence[float]],
) -> Made:
    columns = list(dict.fromkeys(str(row.column) for row in printed.rows))
    units = _units(printed)
    lines: list[list[Any]] = []
    for place in _places(printed, measured):
        there = [one for one in measured if _place(one) == place]
        cells, used = _cells(printed, there, lost, place)
        for name in dict.fromkeys(row.row for row in printed.rows):
            values = [cells.get((name, column, which)) for column in columns for which in (PAPER, HERE, OURS)]
            mine = [each for (row, *_), each in used.items() if row == name]
            sizes = sorted({graph_size(row, one) for row, one in mine})
            checked = _verdict({verified.get(one.label) for _, one in mine})
            found = _best(printed, cells, used, repeated, name)
            lines.append([*place, units.get(name, name), *values, *found, "; ".join(sizes), checked])
    best = [f"best, {which}" for which in (PAPER, HERE, OURS)] if printed.baseline else []
    return table(
        f"Printed in {printed.paper}: {printed.table}",
        f"{_origin(published, printed)} Each value as the paper "
        f"prints it ({PAPER}), by the paper's way measured here ({HERE}), and by gravel's own ({OURS}).",
        [
            "graph",
            "placement",
            "row",
            *(f"{units.get(column, column)}, {which}" for column in columns for which in (PAPER, HERE, OURS)),
            *best,
            "size",
            "verified",
        ],
        lines,
        result=20,
    )


def _units(printed: Table) -> dict[str, str]:
    """Write columns with the unit of their values, or rows where the columns have several units."""
    found: dict[str, dict[str, set[str]]] = {"column": {}, "row": {}}
    for row in printed.rows:
        for kind, name in (("column", str(row.column)), ("row", row.row)):
            found[kind].setdefault(name, set()).add(CONVENTIONS[printed.convention_of(row)])
    kind = "column" if all(len(units) == 1 for units in found["column"].values()) else "row"
    return {name: f"{name} ({' or '.join(sorted(units))})" for name, units in found[kind].items()}


def _origin(published: Published, printed: Table) -> str:
    """Say which section of which paper has the values, and on what they were measured."""
    return f"{published.papers[printed.paper]}, {printed.section}; measured there on {printed.machine}."


def _place(one: Experiment) -> tuple[str, str]:
    return one.facts.get("graph", "one graph"), one.facts["placement"]


def _places(printed: Table, measured: Sequence[Experiment]) -> list[tuple[str, str]]:
    """List graphs and placements of which any cell was measured."""
    found = [
        _place(one)
        for one in measured
        if any(one.fits(printed.match, row.match) or _is_ours(printed, row, one) for row in _timed(printed))
    ]
    return list(dict.fromkeys(found))


def _timed(printed: Table) -> list[Row]:
    """Return the rows that name experiments; those of a speedup name other rows."""
    return [row for row in printed.rows if row.over is None]


def _is_ours(printed: Table, row: Row, one: Experiment) -> bool:
    return bool(row.ours) and one.fits(printed.ours, row.ours)


def _cells(
    printed: Table, measured: Sequence[Experiment], lost: Sequence[Mapping[str, str]], place: tuple[str, str]
) -> tuple[Cells, Used]:
    """Fill in all values of one graph and placement; returns also the experiments that they are of."""
    cells: Cells = {}
    used: Used = {}
    times: Cells = {}
    for row in _timed(printed):
        key, convention = (row.row, str(row.column)), printed.convention_of(row)
        cells[*key, PAPER] = row.value
        for which, fitting in (
            (HERE, [one for one in measured if one.fits(printed.match, row.match)]),
            (OURS, [one for one in measured if _is_ours(printed, row, one)]),
        ):
            if fitting:
                cells[*key, which] = fitting[0].value(convention)
                times.setdefault((row.row, "", which), fitting[0].milliseconds)
                used[*key, which] = row, fitting[0]
            elif which == HERE and any(_was_lost(at, place, printed, row) for at in lost):
                cells[*key, which] = NOT_RUN
    for row in printed.rows:
        if row.over is None:
            continue
        cells[row.row, str(row.column), PAPER] = row.value
        for which in (HERE, OURS):
            mine, base = times.get((row.row, "", which)), times.get((row.over, "", which))
            if mine and base:
                cells[row.row, str(row.column), which] = base / mine
            elif cells.get((row.row, _time_column(printed, row), which)) == NOT_RUN:
                cells[row.row, str(row.column), which] = NOT_RUN
    return cells, used


def _time_column(printed: Table, speedup: Row) -> str:
    return next((str(row.column) for row in _timed(printed) if row.row == speedup.row), "")


def _was_lost(at: Mapping[str, str], place: tuple[str, str], printed: Table, row: Row) -> bool:
    """Whether something that was not run has nothing that a row does not ask for, as far as its axes say."""
    wanted = {**printed.match, **row.match}
    if at.get("graph", place[0]) != place[0]:
        return False
    return bool(at) and all(
        at[name].casefold() in {str(value).casefold() for value in values}
        for name, values in wanted.items()
        if name in at
    )


def _best(
    printed: Table, cells: Cells, used: Used, repeated: Mapping[str, Sequence[float]], name: str
) -> list[str | None]:
    """Name the best column of a row, with its change against the baseline, as the paper does.

    Where the baseline is best, the change is that of the next best against it. Measured columns that do not
    differ by more than their spread are tied, and not ranked where no spread is known.
    """
    if printed.baseline is None:
        return []
    texts: list[str | None] = []
    for which in (PAPER, HERE, OURS):
        values = {
            column: value
            for (row, column, kind), value in cells.items()
            if row == name and kind == which and isinstance(value, int | float)
        }
        first = values.pop(printed.baseline, None)
        if not values or not first:
            texts.append(None)
            continue
        other = min(values, key=values.__getitem__)
        best = other if values[other] < first else printed.baseline
        members = [
            Member(column, used[name, column, which][1].one, tuple(repeated.get(label, ())), label)
            for column in (best, *sorted({printed.baseline, *values} - {best}))
            if which != PAPER
            for label in (used[name, column, which][1].label,)
        ]
        word = standings(members)[0].word if members else BEST
        ranked = best if word == BEST else "not ranked" if word in ("", ONCE) else "tied"
        texts.append(f"{ranked} ({100 * (values[other] / first - 1):+.0f} %)")
    return texts


def _verdict(checked: set[str | None]) -> str | None:
    """Say whether all experiments of a line passed, and how far; nothing where not all were verified."""
    known = {each for each in checked if each is not None}
    if "FAILED" in known:
        return "FAILED"
    if not known or None in checked:
        return None
    return "; ".join(["passed", *sorted(each.removeprefix("passed, ") for each in known - {"passed"})])


def published_tables(published: Published, measured: Sequence[Experiment]) -> list[Made]:
    """Make a section of each printed table that any experiment compares with."""
    made = [_beside(published, printed, measured) for printed in published.tables if not printed.printed]
    return [section for section in made if section["rows"]]


def _beside(published: Published, printed: Table, measured: Sequence[Experiment]) -> Made:
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
        _origin(published, printed),
        f"Both columns of values count {unit}, each on its own machine.",
    ]
    if any(row[2] is None for row in rows) and printed.convention == "generated":
        about.append("A rate per generated edge needs the edge list among the inputs of the report.")
    return table(
        f"Beside {printed.paper}, {printed.table}",
        " ".join(about),
        f"paper's row | paper, {unit} | here, {unit} | graph | run",
        rows,
        result=80,
    )


def _row(row: Row, printed: Table, one: Experiment) -> list[Any]:
    return [row.row, row.value, one.value(printed.convention), graph_size(row, one), one.label]


def published_sections(
    published: str | Published, members: Sequence[tuple[str, Any]], not_run: Mapping[str, str] | None = None
) -> list[Made]:
    """Make a section of each printed table that any experiment compares with, and one of the claims.

    `published` is a file or what it says; `not_run` are reasons by the labels of what was not run.
    """
    if isinstance(published, str):
        published = read_published(published)
    measured = experiments(members)
    kinds: dict[str, list[tuple[str, Any]]] = {}
    for label, one in members:
        kinds.setdefault(type(one).__name__, []).append((label, one))
    repeated = repeated_times(kinds.get("Measurement", []))
    middle = typical(kinds.get("Measurement", []))
    kinds["Measurement"] = middle
    checks = Checks(kinds)
    found = {label: checks.of(label) for label, _ in middle}
    verified = {label: _checked(one) for label, one in found.items() if one is not None}
    made = printed_tables(published, experiments(middle), not_run or {}, verified, repeated)
    claims = claims_table(published, measured)
    return [*made, *published_tables(published, measured), *([claims] if claims is not None else [])]


def _checked(one: Verification) -> str:
    """Say whether the labels passed; of components that were left in parts, how many vertices are whole."""
    if not all(check["passed"] for check in one.checks):
        return "FAILED"
    parts = [each for each in one.skipped if isinstance(each, dict) and each.get("check") == "edges_agree"]
    share = next((each["whole"] for each in parts if "whole" in each), None)
    return "passed" if share is None else f"passed, parts left: {100 * share:.6g} % of vertices whole"


SECTIONS = (Section(rank=190, make=published_sections, needs=("published", "members", "not_run")),)
