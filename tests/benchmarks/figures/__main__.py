"""Runs the workflows that repeat the papers' figures, and prints a row of docs/figures.md for each figure.

    python -m tests.benchmarks.figures --size small --out found
    python -m tests.benchmarks.figures --size paper --only merrill2012 flexbfs --out found

All runs share one cache, so that graphs are made once. `--out` takes each run's report.json, what it printed,
and `figures.json` with every number; figures found there before are kept, so that papers can run one by one.
`--dry` prints the commands, and below each where its report has the numbers. `--page docs/figures.md` puts
the rows of what was found into the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.figures.model import measure
from tests.benchmarks.figures.papers import PAPERS
from tests.benchmarks.figures.rows import command_of, into_page, row_of, save, saved, sources_of
from tests.benchmarks.figures.running import earlier, run_all


def main(words: list[str] | None = None) -> int:
    """Run what is asked for; 1 if a run failed, 0 otherwise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    keys = [paper.key for paper in PAPERS]
    parser.add_argument("--size", choices=("small", "paper"), default="small")
    parser.add_argument("--only", nargs="+", choices=keys, default=keys, metavar="PAPER")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="of these papers, such as: suite flex")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="else a new one that is removed at the end")
    parser.add_argument("--page", type=Path, help="a page whose rows get the numbers")
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
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found, failed = run_all(runs, chosen.size, chosen.cache or Path(folder), chosen.out)
    asked = set(found) | set(failed)
    found = {**earlier(chosen.out), **found}
    rows = [
        measure(figure, found, failed)
        for paper in papers
        for figure in paper.figures
        if asked & {figure.run, *(claim.run for claim in figure.claims)}
    ]
    save(rows, chosen.size, chosen.out / "figures.json")
    if chosen.size == "small":
        print("Size small: every number is found; whether it agrees, the paper's size says.", file=sys.stderr)
    for row in rows:
        print(row_of(row))
    if chosen.page is not None:
        into_page(saved(chosen.out / "figures.json"), chosen.page)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
