"""Peaks of machines by their data sheets, by which shares compare; none of these is in the papers."""

from __future__ import annotations

from tests.benchmarks.figures.reports import Missing

BANDWIDTH = {"C2050": 144e9, "H100 PCIe": 2.0e12, "H100": 3.35e12, "H200": 4.8e12}
"""Bytes a second of device memory, by a part of the GPU's name; the first that fits counts."""

LINK = {"H100": 64e9, "H200": 64e9}
"""Bytes a second that the link to the host has in one direction: PCIe 5.0 with 16 lanes."""

MOSCHOU_LINK = 16e9
"""The same of Moschou's report, section 3.1: PCIe 4.0, theoretical."""

WORD = 4
"""Bytes of an id or offset of these graphs."""


def peak(name: str, known: dict[str, float]) -> float:
    """Return a machine's peak; raises `Missing` where it is not in the table."""
    for part, value in known.items():
        if part in name:
            return value
    raise Missing(f"the peak of {name} is not known")


def modelled_share(rate: float, vertices_per_arc: float, machine: str) -> float:
    """Return the share of the peak that 4 (5n + 4m) bytes (section 5.4) are, in percent.

    `rate` counts 10^9 arcs a second.
    """
    return 100 * WORD * (5 * vertices_per_arc + 4) * rate * 1e9 / peak(machine, BANDWIDTH)


_TABLES = {  # rates of table 2, hybrid with distances; n and m of table 1, in millions
    "grid5pt.5000": (0.6, 25.0, 125.0),
    "grid7pt.300": (1.1, 27.0, 188.5),
    "kron_g500-logn20": (3.1, 1.0, 100.7),
    "random.2Mv.128Me": (3.0, 2.0, 128.0),
    "rmat.2Mv.128Me": (3.3, 2.0, 128.0),
}

MODEL_C2050 = {
    name: modelled_share(rate, vertices / arcs, "C2050") for name, (rate, vertices, arcs) in _TABLES.items()
}
"""The same of the paper's GPU, by graph."""
