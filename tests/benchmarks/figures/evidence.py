"""Reports of the runs that verdicts come from: `reports/RUN.json`, small, with the code that ran.

A report has `command`, `size`, `machine`, `date` and `commit` of the run, and `code`: digests of the workflow
and of the kernels that ran, with all that these lead to. `reports` are the sections that numbers are read
from, by entry. A run whose report was not kept has `numbers` in their place, by figure and claim, and what is
not known of it is null. Rows are marked if the code changed since.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from blake3 import blake3

from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.code import Sources
from tests.benchmarks.figures.model import CPU, Figure, Measured, Paper, Reports, Row, Run, measure
from tests.benchmarks.figures.reports import Report, day_of, kept, kernels_of

FOLDER = Path(__file__).with_name("reports")

ON_GPU = "NVIDIA"
"""In the names of machines with a GPU; numbers that need one are of no other."""

MAX_DAYS = 30
"""Days after which a row whose code changed since its run is a failure."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one run; None where it is not."""

    run: str
    command: str
    size: str
    machine: str
    date: str
    commit: str | None
    code: Mapping[str, str] | None
    reports: Mapping[str, list[dict[str, Any]]] | None = None
    numbers: Mapping[str, Mapping[str, float]] | None = None

    @property
    def found(self) -> Reports:
        """The reports that numbers are read from."""
        return {
            entry: Report({section["title"]: section for section in sections}, self.machine)
            for entry, sections in (self.reports or {}).items()
        }

    @property
    def days(self) -> int:
        """Days since the run."""
        return (datetime.now(UTC).date() - date.fromisoformat(self.date)).days


def read(folder: Path = FOLDER) -> dict[str, Evidence]:
    """Return all reports by run."""
    return {
        path.stem: Evidence(**json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("*.json"))
    }


def write(evidence: Evidence, folder: Path = FOLDER) -> None:
    """Write one report, without what it lacks."""
    folder.mkdir(exist_ok=True)
    body = {name: value for name, value in vars(evidence).items() if value or name in ("commit", "code")}
    text = json.dumps(body, indent=1, ensure_ascii=False)
    # Lists of numbers on one line: a table is read by rows.
    flat = re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\s*\n\s*", " ", match[0]), text)
    (folder / f"{evidence.run}.json").write_text(flat + "\n", encoding="utf-8")


def taken(run: Run, command: str, size: str, reports: Reports, path: Path) -> Evidence:
    """Make the evidence of a run of this code; what was read of its reports is kept."""
    machine = next(iter(reports.values())).machine
    names = {*kernels_of(reports), *run.kernels}
    code = _workflows(run) | {name: digest for name in sorted(names) if (digest := kernel_digest(name))}
    return Evidence(
        run=run.name,
        command=command,
        size=size,
        machine=machine,
        date=day_of(path),
        commit=_commit(),
        code=code,
        reports={entry: kept(report) for entry, report in reports.items() if report.read},
    )


def rows(paper: Paper, evidence: Mapping[str, Evidence]) -> list[Row]:
    """Measure all figures of a paper from the reports, and mark those whose code changed since."""
    return [_row(paper, figure, evidence) for figure in paper.figures]


def _row(paper: Paper, figure: Figure, evidence: Mapping[str, Evidence]) -> Row:
    used = {name: evidence[name] for name in runs_of(figure) if name in evidence}
    fits = {name: paper.run(name).needs == CPU or ON_GPU in each.machine for name, each in used.items()}
    found = {name: each.found for name, each in used.items() if each.reports is not None and fits[name]}
    measured = [_with_number(figure, each, used) for each in measure(paper, figure, found)]
    marks = dict.fromkeys(mark for name, each in used.items() if (mark := changed(paper.run(name), each)))
    return Row(figure, tuple(measured), tuple(marks))


def _with_number(figure: Figure, one: Measured, used: Mapping[str, Evidence]) -> Measured:
    run = used.get(one.claim.run or figure.run)
    if run is None or run.numbers is None:
        return one
    number = run.numbers.get(str(figure.number), {}).get(one.claim.what)
    return one if number is None else replace(one, ours=number, waits="")


def runs_of(figure: Figure) -> list[str]:
    """Return the names of the runs that a figure's numbers come from."""
    return list(dict.fromkeys([figure.run, *(claim.run or figure.run for claim in figure.claims)]))


def changed(run: Run, evidence: Evidence) -> str:
    """Say what changed since a run, or that this is not known; nothing where nothing did."""
    if evidence.code is None:
        return "its code is not known"
    now = _workflows(run)
    ran = {name: digest for name, digest in evidence.code.items() if name.endswith(".yaml")}
    kernels = {name: digest for name, digest in evidence.code.items() if name not in ran}
    if any(kernel_digest(name) != digest for name, digest in kernels.items()):
        return "kernels changed since"
    return "" if ran == now else "workflow changed since"


def marked(paper: Paper, evidence: Mapping[str, Evidence], after: int = -1) -> list[str]:
    """Say which reports of a paper are marked and older than so many days, by their dates."""
    return [
        f"{run.name}: {mark}, {evidence[run.name].days} days ago; run it again with --runs {run.name}"
        for run in paper.runs
        if run.name in evidence
        and (mark := changed(run, evidence[run.name]))
        and evidence[run.name].days > after
    ]


@cache
def kernel_digest(module: str) -> str:
    """Digest a module of kernels with all that it leads to; empty where there is none any more."""
    try:
        return _sources().digest(module)
    except FileNotFoundError:
        return ""


@cache
def _sources() -> Sources:
    return Sources(ROOT)


def _workflows(run: Run) -> dict[str, str]:
    """Digest a run's workflow, and those that it uses, by what is in the files."""
    waiting, found = [ROOT / "workflows" / f"{run.workflow}.yaml"], {}
    while waiting:
        path = waiting.pop()
        text = path.read_text(encoding="utf-8")
        found[path.relative_to(ROOT).as_posix()] = blake3(text.encode()).hexdigest()
        waiting += [path.parent / name for name in re.findall(r"^ +use: (\S+\.yaml)$", text, re.MULTILINE)]
    return found


def _commit() -> str | None:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
