"""Reads numbers from reports of runs, as a reader of the page finds them, and keeps what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEPT = ("title", "about", "columns", "rows", "data")
"""What is kept of a section: not its chart."""


class Missing(Exception):
    """A number that the report does not have; the message says what was looked for."""


@dataclass(frozen=True)
class Report:
    """One report of a run: its sections by title, the machine, and the titles of those that were read."""

    sections: Mapping[str, dict[str, Any]]
    machine: str = ""
    read: set[str] = field(default_factory=set)

    def rows(self, title: str) -> list[dict[str, Any]]:
        """Return the rows of a table, each by column."""
        section = self._section(title)
        return [dict(zip(section["columns"], row, strict=True)) for row in section["rows"]]

    def data(self, title: str) -> dict[str, Any]:
        """Return what a picture draws."""
        drawn: dict[str, Any] = self._section(title)["data"]
        return drawn

    def about(self, title: str) -> str:
        """Return the text of a section."""
        return str(self._section(title)["about"])

    def times(self, **chosen: str) -> dict[str, float]:
        """Return the median milliseconds of searches by graph, of the runs whose axes have these values."""
        return {axes["graph"]: row["median ms"] for axes, row in self._searches(chosen)}

    def arc_rates(self, **chosen: str) -> dict[str, float]:
        """Return geometric means of 10^9 stored arcs per second by graph."""
        found = {}
        for axes, row in self._searches(chosen):
            (name,) = [each for each in row if "arcs/s" in each and "geometric" in each]
            found[axes["graph"]] = row[name]
        return found

    def _searches(self, chosen: Mapping[str, str]) -> list[tuple[dict[str, str], dict[str, Any]]]:
        rows = [(axes_of(row["run"]), row) for row in self.rows("Traversal times and rates")]
        found = [(axes, row) for axes, row in rows if axes.items() >= chosen.items()]
        if not found:
            told = ", ".join(f"{axis}={value}" for axis, value in chosen.items())
            raise Missing(f"no searches with {told}")
        return [({"graph": "", **axes}, row) for axes, row in found]

    def _section(self, title: str) -> dict[str, Any]:
        if title not in self.sections:
            raise Missing(f"no section {title!r}")
        self.read.add(title)
        return self.sections[title]


def axes_of(label: str) -> dict[str, str]:
    """Return the values of the axes in a run's name, as in `bfs[graph=kron,search=hybrid]`."""
    found = re.search(r"\[(.*)\]$", label)
    return dict(part.split("=", 1) for part in found[1].split(",")) if found else {}


def read_reports(path: Path) -> dict[str, Report]:
    """Return the reports of a run by entry, such as `summary` or `weak.summary`."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    several = re.search(r"(\d+) workers on (NVIDIA .*)", whole["run"].get("cluster") or "")
    machine = f"{several[2]} x{several[1]}" if several else whole["run"]["machine"]["hardware"]
    return {
        body["key"].partition("[")[0]: Report(
            {section["title"]: section for section in body["sections"]}, machine
        )
        for body in whole["reports"]
    }


def day_of(path: Path) -> str:
    """Return the day on which the run of a report began."""
    started: str = json.loads(path.read_text(encoding="utf-8"))["run"]["started"]
    return started[:10]


def kernels_of(reports: Mapping[str, Report]) -> set[str]:
    """Return the modules of the functions that searches ran."""
    tables = [report.sections.get("What ran") for report in reports.values()]
    return {row[1].partition(":")[0] for table in tables if table is not None for row in table["rows"]}


def kept(report: Report) -> list[dict[str, Any]]:
    """Return the sections that were read, without what no number comes from."""
    sections = (report.sections[title] for title in sorted(report.read))
    return [{name: section[name] for name in KEPT if name in section} for section in sections]
