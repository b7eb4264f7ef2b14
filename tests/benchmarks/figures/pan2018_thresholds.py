"""Pan, Pearce, Owens, IPDPS 2018: degree thresholds, on RMAT graphs and on a stand-in for Friendster."""

from __future__ import annotations

from itertools import pairwise

from tests.benchmarks.figures.model import Claim, Figure, Reports, Run, above, below, between, sets
from tests.benchmarks.figures.reports import Missing, axes_of

RANKS = 4

DIVISION = "summary › Vertices and arcs over degree thresholds"
TIMES = "summary › Searches over ranks › median ms"
PAPER_RANKS = 16
"""Of its graph of scale 30 with 2^26 vertices a GPU."""


def _kron(*scales: int) -> str:
    graphs = (
        f"kron{each}: {{source: {{rmat: {{scale: {each}, edge_factor: 16, seed: 1}}}}}}" for each in scales
    )
    return f"{{{', '.join(graphs)}}}"


def _friends(vertices: int) -> str:
    return f"{{friends: {{source: {{communities: {{vertices: {vertices}, degree: 40, seed: 1}}}}}}}}"


THRESHOLD_RUNS = (
    Run(
        "thresholds",
        "papers/delegates_thresholds",
        sets(graphs=_kron(7, 8), thresholds="[8, 64]", ranks=RANKS, sources=1),
        sets(
            graphs=_kron(18, 20, 21),
            thresholds="[16, 32, 64, 128]",
            ranks=RANKS,
            sources=8,
            backend="cuda",
        ),
        80,
    ),
    Run(
        "friends",
        "papers/delegates_thresholds",
        sets(graphs=_friends(300), thresholds="[8, 16]", ranks=RANKS, sources=1),
        sets(
            graphs=_friends(1000000), thresholds="[16, 32, 64, 128]", ranks=RANKS, sources=8, backend="cuda"
        ),
        60,
    ),
)


def _partitions(reports: Reports, column: str) -> float:
    """Return a share of the bytes that a partition takes, at the suggested threshold of the largest graph."""
    rows = [row for row in reports["summary"].rows("Partitions") if row["run"].startswith("suggested")]
    if not rows:
        raise Missing("no partition at the suggested threshold")
    return float(max(rows, key=lambda row: row["arcs"])[column])


def _suggested(reports: Reports) -> list[dict[str, float]]:
    rows = reports["summary"].rows("Suggested degree thresholds")
    sizes = {row["graph"]: row["vertices"] for row in reports["summary"].rows("Graphs searched")}
    return sorted(rows, key=lambda row: sizes[row["graph"]])


def _suitable(reports: Reports) -> float:
    """Return how far apart thresholds lie that leave 10 % nn arcs and 4 n / 16 delegates at most."""
    curves = reports["summary"].data("Vertices and arcs over degree thresholds")
    division = list(curves.values())[-1]
    delegates = next(values for name, values in division.items() if name.startswith("delegates"))
    shares = zip(division["threshold"], delegates, division["nn arcs"], strict=True)
    fit = [
        threshold
        for threshold, delegate, nn in shares
        if threshold > 0 and nn <= 10 and delegate <= 400 / PAPER_RANKS
    ]
    if not fit:
        raise Missing("no threshold has so few delegates and nn arcs")
    return float(max(fit) / min(fit))


def _curve(reports: Reports, directions: str) -> dict[int, float]:
    """Return the times of searches of the last graph by threshold."""
    found: dict[str, dict[int, float]] = {}
    for row in reports["summary"].rows("Searches over ranks"):
        axes = axes_of(row["run"])
        if axes.get("directions") == directions:
            found.setdefault(axes["graph"], {})[int(axes["threshold"])] = row["median ms"]
    if not found:
        raise Missing(f"no searches with {directions}")
    return list(found.values())[-1]


def _near_best(reports: Reports, directions: str) -> float:
    """Return how far apart thresholds lie whose time is within a quarter of the best."""
    curve = _curve(reports, directions)
    good = [threshold for threshold, ms in curve.items() if ms <= 1.25 * min(curve.values())]
    return max(good) / min(good)


def _at(reports: Reports, threshold: int) -> float:
    curve = _curve(reports, "DOBFS")
    return curve[threshold] / min(curve.values())


def _growth(reports: Reports) -> float:
    """Return by how much the suggested threshold grows from the smallest graph to the largest."""
    found = _suggested(reports)
    return found[-1]["threshold"] / found[0]["threshold"]


def _steps_down(reports: Reports) -> float:
    """Return the largest ratio of delegates' shares from one graph to the next larger."""
    shares = [row["delegates, %"] for row in _suggested(reports)]
    return max(later / before for before, later in pairwise(shares))


def _wide(name: str, directions: str, why: str = "") -> Claim:
    return Claim(
        f"{name}, {directions}: highest over lowest threshold within 25 % of the best",
        "a wide range",
        above(1.9),
        TIMES,
        lambda reports: _near_best(reports, directions),
        why=why,
    )


THRESHOLDS = (
    Figure(
        14,
        "table I",
        "Bytes of the four subgraphs",
        "thresholds",
        "values",
        (
            Claim(
                "of the edge list",
                "about a third",
                between(0.25, 0.4),
                "summary › Partitions › of edge list",
                lambda reports: _partitions(reports, "of edge list"),
            ),
            Claim(
                "of CSR",
                "a little more than half",
                between(0.5, 0.6),
                "summary › Partitions › of csr",
                lambda reports: _partitions(reports, "of csr"),
            ),
        ),
    ),
    Figure(
        15,
        "figure 5",
        "Divisions over thresholds, RMAT",
        "thresholds",
        "shape",
        (
            Claim(
                "highest over lowest threshold with nn arcs up to 10 %, delegates up to 4 n / 16",
                "a range",
                above(2),
                DIVISION,
                _suitable,
            ),
        ),
    ),
    Figure(
        16,
        "figure 6",
        "Rates over thresholds, RMAT",
        "thresholds",
        "shape",
        (
            _wide("RMAT", "DOBFS"),
            _wide("RMAT", "BFS"),
            Claim(
                "time at 64 over the best, DOBFS",
                "best from 45 to 90",
                below(1.25),
                TIMES,
                lambda reports: _at(reports, 64),
            ),
        ),
    ),
    Figure(
        17,
        "figure 7",
        "Suggested thresholds by scale",
        "thresholds",
        "shape",
        (
            Claim(
                "threshold of the largest graph over the smallest's",
                "grows with the scale",
                above(1),
                "summary › Suggested degree thresholds › threshold",
                _growth,
            ),
            Claim(
                "delegates, each scale over the one before, at most",
                "falls",
                below(1),
                "summary › Suggested degree thresholds › delegates, %",
                _steps_down,
            ),
            Claim(
                "nn arcs, at most, %",
                "6.3 at scale 33",
                below(10),
                "summary › Suggested degree thresholds › nn arcs, %",
                lambda reports: max(row["nn arcs, %"] for row in _suggested(reports)),
            ),
        ),
    ),
    Figure(
        22,
        "figure 12",
        "Divisions over thresholds, Friendster",
        "friends",
        "shape",
        (
            Claim(
                "highest over lowest threshold with nn arcs up to 10 %, delegates up to 4 n / 16",
                "a wide range",
                above(2),
                DIVISION,
                _suitable,
            ),
        ),
    ),
    Figure(
        23,
        "figure 13",
        "Rates over thresholds, Friendster",
        "friends",
        "shape",
        (_wide("communities", "DOBFS"), _wide("communities", "BFS")),
    ),
)
