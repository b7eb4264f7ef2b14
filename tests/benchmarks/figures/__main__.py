"""Runs the workflows that repeat the papers' figures, and makes docs/figures.md from their reports.

    python -m tests.benchmarks.figures
    python -m tests.benchmarks.figures --size small --out found
    python -m tests.benchmarks.figures --size paper --runs flex gather --out found --keep

Without `--out` nothing is run: it prints the rows from the reports in `tests/benchmarks/figures/reports`, and
fails if the code of any run changed since, more than 30 days ago. With it all runs share one cache, so that
graphs are made once, and the folder takes each run's report.json and what it printed. `--keep` puts what was
read of these into the reports. `--page docs/figures.md` writes the rows into the page. `--dry` prints the
commands, and below each where its report has the numbers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.figures.evidence import (
    FOLDER,
    MAX_DAYS,
    Evidence,
    marked,
    read,
    rows,
    runs_of,
    taken,
    write,
)
from tests.benchmarks.figures.model import Run, measure
from tests.benchmarks.figures.papers import PAPERS
from tests.benchmarks.figures.rows import command_of, into_page, row_of, sources_of
from tests.benchmarks.figures.running import earlier, run_all


def main(words: list[str] | None = None) -> int:
    """Run what is asked for; 1 if a run failed or a report is too old, 0 otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    keys = [paper.key for paper in PAPERS]
    parser.add_argument("--size", choices=("small", "paper"), default="small")
    parser.add_argument("--only", nargs="+", choices=keys, default=keys, metavar="PAPER")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="of these papers, such as: suite flex")
    parser.add_argument("--out", type=Path, help="the folder for reports of new runs")
    parser.add_argument("--cache", type=Path, help="else a new one that is removed at the end")
    parser.add_argument("--keep", action="store_true", help="take what was run into the reports")
    parser.add_argument("--reports", type=Path, default=FOLDER, help="the folder of the reports")
    parser.add_argument("--page", type=Path, help="a page that gets the rows")
    parser.add_argument("--dry", action="store_true", help="print the commands and where numbers are")
    chosen = parser.parse_args(words)
    papers = [paper for paper in PAPERS if paper.key in chosen.only]
    known = {run.name: run for paper in papers for run in paper.runs}
    if unknown := set(chosen.runs or ()) - set(known):
        parser.error(f"no run {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    runs = [run for name, run in known.items() if not chosen.runs or name in chosen.runs]
    if chosen.dry:
        for paper in papers:
            for run in [each for each in paper.runs if each in runs]:
                print("\n".join([command_of(run, chosen.size), *sources_of(paper, run)]))
        return 0
    evidence, failed = read(chosen.reports), {}
    if chosen.out is not None:
        new, failed = _run(runs, chosen)
        for each in new.values() if chosen.keep else ():
            write(each, chosen.reports)
        evidence = {**evidence, **new} if chosen.keep else new
    for paper in papers:
        for row in rows(paper, evidence):
            if not chosen.runs or {*runs_of(row.figure)} & {*chosen.runs}:
                print(row_of(paper, row, evidence))
    if chosen.page is not None:
        into_page(chosen.page, PAPERS, evidence)
    for paper in papers:
        for mark in marked(paper, evidence):
            print(mark, file=sys.stderr)
    old = [each for paper in papers for each in marked(paper, evidence, MAX_DAYS)]
    return 1 if failed or old else 0


def _run(runs: list[Run], chosen: argparse.Namespace) -> tuple[dict[str, Evidence], dict[str, str]]:
    """Run workflows, and read what their figures need."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _, failed = run_all(runs, chosen.size, chosen.cache or Path(folder), chosen.out)
    reports = earlier(chosen.out)
    for paper in PAPERS:
        for figure in paper.figures:
            measure(paper, figure, reports)  # what it reads is kept
    return {
        run.name: taken(run, command_of(run, chosen.size), chosen.size, reports[run.name], path)
        for run in runs
        if (path := chosen.out / f"{run.name}.report.json").exists() and run.name not in failed
    }, failed


if __name__ == "__main__":
    sys.exit(main())
