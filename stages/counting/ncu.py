"""Nsight Compute: where it is, how it is called, why it has no counters if so, and the table that it writes.

Metrics have the names that ncu has for them; those of several kernels add up.
"""

from __future__ import annotations

import csv
import glob
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
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
    *("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
    *("--cache-control", "none", "--target-processes", "all"),
    *("--replay-mode", "kernel", "--profile-from-start", "off"),
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

DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
THREAD_INSTRUCTIONS = "smsp__thread_inst_executed.sum"
L2_SECTORS = "lts__t_sectors.sum"
L2_HITS = "lts__t_sectors_lookup_hit.sum"
L2_HIT_RATE = "lts__t_sector_hit_rate.pct"
HOST_SECTORS = "lts__d_sectors_fill_sysmem.sum"
PCIE_READ = "pcie__read_bytes.sum"
PCIE_WRITTEN = "pcie__write_bytes.sum"
NVLINK_RECEIVED = "nvlrx__bytes.sum"
NVLINK_SENT = "nvltx__bytes.sum"
DURATION = "gpu__time_duration.sum"

SUMS = (
    DURATION,
    DRAM_READ,
    DRAM_WRITTEN,
    INSTRUCTIONS,
    THREAD_INSTRUCTIONS,
    L2_SECTORS,
    L2_HITS,
    HOST_SECTORS,
    PCIE_READ,
    PCIE_WRITTEN,
    NVLINK_RECEIVED,
    NVLINK_SENT,
)
"""Metrics whose values add up over kernels."""

WEIGHTS = {L2_HIT_RATE: L2_SECTORS}
"""Metrics that are rates, each with the metric by which kernels weigh in its mean."""

METRICS = (*SUMS, *WEIGHTS)

SECTOR_BYTES = 32

Values = Mapping[str, float | None]

KERNEL, FIRST = "Kernel Name", "ID"

UNITS = {
    **dict.fromkeys(("", "%", "inst", "sector", "byte", "nsecond", "ns"), 1.0),
    **dict.fromkeys(("Kbyte", "usecond", "us"), 1e3),
    **dict.fromkeys(("Mbyte", "msecond", "ms"), 1e6),
    **dict.fromkeys(("Gbyte", "second", "s"), 1e9),
    "Tbyte": 1e12,
}
"""Units that ncu writes, each in bytes, nanoseconds or the number itself."""

NOTHING = ("", "n/a", "N/A", "nan", "no data", "(!) n/a")

_PASSES = re.compile(r"- (\d+) pass(?:es)?\b")


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


def added(kernels: Sequence[Values]) -> dict[str, float | None]:
    """Add up the metrics of several kernels: sums are summed, rates are weighted by what they are rates of.

    None where any of the kernels has no value: a sum over some of them would say less than it seems to.
    """
    found: dict[str, float | None] = {}
    for name in SUMS:
        values = [kernel.get(name) for kernel in kernels]
        known = [value for value in values if value is not None]
        found[name] = sum(known) if values and len(known) == len(values) else None
    for name, weight in WEIGHTS.items():
        pairs = [(kernel.get(name), kernel.get(weight)) for kernel in kernels]
        # A kernel without a sector has no rate, and weighs nothing.
        whole = [(rate, of) for rate, of in pairs if of != 0]
        complete = [(rate, of) for rate, of in whole if rate is not None and of is not None]
        total = sum(of for _, of in complete)
        sound = total > 0 and len(complete) == len(whole)
        found[name] = sum(rate * of for rate, of in complete) / total if sound else None
    return found


def by_kernel(kernels: Sequence[tuple[str, Values]]) -> list[dict[str, object]]:
    """Add the launches of each kernel up: records of `name`, `launches` and `values`, in order of time."""
    groups: dict[str, list[Values]] = {}
    for name, values in kernels:
        groups.setdefault(name, []).append(values)
    records = [
        {"name": name, "launches": len(several), "values": added(several)} for name, several in groups.items()
    ]
    return sorted(records, key=lambda record: -(record["values"][DURATION] or 0.0))  # type: ignore[index]


class UnreadableTable(ValueError):
    """Output of the tool that is not the table it should be."""


@dataclass(frozen=True)
class Table:
    """The launches in the order in which they ran, each with its values; None where ncu has none."""

    launches: list[tuple[str, dict[str, float | None]]]
    passes: int | None  # the most of one kernel; None where it is not told


def read_table(text: str, metrics: Sequence[str]) -> Table:
    """Read ncu's output; raises `UnreadableTable` for anything but a table with these kernels.

    Lines of the tool itself, which begin with `==`, and lines of the program before the header are left out.
    """
    lines = text.splitlines()
    passes = [int(found) for line in lines if line.startswith("==PROF==") for found in _PASSES.findall(line)]
    rows = list(csv.reader(line for line in lines if line.strip() and not line.startswith("==")))
    start = next((place for place, row in enumerate(rows) if row[0] == FIRST and KERNEL in row), None)
    if start is None:
        raise UnreadableTable("there is no table in it")
    header, *rest = rows[start:]
    if not rest:
        raise UnreadableTable("its table has no units")
    units, *kernels = rest
    for number, row in enumerate(rest):
        if len(row) != len(header):
            raise UnreadableTable(f"row {number + 1} has {len(row)} cells, and its header {len(header)}")
    columns = {name: place for place, name in enumerate(header) if name in metrics}
    scales = {name: _scale(name, units[place]) for name, place in columns.items()}
    launches = []
    for row in kernels:
        values: dict[str, float | None] = dict.fromkeys(metrics)
        for name, place in columns.items():
            value = _number(name, row[place])
            values[name] = None if value is None else value * scales[name]
        launches.append((row[header.index(KERNEL)], values))
    return Table(launches, max(passes, default=None))


def _scale(name: str, unit: str) -> float:
    if unit not in UNITS:
        raise UnreadableTable(f"{name} is in {unit!r}, and known are {', '.join(filter(None, UNITS))}")
    return UNITS[unit]


def _number(name: str, text: str) -> float | None:
    if text.strip() in NOTHING:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise UnreadableTable(f"{name} is {text!r}, and a number was expected") from None
