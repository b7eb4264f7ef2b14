"""Merrill, Garland, Grimshaw, PPoPP 2012: parts of a search alone, and culling."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from tests.benchmarks.figures.model import (
    COUNTERS,
    Claim,
    Figure,
    Reports,
    Run,
    above,
    below,
    near,
    order,
    sets,
)
from tests.benchmarks.figures.reports import Missing, axes_of

SPARSE = ("grid5", "mesh", "grid7")
DENSE = ("kron", "rmat", "uniform")

SMALL_PARTS = sets(side=12, cube=5, scale=6, vertices=100)
PAPER_PARTS = sets(side=500, cube=80, scale=19, vertices=500000, sources=4)

PROBES = ("gravel.kernels.papers.merrill2012.probes.timed",)

PARTS_RUNS = (
    Run("gather", "papers/merrill_gather", SMALL_PARTS, PAPER_PARTS, 55, kernels=PROBES),
    Run(
        "culling",
        "papers/merrill_culling",
        sets(side=12, cube=5, scale=6, vertices=100, sources=2),
        sets(side=1000, cube=100, scale=20, vertices=1000000, sources=4),
        40,
    ),
    Run("lookup", "papers/merrill_lookup", SMALL_PARTS, PAPER_PARTS, 40, kernels=PROBES),
    Run(
        "counters",
        "papers/merrill_counters",
        sets(scale=6, vertices=60),
        sets(scale=20, vertices=1000000),
        240,
        needs=COUNTERS,
        kernels=PROBES,
    ),
)

PARTS_TABLE = "Parts of a search alone"
GATHER_BYTES = "DRAM bytes of gathers, per arc"
INTENSITY = "Thread instructions for each DRAM byte"


def _parts(reports: Reports, part: str, method: str, column: str) -> dict[str, float]:
    """Return a column of the parts timed alone by graph."""
    found = {}
    for row in reports["summary"].rows(PARTS_TABLE):
        if (row["part"], row["method"]) == (part, method):
            (name,) = [each for each in row if column in each and "largest" not in each]
            found[axes_of(row["run"])["graph"]] = row[name]
    if not found:
        raise Missing(f"no part {part} by {method}")
    return found


def _gathered(reports: Reports, method: str) -> dict[str, float]:
    return _parts(reports, "gather", method, "arcs/s")


def _over(upper: dict[str, float], lower: dict[str, float], graphs: tuple[str, ...] = ()) -> list[float]:
    return [upper[name] / lower[name] for name in upper if not graphs or name in graphs]


def _share(ratios: list[float]) -> float:
    """Return the percentage of graphs on which the first is faster."""
    return 100 * sum(ratio > 1 for ratio in ratios) / len(ratios)


def _worst_of_best(reports: Reports) -> float:
    methods = [_gathered(reports, name) for name in ("serial", "warp", "scan", "scan_warp_cta")]
    return min(methods[-1][graph] / max(each[graph] for each in methods) for graph in methods[0])


def _asked(reports: Reports) -> float:
    data = reports["summary"].data("Bytes that gathers ask for, per arc")
    return float(
        max(serial / both for serial, both in zip(data["serial"], data["scan_warp_cta"], strict=True))
    )


def _counted(reports: Reports, title: str, method: str, other: str) -> dict[str, float]:
    """Return what hardware counters say of one gather over another, by graph."""
    data = reports["summary"].data(title)
    graphs = [axes_of(run)["graph"] for run in data["run"]]
    return {graph: one / two for graph, one, two in zip(graphs, data[method], data[other], strict=True)}


def _lookup_over_gather(reports: Reports) -> dict[str, float]:
    gather = _parts(reports, "gather", "scan_warp_cta", "arcs/s")
    lookup = _parts(reports, "lookup", "label", "arcs/s")
    return {graph: gather[graph] / lookup[graph] for graph in gather}


def _wrong(reports: Reports, method: str, graphs: tuple[str, ...] = ()) -> float:
    found = _parts(reports, "lookup", method, "false negatives")
    values = [value for graph, value in found.items() if not graphs or graph in graphs]
    if not values:
        raise Missing(f"no graph {', '.join(graphs)}")
    return fmean(values)


def _apart_over_fused(reports: Reports, graphs: tuple[str, ...] = ()) -> list[float]:
    data = reports["summary"].data("Gathering and look-up, fused or apart")
    names = [axes_of(run)["graph"] for run in data["run"]]
    rates = zip(names, data["apart: label"], data["fused: label"], strict=True)
    return [apart / fused for name, apart, fused in rates if not graphs or name in graphs]


def _factors(reports: Reports, way: str) -> dict[str, float]:
    rows = reports["summary"].rows("Redundant expansion by culling")
    return {row["graph"]: row[way] for row in rows}


def _factor(graph: str, stated: float, paper: str = "") -> Claim:
    def measured(reports: Reports) -> float:
        found = _factors(reports, "off")
        if graph not in found:
            raise Missing(f"no graph {graph}")
        return found[graph]

    return Claim(
        f"{graph}, no culling{paper}",
        f"{stated}",
        "section 4.2",
        near(stated),
        "summary › Redundant expansion by culling › off",
        measured,
    )


def _negatives(what: str, stated: float, measured: Callable[[Reports], float], waits: str = "") -> Claim:
    return Claim(what, f"{stated}", "section 4.2", order(stated), WRONG, measured, waits=waits)


RATES = "summary › Parts of a search alone › G arcs/s"
WRONG = "summary › Parts of a search alone › false negatives, %"

PARTS = (
    Figure(
        3,
        "figure 5",
        "Gathering alone",
        "gather",
        (
            Claim(
                "graphs where scan+warp+CTA is faster than serial, %",
                "poorly for the majority",
                "section 4.1",
                above(50),
                RATES,
                lambda reports: _share(
                    _over(_gathered(reports, "scan_warp_cta"), _gathered(reports, "serial"))
                ),
            ),
            Claim(
                "scan+warp+CTA over warp, lattices and mesh, the least",
                "performs poorly",
                "section 4.1",
                above(1),
                RATES,
                lambda reports: min(
                    _over(_gathered(reports, "scan_warp_cta"), _gathered(reports, "warp"), SPARSE)
                ),
            ),
            Claim(
                "scan+warp+CTA over scan, Kronecker",
                "extreme imbalance",
                "section 4.1",
                above(1),
                RATES,
                lambda reports: _over(
                    _gathered(reports, "scan_warp_cta"), _gathered(reports, "scan"), ("kron",)
                )[0],
            ),
            Claim(
                "scan+warp+CTA over the best, the least of all graphs",
                "good across the board",
                "section 4.1",
                above(0.8),
                RATES,
                _worst_of_best,
            ),
            Claim(
                "bytes asked for by serial over scan+warp+CTA (counted), at most",
                "dramatic over-fetch",
                "section 4.1",
                above(2),
                "summary › Bytes that gathers ask for, per arc",
                _asked,
            ),
            Claim(
                "DRAM bytes an arc, serial over scan+warp+CTA, at most",
                "dramatic over-fetch",
                "section 4.1",
                above(2),
                "counters › DRAM bytes of gathers, per arc",
                lambda reports: max(_counted(reports, GATHER_BYTES, "serial", "scan_warp_cta").values()),
                run="counters",
                waits=COUNTERS,
            ),
            Claim(
                "instructions a byte, scan over scan+warp+CTA, Kronecker",
                "increased",
                "section 4.1",
                above(1),
                "counters › Thread instructions for each DRAM byte",
                lambda reports: _counted(reports, INTENSITY, "scan", "scan_warp_cta")["kron"],
                run="counters",
                waits=COUNTERS,
            ),
        ),
    ),
    Figure(
        4,
        "figure 6",
        "Status look-up against gathering",
        "gather",
        (
            Claim(
                "graphs where look-up is slower, %",
                "generally more expensive",
                "section 4.2",
                above(50),
                RATES,
                lambda reports: _share(list(_lookup_over_gather(reports).values())),
            ),
            Claim(
                "gathering over look-up, large degrees over lattices and mesh",
                "particularly there",
                "section 4.2",
                above(1),
                RATES,
                lambda reports: (
                    fmean(_lookup_over_gather(reports)[name] for name in DENSE)
                    / fmean(_lookup_over_gather(reports)[name] for name in SPARSE)
                ),
            ),
        ),
    ),
    Figure(
        5,
        "figure 7",
        "Redundant expansion",
        "culling",
        (
            _factor("grid7", 2.6),
            _factor("grid5", 4.2),
            _factor("grid27", 1.7, " (the paper: nlpkkt160)"),
            _factor("cliques", 1.1, " (the paper: coPapersCiteseer)"),
            Claim(
                "both cullings, the largest of all graphs",
                "less than 1.05",
                "section 4.2",
                below(1.05),
                "summary › Redundant expansion by culling › both",
                lambda reports: max(_factors(reports, "both").values()),
            ),
        ),
    ),
    Figure(
        6,
        "figure 8",
        "False negatives of look-ups, %",
        "lookup",
        (
            _negatives("bitmask, mean", 6.4, lambda reports: _wrong(reports, "bitmask")),
            _negatives("bitmask and labels, mean", 4.0, lambda reports: _wrong(reports, "label")),
            _negatives(
                "labels, kkt_power",
                3.5,
                lambda reports: _wrong(reports, "label", ("kkt_power",)),
                "the file kkt_power",
            ),
            Claim(
                "labels over warp culling, lattices and mesh",
                "10",
                "section 4.2",
                order(10),
                WRONG,
                lambda reports: _wrong(reports, "label", SPARSE) / _wrong(reports, "warp_culling", SPARSE),
            ),
        ),
    ),
    Figure(
        7,
        "figure 9",
        "One kernel against two",
        "gather",
        (
            Claim(
                "graphs where two kernels are faster, %",
                "the majority",
                "section 4.3",
                above(50),
                "summary › Gathering and look-up, fused or apart",
                lambda reports: _share(_apart_over_fused(reports)),
            ),
            Claim(
                "one kernel over two, plane lattice",
                "net slowdown of two",
                "section 4.3",
                above(1),
                "summary › Gathering and look-up, fused or apart",
                lambda reports: 1 / _apart_over_fused(reports, ("grid5",))[0],
            ),
        ),
    ),
)
