"""What ncu writes with `--csv --page raw`: a header, a row of units, and a row for each kernel."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

NAME, FIRST = "Kernel Name", "ID"

UNITS = {
    "": 1.0,
    "%": 1.0,
    "inst": 1.0,
    "sector": 1.0,
    "byte": 1.0,
    "Kbyte": 1e3,
    "Mbyte": 1e6,
    "Gbyte": 1e9,
    "Tbyte": 1e12,
    "nsecond": 1.0,
    "ns": 1.0,
    "usecond": 1e3,
    "us": 1e3,
    "msecond": 1e6,
    "ms": 1e6,
    "second": 1e9,
    "s": 1e9,
}
"""Units that ncu writes, each in bytes, nanoseconds or the number itself."""

NOTHING = ("", "n/a", "N/A", "nan", "no data", "(!) n/a")

_PASSES = re.compile(r"- (\d+) pass(?:es)?\b")


class UnreadableTable(ValueError):
    """Output of the tool that is not the table it should be."""


@dataclass(frozen=True)
class Table:
    """The launches in the order in which they ran, each with its values; None where ncu has none."""

    launches: list[tuple[str, dict[str, float | None]]]
    passes: int | None  # the most of one kernel; None where it is not told


def read_table(text: str, metrics: Sequence[str]) -> Table:
    """Read ncu's output; raises `UnreadableTable` for anything but a table with these kernels.

    Lines of the tool itself, which begin with `==`, and lines of the program before the header are left out.
    """
    lines = text.splitlines()
    passes = [int(found) for line in lines if line.startswith("==PROF==") for found in _PASSES.findall(line)]
    rows = list(csv.reader(line for line in lines if line.strip() and not line.startswith("==")))
    start = next((place for place, row in enumerate(rows) if row[0] == FIRST and NAME in row), None)
    if start is None:
        raise UnreadableTable("there is no table in it")
    header, *rest = rows[start:]
    if not rest:
        raise UnreadableTable("its table has no units")
    units, *kernels = rest
    for number, row in enumerate(rest):
        if len(row) != len(header):
            raise UnreadableTable(f"row {number + 1} has {len(row)} cells, and its header {len(header)}")
    columns = {name: place for place, name in enumerate(header) if name in metrics}
    scales = {name: _scale(name, units[place]) for name, place in columns.items()}
    launches = []
    for row in kernels:
        values: dict[str, float | None] = dict.fromkeys(metrics)
        for name, place in columns.items():
            value = _number(name, row[place])
            values[name] = None if value is None else value * scales[name]
        launches.append((row[header.index(NAME)], values))
    return Table(launches, max(passes, default=None))


def _scale(name: str, unit: str) -> float:
    if unit not in UNITS:
        raise UnreadableTable(f"{name} is in {unit!r}, and known are {', '.join(filter(None, UNITS))}")
    return UNITS[unit]


def _number(name: str, text: str) -> float | None:
    if text.strip() in NOTHING:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise UnreadableTable(f"{name} is {text!r}, and a number was expected") from None
