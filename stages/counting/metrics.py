"""The counters that are read, by the names that ncu has for them, and how those of several kernels add up."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITTEN = "dram__bytes_write.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
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


NAME, FIRST = "Kernel Name", "ID"

UNITS = {
    "": 1.0,
    "%": 1.0,
    "inst": 1.0,
    "sector": 1.0,
    "byte": 1.0,
    "Kbyte": 1e3,
    "Mbyte": 1e6,
    "Gbyte": 1e9,
    "Tbyte": 1e12,
    "nsecond": 1.0,
    "ns": 1.0,
    "usecond": 1e3,
    "us": 1e3,
    "msecond": 1e6,
    "ms": 1e6,
    "second": 1e9,
    "s": 1e9,
}
"""Units that ncu writes, each in bytes, nanoseconds or the number itself."""

NOTHING = ("", "n/a", "N/A", "nan", "no data", "(!) n/a")

_PASSES = re.compile(r"- (\d+) pass(?:es)?\b")


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
    start = next((place for place, row in enumerate(rows) if row[0] == FIRST and NAME in row), None)
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
        launches.append((row[header.index(NAME)], values))
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
