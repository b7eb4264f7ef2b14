"""The counters that are read, by the names that ncu has for them, and how those of several kernels add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
