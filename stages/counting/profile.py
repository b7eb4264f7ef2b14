"""A program of gravel under ncu: called until the tool knows every metric, and the table that it writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gravel.stages.counting import ncu
from gravel.stages.counting.ncu import NoCounters, ToolOutput

ROOT = Path(__file__).parents[2].resolve().parent
"""The folder that holds `gravel`, of which `stages` is a link in a checkout."""

PROGRAM = """
import sys
from pathlib import Path
from {module} import main
main(Path(sys.argv[1]))
"""


@dataclass(frozen=True)
class Profile:
    """Launches in the order in which they ran, each with its values, and what read them."""

    launches: list[tuple[str, dict[str, float | None]]]
    tool: dict[str, Any]


def profile(module: str, folder: Path, seconds: float, metrics: Sequence[str] = ncu.METRICS) -> Profile:
    """Call `main(folder)` of a module under ncu; metrics that the tool does not know are left out.

    Raises `NoCounters` where the tool is missing, refused, too slow, or writes no table.
    """
    tool = ncu.find_tool()
    version = ncu.version_of(tool)
    began = time.monotonic()
    output, asked = _called(tool, module, folder, seconds, metrics)
    took = time.monotonic() - began
    if fault := ncu.fault_of(output):
        raise NoCounters(fault)
    try:
        table = ncu.read_table(output.table, metrics)
    except ncu.UnreadableTable as error:
        raise NoCounters(f"what ncu {version} wrote could not be read: {error}") from None
    if not table.launches:
        raise NoCounters("ncu saw no kernels of the searches")
    described = {
        "name": ncu.NAME,
        "version": version,
        "options": list(ncu.OPTIONS),
        "metrics": asked,
        "unknown": [name for name in metrics if name not in asked],
        "passes": table.passes,
        "seconds": took,
    }
    return Profile(table.launches, described)


def _called(
    tool: Path, module: str, folder: Path, seconds: float, metrics: Sequence[str]
) -> tuple[ToolOutput, list[str]]:
    """Call the tool until it knows every metric that it is asked for; `seconds` are for all calls."""
    program = [sys.executable, "-c", PROGRAM.format(module=module), str(folder)]
    until = time.monotonic() + seconds
    asked = list(metrics)
    while True:
        output = ncu.call(tool, asked, program, folder, max(0.0, until - time.monotonic()), str(ROOT))
        unknown = ncu.unknown_metrics(output, asked) if ncu.fault_of(output) else []
        if not unknown or len(unknown) == len(asked):
            return output, asked
        asked = [name for name in asked if name not in unknown]
