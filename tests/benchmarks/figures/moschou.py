"""Moschou, Parallel Graph Algorithms: Adaptive BFS & Afforest; our text of it states no year."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.figures.machines import LINK, MOSCHOU_LINK, peak
from tests.benchmarks.figures.model import (
    CPU,
    Claim,
    Figure,
    Paper,
    Reports,
    Run,
    above,
    below,
    near,
    order,
    sets,
)
from tests.benchmarks.figures.reports import Missing


def _where(*searches: str) -> tuple[str, ...]:
    return tuple(word for name in searches for word in ("--where", f"search={name}"))


WHERE = _where(
    *("adaptive", "adaptive_one_lane", "single_pass", "single_pass_one_lane"),
    *("single_pass_unpruned_one_lane", "multi_pass_one_lane"),
)

LARGE = (*WHERE, "--where", "order=original")

RUNS = (
    Run(
        "moschou",
        "papers/moschou_tables",
        (*sets(vertices=600, sources=1), *WHERE),
        (*sets(vertices=500000, placements="[pinned]", sources=2), *WHERE),
        60,
        preset="moschou",
    ),
    Run(
        "friendster",
        "papers/moschou_tables",
        (*sets(vertices=600, sources=1), *LARGE),
        (
            *sets(vertices=65608366, device_memory="5.8 GB", placements="[pinned]"),
            *sets(sources=1, keep=False),
            *LARGE,
        ),
        240,
        preset="moschou",
    ),
    Run(
        "rows",
        "papers/moschou_tables",
        (*sets(vertices=600, sources=1), *_where("bfs")),
        (*sets(vertices=100000, sources=1), *_where("bfs")),
        300,
        CPU,
        kernels=("gravel.kernels.layouts.varint",),
    ),
)

PRINTED = "Printed in moschou: "
HERE = "its way here"
PASSES = "Afforest by passes and pruning"


def _cell(reports: Reports, table: str, row: str, column: str) -> float:
    """Return a value of a table as it is printed, measured by the report's own way; units are left out."""
    for line in reports["summary"].rows(PRINTED + table):
        if str(line["row"]).partition(" (")[0] == row.partition(" (")[0]:
            (name,) = [each for each in line if each.startswith(column) and each.endswith(HERE)]
            value: Any = line[name]
            if value is None or isinstance(value, str):
                raise Missing(value or f"nothing in {table}, {row}, {column}")
            return float(value)
    raise Missing(f"no row {row!r} in {table}")


def _where_in(table: str, column: str) -> str:
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
        "section 4.3",
        order(stated),
        _where_in("table 1", "Speedup"),
        lambda reports: _cell(reports, "table 1", row, "Speedup"),
    )


def _bandwidth(algorithm: str, stated: float) -> Claim:
    column = f"{algorithm} (compressed)"
    share = 100 * stated * 1e9 / MOSCHOU_LINK

    def measured(reports: Reports) -> float:
        rate = _cell(reports, "table 2", "Bandwidth usage, 10^9 bytes/s", column)
        return 100 * rate * 1e9 / peak(reports["summary"].machine, LINK)

    return Claim(
        f"{algorithm}, share of the link's peak, %",
        f"{share:.3g} ({stated} GB/s)",
        "section 4.3",
        order(share),
        _where_in("table 2", column),
        measured,
    )


def _passes(what: str, theirs: str, stated: float, slower: str, faster: str) -> Claim:
    def ratio(reports: Reports) -> float:
        times = [_cell(reports, PASSES, row, "Compressed (ms)") for row in (slower, faster)]
        return times[0] / times[1]

    rule = order(stated) if stated > 1.5 else above(1)
    return Claim(what, theirs, "sections 2.4, 4.4", rule, _where_in(PASSES, "Compressed"), ratio)


def _rcm(row: str, stated: int) -> Claim:
    def change(reports: Reports) -> float:
        times = [_cell(reports, "table 3", row, column) for column in ("RCM", "Original")]
        return 100 * (times[0] / times[1] - 1)

    return Claim(
        f"RCM, {row}, time, %",
        f"{stated:+d}",
        "section 5.3",
        above(0) if stated > 0 else below(0),
        _where_in("table 3", "RCM and Original"),
        change,
    )


def _order_time(reports: Reports) -> float:
    """Divide the time to find and apply the order by that of a search of plain rows, as 2.3 by 12.0 s."""
    for row in reports["summary"].rows("Beside moschou, time of the RCM order"):
        (name,) = [each for each in row if each.startswith("here")]
        return float(row[name]) / _cell(reports, "table 1", "Adaptive BFS, uncompressed", "Time")
    raise Missing("no order was timed")


PAPER = Paper(
    "moschou",
    "Moschou",
    RUNS,
    (
        Figure(
            25,
            "table 1",
            "Searches of rows in host memory",
            "friendster",
            (
                _speedup("Adaptive BFS", 2.62),
                _speedup("Afforest", 1.09),
                Claim(
                    "columns over varint rows, bytes",
                    "1.48",
                    "section 4.2",
                    near(1.48),
                    "summary › Compression by order › varint, bits per arc",
                    _ratio,
                    run="rows",
                ),
            ),
        ),
        Figure(
            26,
            "table 2",
            "Compressed searches",
            "friendster",
            (_bandwidth("BFS", 2.0), _bandwidth("Afforest", 0.42)),
        ),
        Figure(
            27,
            "table 3",
            "What RCM order changes",
            "moschou",
            (_rcm("BFS Uncompressed", -28), _rcm("BFS Compressed", 15), _rcm("Afforest Compressed", 30)),
        ),
        Figure(
            29,
            "text",
            "Afforest by passes and pruning, compressed; RCM",
            "friendster",
            (
                _passes(
                    "passes until nothing changes over one",
                    "46 / 21.6 s",
                    46 / 21.6,
                    "passes until nothing changes, pruned",
                    "single pass, pruned",
                ),
                _passes(
                    "without pruning over with",
                    "23.5 / 21.6 s",
                    23.5 / 21.6,
                    "single pass, not pruned",
                    "single pass, pruned",
                ),
                Claim(
                    "RCM order over a search of plain rows",
                    "2.3 / 12.0 s",
                    "section 5.2",
                    order(2.3 / 12.0),
                    "summary › Beside moschou, time of the RCM order › here",
                    _order_time,
                    run="moschou",
                ),
            ),
        ),
    ),
    {
        "25": "the link is faster here, and decoding by one lane takes longer than reading plain rows: "
        "compressed searches use 3 to 4 % of it. The generated crawl order has other gaps than Friendster's.",
    },
)
