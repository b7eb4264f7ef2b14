"""Rows of docs/figures.md, and the numbers that they are made from as JSON."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from tests.benchmarks.figures.model import Figure, Paper, Row, Run

NOT_RUN = "not run"


def command_of(run: Run, size: str) -> str:
    """Return the command line of a run, as a reader types it."""
    return shlex.join(["gravel", *run.words(size)])


def told(value: float) -> str:
    """Return a number with three digits, with four if it begins with 1."""
    digits = 4 if f"{abs(value):e}".startswith("1") else 3
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def row_of(row: Row) -> str:
    """Return the row of a figure: what is compared, theirs, when ours agrees, ours, and whether it does."""
    numbers = [NOT_RUN if each.ours is None else told(each.ours) for each in row.measured]
    ours = NOT_RUN if set(numbers) == {NOT_RUN} else "<br>".join(numbers)
    return table_row(*cells_of(row.figure), ours, row.verdict)


def cells_of(figure: Figure) -> tuple[object, ...]:
    """Return number, name, what is compared, theirs, and when ours agrees."""
    claims = figure.claims
    texts = (
        [claim.what for claim in claims],
        [claim.theirs for claim in claims],
        [claim.rule.says for claim in claims],
    )
    name = f"{figure.name} ({figure.compared}): {figure.shows}"
    return figure.number, name, *("<br>".join(each) for each in texts)


def sources_of(paper: Paper, run: Run) -> list[str]:
    """Return a comment for each place in a run's report.json with the figure whose numbers are there."""
    places = [
        f"# figure {figure.number}: {claim.where}"
        for figure in paper.figures
        for claim in figure.claims
        if (claim.run or figure.run) == run.name
    ]
    return list(dict.fromkeys(places))


def table_row(*cells: object) -> str:
    """Join the cells of a row."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def save(rows: list[Row], size: str, path: Path) -> None:
    """Write what was found, beside what stands there of other figures."""
    found = saved(path)
    for row in rows:
        found[str(row.figure.number)] = {
            "figure": row.figure.name,
            "size": size,
            "run": row.figure.run,
            "compared": row.figure.compared,
            "verdict": row.verdict,
            "row": row_of(row),
            "claims": [
                {
                    "what": each.claim.what,
                    "theirs": each.claim.theirs,
                    "ours": each.ours,
                    "rule": each.claim.rule.says,
                    "agrees": each.holds,
                    "reason": each.reason or (each.claim.why if each.holds is False else ""),
                    "needs": each.claim.needs,
                    "run": each.claim.run or row.figure.run,
                    "where": each.claim.where,
                }
                for each in row.measured
            ],
        }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")


def saved(path: Path) -> dict[str, Any]:
    """Read what was found before, by number."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def into_page(found: dict[str, Any], page: Path) -> None:
    """Put the rows in the place of those with the same numbers."""
    text = page.read_text(encoding="utf-8")

    def replaced(match: re.Match[str]) -> str:
        row = found.get(match[1])
        return match[0] if row is None else str(row["row"])

    page.write_text(re.sub(r"^\| (\d+) \| .* \|$", replaced, text, flags=re.MULTILINE), encoding="utf-8")
