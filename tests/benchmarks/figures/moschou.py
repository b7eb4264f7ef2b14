"""Moschou, Parallel Graph Algorithms: Adaptive BFS & Afforest; our text of it states no year."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.figures.model import Claim, Figure, Paper, Reports, Run, above, below, near, order, sets
from tests.benchmarks.figures.reports import Missing

WHERE = tuple(
    word
    for name in ("adaptive", "adaptive_one_lane", "single_pass", "single_pass_one_lane")
    for word in ("--where", f"search={name}")
)

RUNS = (
    Run(
        "moschou",
        "papers/moschou_tables",
        (*sets(vertices=600, sources=1), *WHERE),
        (*sets(vertices=500000, placements="[pinned]", sources=2), *WHERE),
        45,
    ),
)

PRINTED = "Printed in moschou: "
HERE = "its way here"


def _cell(reports: Reports, table: str, row: str, column: str) -> float:
    """Return a value of a table as it is printed, measured by the report's own way."""
    for line in reports["summary"].rows(PRINTED + table):
        if line["row"] == row:
            value: Any = line[f"{column}, {HERE}"]
            if value is None or isinstance(value, str):
                raise Missing(value or f"nothing in {table}, {row}, {column}")
            return float(value)
    raise Missing(f"no row {row!r} in {table}")


def _where(table: str, column: str) -> str:
    return f"summary › {PRINTED}{table} › {column}, {HERE}"


def _ratio(reports: Reports) -> float:
    for row in reports["summary"].rows("Compression by order"):
        if row["order"] == "original":
            return float(32 / row["varint, bits per arc"])
    raise Missing("no row of the original order")


def _speedup(algorithm: str, stated: float) -> Claim:
    row = f"{algorithm}, compressed"
    return Claim(
        f"{algorithm}, plain over varint",
        f"{stated}",
        order(stated),
        _where("table 1", "Speedup"),
        lambda reports: _cell(reports, "table 1", row, "Speedup"),
    )


def _bandwidth(algorithm: str, stated: float) -> Claim:
    column = f"{algorithm} (compressed)"
    return Claim(
        f"{algorithm}, 10^9 bytes of rows/s",
        f"{stated}",
        above(stated),
        _where("table 2", column),
        lambda reports: _cell(reports, "table 2", "Bandwidth usage, 10^9 bytes/s", column),
    )


def _rcm(row: str, stated: int) -> Claim:
    def change(reports: Reports) -> float:
        times = [_cell(reports, "table 3", row, column) for column in ("RCM", "Original")]
        return 100 * (times[0] / times[1] - 1)

    return Claim(
        f"RCM, {row}, time, %",
        f"{stated:+d}",
        above(0) if stated > 0 else below(0),
        _where("table 3", "RCM and Original"),
        change,
    )


PAPER = Paper(
    "moschou",
    "Moschou",
    RUNS,
    (
        Figure(
            25,
            "table 1",
            "Searches of rows in host memory",
            "moschou",
            "values",
            (
                _speedup("Adaptive BFS", 2.62),
                _speedup("Afforest", 1.09),
                Claim(
                    "columns over varint rows, bytes",
                    "1.48",
                    near(1.48),
                    "summary › Compression by order › varint, bits per arc",
                    _ratio,
                    why="the generated crawl order has other gaps than Friendster's",
                ),
            ),
        ),
        Figure(
            26,
            "table 2",
            "Compressed searches",
            "moschou",
            "values",
            (_bandwidth("BFS", 2.0), _bandwidth("Afforest", 0.42)),
        ),
        Figure(
            27,
            "table 3",
            "What RCM order changes",
            "moschou",
            "values",
            (_rcm("BFS Uncompressed", -28), _rcm("BFS Compressed", 15), _rcm("Afforest Compressed", 30)),
        ),
    ),
)
