"""Pan, Pearce, Owens, IPDPS 2018: options, and weak and strong scaling over ranks."""

from __future__ import annotations

from tests.benchmarks.figures.model import Claim, Figure, Reports, Run, above, below, order, sets
from tests.benchmarks.figures.reports import Missing

SEVERAL = "several GPUs"

SCALING_RUNS = (
    Run(
        "options",
        "papers/delegates_paper",
        sets(scale=7, sources=3),
        sets(scale=21, sources=32, backend="cuda"),
        50,
    ),
    Run(
        "scaling",
        "papers/delegates_scaling",
        sets(
            weak="[{scale: 6, ranks: 1}, {scale: 7, ranks: 2}, {scale: 8, ranks: 4}]",
            strong="[{scale: 8, ranks: 1}, {scale: 8, ranks: 2}, {scale: 8, ranks: 4}]",
            sources=2,
            output="distance",
        ),
        sets(
            weak="[{scale: 20, ranks: 1}, {scale: 21, ranks: 2}, {scale: 22, ranks: 4}]",
            strong="[{scale: 22, ranks: 1}, {scale: 22, ranks: 2}, {scale: 22, ranks: 4}]",
            sources=8,
            output="distance",
            backend="cuda",
            keep="false",
        ),
        70,
    ),
)

PARTS = "summary › Where searches over ranks spend their time"


def _part(reports: Reports, option: str, *parts: str) -> float:
    data = reports["summary"].data("Where searches over ranks spend their time")
    place = data["run"].index(option)
    return float(sum(data[part][place] for part in parts))


def _communication(reports: Reports, option: str) -> float:
    return _part(reports, option, "reduce", "local_exchange", "remote_exchange")


def _scaled(reports: Reports, entry: str, column: str) -> dict[int, float]:
    """Return a column of the searches over ranks by number of ranks."""
    rows = reports[f"{entry}.summary"].rows("Searches over ranks")
    return {row["ranks"]: row[column] for row in rows}


def _weak_efficiency(reports: Reports) -> float:
    """Return the time of one rank over that of four ranks on a graph four times as large."""
    times = _scaled(reports, "weak", "median ms")
    return times[1] / times[4]


def _generated(reports: Reports, ranks: int) -> float:
    """Return 10^9 edges of the generator's list per second, by the geometric mean of the times."""
    found = reports["strong.summary"]
    (read,) = found.rows("Edges read")
    for row in found.rows("Geometric means as the paper takes them"):
        if row["run"].endswith(f"ranks={ranks}]"):
            return float(read["edges"] / row["geometric mean, ms"] / 1e6)
    raise Missing(f"no searches with {ranks} ranks")


SCALING = (
    Figure(
        18,
        "figure 8",
        "Parts of a search by options",
        "options",
        "shape",
        (
            Claim(
                "computation, BFS over DO",
                "3",
                order(3),
                PARTS,
                lambda reports: _part(reports, "BFS", "visit") / _part(reports, "DO", "visit"),
            ),
            Claim(
                "whole search, with L and U over without",
                "hardly more",
                below(1.25),
                PARTS,
                lambda reports: _part(reports, "DO_LU", "whole") / _part(reports, "DO", "whole"),
            ),
            Claim(
                "communication, IR over BR",
                "above 1",
                above(1),
                PARTS,
                lambda reports: _communication(reports, "DO_IR") / _communication(reports, "DO"),
                needs=SEVERAL,
            ),
        ),
    ),
    Figure(
        19,
        "figure 9",
        "Weak scaling, to 259.8 GTEPS on 124 GPUs",
        "scaling",
        "values",
        (
            Claim(
                "rate of a rank among four over that of one alone",
                "1 (linear)",
                above(0.9),
                "weak.summary › Searches over ranks › median ms",
                _weak_efficiency,
                needs=SEVERAL,
            ),
        ),
    ),
    Figure(
        20,
        "figure 10",
        "Parts of searches as graph and GPUs grow",
        "scaling",
        "shape",
        (
            Claim(
                "computation, four ranks over one, weak",
                "grows slowly",
                below(1.5),
                "weak.summary › Searches over ranks › local computation, ms",
                lambda reports: (found := _scaled(reports, "weak", "local computation, ms"))[4] / found[1],
                needs=SEVERAL,
            ),
        ),
    ),
    Figure(
        21,
        "figure 11",
        "Strong scaling of one graph",
        "scaling",
        "values",
        (
            Claim(
                "rate of twice the GPUs, more, %",
                "29, then flat",
                above(0),
                "strong.summary › Searches over ranks › median ms",
                lambda reports: 100 * ((found := _scaled(reports, "strong", "median ms"))[1] / found[2] - 1),
                needs=SEVERAL,
            ),
        ),
    ),
    Figure(
        24,
        "table II",
        "Rates, 10^9 generated edges/s",
        "scaling",
        "values",
        (
            Claim(
                "one GPU (the paper: scale 24)",
                "22.9",
                above(22.9),
                "strong.summary › Geometric means as the paper takes them › geometric mean, ms",
                lambda reports: _generated(reports, 1),
            ),
            Claim(
                "four ranks (the paper: scale 26, 4 GPUs)",
                "39.8",
                above(39.8),
                "strong.summary › Geometric means as the paper takes them › geometric mean, ms",
                lambda reports: _generated(reports, 4),
                needs=SEVERAL,
            ),
        ),
    ),
)
