"""Runs workflows through the command line, in one cache."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.benchmarks.figures.model import FOUR, TWO, Reports, Run
from tests.benchmarks.figures.reports import read_reports

ROOT = Path(__file__).resolve().parents[3]

ENDING = ".report.json"


def run_all(
    runs: Iterable[Run], size: str, cache: Path, out: Path
) -> tuple[dict[str, Reports], dict[str, str]]:
    """Run each workflow, and go on where one fails; returns reports, and why there are none, by run."""
    found: dict[str, Reports] = {}
    failed: dict[str, str] = {}
    for run in runs:
        began = time.perf_counter()
        reason = _run(run, size, cache.resolve(), out)
        report = out / f"{run.name}{ENDING}"
        if report.exists():
            found[run.name] = read_reports(report)
        if reason:
            failed[run.name] = reason
        told = f"{run.name}: {reason or 'done'}, {time.perf_counter() - began:.1f} s"
        print(told, file=sys.stderr, flush=True)
    return found, failed


def earlier(out: Path) -> dict[str, Reports]:
    """Return the reports by run that lie in the folder."""
    return {path.name.removesuffix(ENDING): read_reports(path) for path in out.glob(f"*{ENDING}")}


def _run(run: Run, size: str, cache: Path, out: Path) -> str:
    """Run one workflow and keep its report; returns what went wrong, or nothing."""
    kept = out / f"{run.name}{ENDING}"
    kept.unlink(missing_ok=True)
    before = set(cache.glob("runs/*"))
    # Ranks over NCCL have a GPU and a worker each.
    cluster = "cuda" if size == "paper" and run.needs in (TWO, FOUR) else "inline"
    words = [*run.words(size), "--cache", str(cache), "--cluster", cluster]
    limit = 600 if size == "small" else run.seconds
    with (out / f"{run.name}.log").open("w") as log:
        try:
            code = _gravel(words, log.fileno(), limit)
            folders = sorted(set(cache.glob("runs/*")) - before)
            if folders and not (folders[-1] / "report.json").exists():  # all was cached
                _gravel(["report", folders[-1].name, "--cache", str(cache)], log.fileno(), limit)
        except subprocess.TimeoutExpired:
            return f"the command took longer than {limit} s"
    if folders and (folders[-1] / "report.json").exists():
        shutil.copyfile(folders[-1] / "report.json", kept)
    return f"the command ended with exit code {code}" if code else ""


def _gravel(words: Sequence[str], log: int, limit: float) -> int:
    command = [sys.executable, "-m", "tests.pipeline.gravel", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, timeout=limit, check=False)
    return done.returncode
