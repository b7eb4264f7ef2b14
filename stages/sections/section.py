"""The declaration of a report's section: what it needs, and where a page shows what it makes.

A file of this folder that ends in `SECTIONS = (Section(...),)` is on the page; nothing else names it. Its
functions make tables and figures as plain data: `{"kind": "table", "title", "about", "columns", "rows"}` and
`{"kind": "figure", "title", "about", "chart", "data"}`, whose chart is one of `gravel.stages.charts` as JSON.
A cell is a string, a number, None, or `{"vertex": i}`, which whoever shows it replaces by the id that the
input file uses. `{"vertex": i, "run": label}` says whose vertex it is where no label begins the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from gravel.stages import charts
from gravel.stages.artifacts import Measurement

Made = dict[str, Any]
"""A table or a figure."""

Runs = Sequence[tuple[str, Measurement]]
"""Measurements with their labels."""


class Place(TypedDict, total=False):
    """The place of a table or a figure on a page; without one it is a detail, in the order of sections."""

    result: int
    """Its rank among the results."""
    answer: int
    """A figure's rank among those of which the first that a report has stands beside the answer."""
    name: str
    """What the places of others call it by."""
    covered_by: tuple[str, ...]
    """Names of others that say the same: where a report has one, this is left to `report.json`."""
    summed_up_by: tuple[str, ...]
    """Names of others whose figures this tells further: where a report has one, this is a detail."""
    single: bool
    """Whether it draws graphs one by one: it is left out of a report on many data sets."""
    compared: tuple[str, ...]
    """Sentences for the answer: how what was measured compares."""


@dataclass(frozen=True)
class Section:
    """A section of a report.

    `make` gets the artifacts of `kinds`, each with its label, then the findings that `needs` names; see
    `Findings`. It is called where a report has an artifact of these kinds, or, without kinds, the first
    thing that it needs. None among what it returns is left out.
    """

    rank: int
    """Its place among the sections of a report, in which details stand."""
    make: Callable[..., Sequence[Made | None]]
    kinds: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    says: Callable[[Sequence[Any]], str] | None = None
    """Makes the answer of a report that has artifacts of the first kind, and no search was measured."""


About = str | Sequence[str | Literal[False]]
"""A text, or sentences of it; those that are not true of a report are False."""


def table(
    title: str,
    about: About,
    columns: str | Iterable[str],
    rows: Iterable[Iterable[Any]],
    **place: Unpack[Place],
) -> Made:
    """Make a table; `columns` are their names, or a text that has them between bars, such as "run | ms"."""
    names = columns.split(" | ") if isinstance(columns, str) else list(columns)
    found = {"kind": "table", "title": title, "about": _text(about), "columns": names}
    return {**found, "rows": [list(row) for row in rows], "place": place}


def statistics_table(
    title: str, first: str, rows: Sequence[tuple[list[Any], Mapping[str, Any]]], **place: Unpack[Place]
) -> Made:
    """Make a table of statistics: each row has values of the columns `first`, and then numbers by name."""
    plain = [
        {name: value for name, value in numbers.items() if not isinstance(value, dict | list)}
        for _, numbers in rows
    ]
    names = [*dict.fromkeys(name for numbers in plain for name in numbers)]
    cells = [[*start, *map(numbers.get, names)] for (start, _), numbers in zip(rows, plain, strict=True)]
    return table(
        title, "", [*first.split(" | "), *(name.replace("_", " ") for name in names)], cells, **place
    )


def _text(about: About) -> str:
    return about if isinstance(about, str) else " ".join(each for each in about if each)


def figure(
    title: str,
    about: About,
    panels: Sequence[charts.Panel],
    data: Any,
    *,
    alt: str,
    columns: int = 3,
    **place: Unpack[Place],
) -> Made:
    """Make a figure with its place; the rest as `gravel.stages.charts.figure` has it."""
    return {**charts.figure(title, _text(about), panels, data, alt=alt, columns=columns), "place": place}
