"""Pan, Pearce, Owens, IPDPS 2018: options, and weak and strong scaling over ranks, with their settings."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.figures.model import (
    FOUR,
    TWO,
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
from tests.benchmarks.figures.reports import Missing

NCCL = sets(backend="cuda", transport="nccl")
"""How timed runs exchange: peer ranks send no messages and reduce no whole masks."""

FEW = 20
"""Searches: the paper has 140. All labels come to one process, in a quarter of a second a search."""

ONE_RANK = "{groups: 1}"
"""GPUs of a node are one MPI rank's (1 x 1 x 2 in table II), which reduces masks within (section V-A)."""

SCALING_RUNS = (
    Run(
        "options",
        "papers/delegates_paper",
        sets(scale=7, sources=3),
        (*sets(scale=25, ranks=2, sources=FEW), *NCCL),
        120,
        TWO,
        "pan2018",
    ),
    Run(
        "scaling",
        "papers/delegates_scaling",
        sets(
            weak="[{scale: 6, ranks: 1}, {scale: 7, ranks: 2}]",
            strong="[{scale: 7, ranks: 1}, {scale: 7, ranks: 2}]",
            sources=2,
        ),
        (
            *sets(
                weak="[{scale: 24, ranks: 1}, {scale: 25, ranks: 2}]",
                strong="[{scale: 25, ranks: 1}, {scale: 25, ranks: 2}]",
                sources=FEW,
                tuning=ONE_RANK,
                keep="false",
            ),
            *NCCL,
        ),
        150,
        TWO,
        "pan2018",
    ),
)

PARTS = "summary › Where searches over ranks spend their time"


def _part(reports: Reports, option: str, *parts: str) -> float:
    data = reports["summary"].data("Where searches over ranks spend their time")
    place = data["run"].index(option)
    return float(sum(data[part][place] for part in parts))


def _communication(reports: Reports, option: str) -> float:
    """Return the time of communication; over NCCL alone, since other ranks do not read `reduction`."""
    rows = reports["summary"].rows("Searches over ranks")
    if not all("transport=nccl" in str(row["options"]) for row in rows):
        raise Missing("the ranks were not over NCCL")
    return _part(reports, option, "reduce", "local_exchange", "remote_exchange")


def _scaled(reports: Reports, entry: str, column: str) -> dict[int, float]:
    """Return a column by number of ranks; ranks that took turns do not scale, and count as missing."""
    rows = reports[f"{entry}.summary"].rows("Searches over ranks")
    return {row["ranks"]: row[column] for row in rows if row["ranks ran"] == "at once"}


def _over_one(reports: Reports, entry: str, column: str, ranks: int) -> float:
    found = _scaled(reports, entry, column)
    if not {1, ranks} <= found.keys():
        raise Missing(f"no {ranks} ranks at once")
    return found[ranks] / found[1]


def _rate(entry: str, ranks: int, growth: int) -> Callable[[Reports], float]:
    """Return the rate of generated edges over that of one rank, on a graph so many times as large."""
    return lambda reports: growth / _over_one(reports, entry, "median ms", ranks)


def _table2(ranks: int, scale: int, stated: str, waits: str) -> Claim:
    """Compare rates of table II as ratios: ours are those of the same sizes."""
    theirs = float(stated.partition(" / ")[0]) / 22.9
    return Claim(
        f"scale {scale}, {ranks} GPUs",
        stated,
        "section VI-C",
        near(theirs) if ranks < 8 else order(theirs),
        "weak.summary › Searches over ranks › median ms",
        _rate("weak", ranks, 2 ** (scale - 24)),
        waits=waits,
    )


SCALING = (
    Figure(
        18,
        "figure 8",
        "Parts of a search by options",
        "options",
        (
            Claim(
                "computation, BFS over DO",
                "3",
                "section VI-B",
                order(3),
                PARTS,
                lambda reports: _part(reports, "BFS", "visit") / _part(reports, "DO", "visit"),
            ),
            Claim(
                "whole search, with L and U over without",
                "a small amount more",
                "section VI-B",
                below(1.25),
                PARTS,
                lambda reports: _part(reports, "DO_LU", "whole") / _part(reports, "DO", "whole"),
            ),
            Claim(
                "communication, IR over BR, fewer than 8 nodes",
                "less",
                "section VI-B",
                below(1),
                PARTS,
                lambda reports: _communication(reports, "DO_IR") / _communication(reports, "DO"),
            ),
        ),
    ),
    Figure(
        19,
        "figure 9",
        "Weak scaling",
        "scaling",
        (
            Claim(
                "rate of a rank among two over that of one alone, %",
                "mostly linear",
                "section VI-C",
                above(90),
                "weak.summary › Searches over ranks › median ms",
                lambda reports: 100 * _rate("weak", 2, 2)(reports) / 2,
            ),
        ),
    ),
    Figure(
        20,
        "figure 10",
        "Parts of searches as graph and GPUs grow",
        "scaling",
        (
            Claim(
                "computation, two ranks over one, weak",
                "grows slowly",
                "section VI-C",
                below(1.5),
                "weak.summary › Searches over ranks › local computation, ms",
                lambda reports: _over_one(reports, "weak", "local computation, ms", 2),
            ),
        ),
    ),
    Figure(
        21,
        "figure 11",
        "Strong scaling of one graph",
        "scaling",
        (
            Claim(
                "rate of twice the GPUs, more, %",
                "29",
                "section VI-C",
                above(0),
                "strong.summary › Searches over ranks › median ms",
                lambda reports: 100 * (_rate("strong", 2, 1)(reports) - 1),
            ),
        ),
    ),
    Figure(
        24,
        "table II",
        "Rates over that of scale 24 on one GPU",
        "scaling",
        (
            _table2(2, 25, "32.5 / 22.9", TWO),
            _table2(4, 26, "39.8 / 22.9", FOUR),
            _table2(8, 29, "53.13 / 22.9", "eight GPUs"),
            _table2(124, 33, "259.8 / 22.9", "124 GPUs"),
        ),
    ),
)
