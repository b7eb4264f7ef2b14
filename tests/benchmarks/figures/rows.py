"""Rows of docs/figures.md: what is compared, both numbers, the verdict, and how it was run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.figures.evidence import Evidence, rows, runs_of
from tests.benchmarks.figures.model import Measured, Paper, Row, Run

HEAD = """\
|#|figure|what is compared|theirs|agrees if|ours|verdict|run|
|--:|---|---|---|---|---|---|---|
"""


def command_of(run: Run, size: str) -> str:
    """Return the command line of a run, as a reader types it."""
    return shlex.join(["gravel", *run.words(size)])


def told(one: Measured) -> str:
    """Return our number with three digits, four if it begins with 1, more where it is close to its bound."""
    if one.ours is None:
        return "–"
    value, bound = one.ours, re.search(r"(?:above|below) (-?[\d.]+)", one.claim.rule.says)
    digits = 4 if f"{abs(value):e}".startswith("1") else 3
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    if bound and text == f"{float(bound[1]):.{digits}g}" and value != float(bound[1]):
        text = f"{value:.{digits + 2}g}"
    return text


def row_of(paper: Paper, row: Row, evidence: Mapping[str, Evidence]) -> str:
    """Return the row of a figure: a line for each claim, one where all say the same."""
    figure, claims = row.figure, row.figure.claims
    sections = dict.fromkeys(claim.section.removeprefix("section ") for claim in claims)
    runs = []
    for run in map(paper.run, runs_of(figure)):
        preset = f" ({run.preset})" if run.preset else ""
        ran = evidence.get(run.name)
        when = f": {ran.machine.rpartition(', ')[2].removeprefix('NVIDIA ')}, {ran.date}" if ran else ""
        runs.append(f"{run.workflow.rpartition('/')[2]}{preset}, `--runs {run.name}`{when}")
    columns = (
        [claim.what for claim in claims],
        [claim.theirs for claim in claims],
        [claim.rule.says for claim in claims],
        [told(each) for each in row.measured],
    )
    cells = ["<br>".join(each if len({*each}) > 1 else each[:1]) for each in columns]
    name = f"{figure.name} ({', '.join(sections)}): {figure.shows}"
    whole = (figure.number, name, *cells, row.verdict, "<br>".join(runs))
    return f"|{'|'.join(map(str, whole))}|"


def sources_of(paper: Paper, run: Run) -> list[str]:
    """Return a comment for each place in a run's report.json with the figure whose numbers are there."""
    places = [
        f"# figure {figure.number}: {claim.where}"
        for figure in paper.figures
        for claim in figure.claims
        if (claim.run or figure.run) == run.name
    ]
    return list(dict.fromkeys(places))


def part_of(paper: Paper, evidence: Mapping[str, Evidence]) -> str:
    """Return a paper's part of the page: its rows, then the causes of what differs."""
    measured = rows(paper, evidence)
    lines = "\n".join(row_of(paper, row, evidence) for row in measured)
    causes = "\n".join(f"- **{number}**: {cause}" for number, cause in paper.causes.items())
    return f"{HEAD}{lines}\n" + (f"\n{causes}\n" if causes else "")


def with_parts(text: str, papers: tuple[Paper, ...], evidence: Mapping[str, Evidence]) -> str:
    """Return a page with the part of each paper below its heading, between the marks."""
    for paper in papers:
        begin, end = f"<!-- rows of {paper.key} -->\n", "<!-- end of rows -->"
        before, found, rest = text.partition(begin)
        if not found:
            raise ValueError(f"the page has no place for {paper.key}: {begin.strip()}")
        text = f"{before}{begin}\n{part_of(paper, evidence)}\n{end}{rest.partition(end)[2]}"
    return text


def into_page(page: Path, papers: tuple[Paper, ...], evidence: Mapping[str, Evidence]) -> None:
    """Write the parts of all papers into a page."""
    page.write_text(with_parts(page.read_text(encoding="utf-8"), papers, evidence), encoding="utf-8")
