"""Nsight Compute's command line: where it is, how it is called, and why it has no counters if so."""

from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NAME = "ncu"

PLACES = (
    "/usr/local/cuda/bin/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/local/NVIDIA-Nsight-Compute*/ncu",
)
"""Where installers put it that leave the PATH alone; of several the last by name, which is the newest."""

OPTIONS = (
    "--csv",
    "--page",
    "raw",
    "--print-units",
    "base",
    "--clock-control",
    "none",
    "--cache-control",
    "none",
    "--target-processes",
    "all",
    "--replay-mode",
    "kernel",
    "--profile-from-start",
    "off",
)
"""Clocks and caches are left as a search finds them; each kernel is replayed alone, its memory restored."""

VERSION_SECONDS = 20.0

TOO_LONG = "ncu took longer than `seconds` allows"

PERMISSION = (
    "this user may not read the GPU's counters (ERR_NVGPUCTRPERM); an administrator allows it with the "
    "driver's option NVreg_RestrictProfilingToAdminUsers=0"
)

_UNKNOWN = re.compile(r"^==(?:ERROR|WARNING)== .*\bmetric.*$", re.MULTILINE)
_ERROR = re.compile(r"^==ERROR==\s*(.*\S)", re.MULTILINE)


class NoCounters(Exception):
    """The reason why counters were not read: half a sentence, for the report."""


@dataclass(frozen=True)
class ToolOutput:
    """Output of the tool, and its exit status."""

    status: int
    table: str  # its log file
    streams: str  # what it and the program wrote beside


def find_tool() -> Path:
    """Return where ncu is; raises `NoCounters` where it is not installed."""
    if found := shutil.which(NAME):
        return Path(found)
    for pattern in PLACES:
        for path in sorted(glob.glob(pattern), reverse=True):  # noqa: PTH207 (of absolute patterns)
            if os.access(path, os.X_OK):
                return Path(path)
    raise NoCounters("ncu (Nsight Compute) is not installed here, or not on the PATH")


def version_of(tool: Path) -> str:
    """Return the version that ncu tells; raises `NoCounters` where it cannot be started."""
    try:
        answer = subprocess.run(
            [tool, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCounters(f"{tool} could not be started ({error})") from None
    found = re.search(r"Version\s+(\S+)", answer.stdout)
    if answer.returncode or found is None:
        raise NoCounters(f"{tool} --version ended with status {answer.returncode} and no version")
    return found[1]


def call(
    tool: Path, metrics: Sequence[str], program: Sequence[str], folder: Path, seconds: float, paths: str
) -> ToolOutput:
    """Run a program under ncu; raises `NoCounters` where that takes longer than so many seconds.

    `paths` are what the program imports from. The tool, the program and what they started are ended then.
    """
    log, streams = folder / "counters.csv", folder / "streams.txt"
    log.unlink(missing_ok=True)
    command = [str(tool), *OPTIONS, "--log-file", str(log), "--metrics", ",".join(metrics), *program]
    found = [paths, *filter(None, [os.environ.get("PYTHONPATH")])]
    # It writes numbers as the locale has them.
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(found)}
    with streams.open("wb") as written:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise NoCounters(TOO_LONG) from None
        finally:
            _end(process)
    table = log.read_text(errors="replace") if log.exists() else ""
    return ToolOutput(status, table, streams.read_text(errors="replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with its whole session, if anything of it still runs."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def unknown_metrics(output: ToolOutput, metrics: Sequence[str]) -> list[str]:
    """Return those of the metrics that ncu says it does not know."""
    lines = "\n".join(_UNKNOWN.findall(f"{output.table}\n{output.streams}"))
    # It names them as they were asked for, or by a pattern of all their suffixes.
    bases = {name: re.escape(name.partition(".")[0]) for name in metrics}
    return [name for name, base in bases.items() if re.search(rf"(?<!\w){base}(?!\w)", lines)]


def fault_of(output: ToolOutput) -> str:
    """Say why there are no counters in what ncu wrote; empty if nothing says so."""
    text = f"{output.table}\n{output.streams}"
    if "ERR_NVGPUCTRPERM" in text:
        return PERMISSION
    errors = _ERROR.findall(text)
    if errors:
        return f"ncu failed: {errors[0].rstrip('.')}"
    if output.status:
        lines = [line for line in output.streams.splitlines() if line.strip()]
        return f"ncu ended with status {output.status}" + (f": {lines[-1].strip()[:200]}" if lines else "")
    if "No kernels were profiled" in text:
        return "ncu saw no kernels of the searches"
    return ""
