"""The charts of a run as files, for papers: `gravel report --format svg` or `png`."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.file_modes import as_given
from gravel.pipeline.report.static.drawing import write_figure
from gravel.stages.charts import Chart

MAX_NAME = 80
"""Letters of a file's name."""


def write_figures(target: Path, reports: Sequence[Mapping[str, Any]], form: str) -> list[Path]:
    """Write every chart of a run's reports as `svg` or `png` into a folder; returns the files.

    Raises RequestError for a run without charts and for a place that takes no files, GravelError for a full
    disk.
    """
    charts = [
        (report, section)
        for report in reports
        for section in report["sections"]
        if section["kind"] == "figure" and section.get("chart")
    ]
    if not charts:
        raise RequestError("no report of this run has a chart", hint="gravel show RUN lists what it made")
    found: list[Path] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for report, section in charts:
            name = _name(section["title"])
            if len(reports) > 1:
                name = f"{_name(report['key'])}-{name}"[:MAX_NAME]
            path = _unused(target, name, form, found)
            there = path.exists()
            write_figure(Chart.model_validate(section["chart"]), path)
            if not there:
                as_given(path)
            found.append(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise GravelError(f"could not write to {str(target)!r}: the disk is full") from error
        raise RequestError(
            f"could not write to {str(target)!r}: {(error.strerror or str(error)).lower()}",
            hint="choose another folder with --to",
        ) from error
    return found


def _unused(target: Path, name: str, form: str, found: Sequence[Path]) -> Path:
    """Number the name of a chart if another of the run has it."""
    path, number = target / f"{name}.{form}", 2
    while path in found:
        path, number = target / f"{name}-{number}.{form}", number + 1
    return path


def _name(title: str) -> str:
    """Make a file name that any system takes and that a paper's source can hold."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:MAX_NAME] or "figure"
