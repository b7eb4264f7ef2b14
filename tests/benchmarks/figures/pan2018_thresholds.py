"""Pan, Pearce, Owens, IPDPS 2018: degree thresholds, on RMAT graphs and on a stand-in for Friendster."""

from __future__ import annotations

from statistics import fmean

from tests.benchmarks.figures.model import CPU, TWO, Claim, Figure, Reports, Run, above, below, between, sets
from tests.benchmarks.figures.pan2018_ranks import FEW, NCCL
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


def _sizes(scale: int, count: int) -> str:
    """Graphs that grow with the ranks: 2^scale vertices on each."""
    sizes = (f"{{scale: {scale + power}, ranks: {2**power}}}" for power in range(count))
    return f"[{', '.join(sizes)}]"


def _friends(vertices: int) -> str:
    return f"{{friends: {{source: {{communities: {{vertices: {vertices}, degree: 40, seed: 1}}}}}}}}"


PARTITIONS = ("gravel.kernels.partition.census", "gravel.kernels.partition.threshold")

WDC = "{wdc: {source: {irregular_grid: {dimensions: [%d, %d], share: 0.0000001, degree: 512, seed: 1}}}}"
"""A long lattice with two hubs: about 300 levels, most of them small, as WDC 2012 has (section VI-D)."""

THRESHOLD_RUNS = (
    Run(
        "divisions",
        "papers/delegates_thresholds",
        sets(graphs=_kron(7, 8), thresholds="[8]", ranks=RANKS, sources=1),
        sets(graphs=_kron(16), thresholds="[64]", ranks=PAPER_RANKS, sources=1),
        300,
        CPU,
        "pan2018",
        PARTITIONS,
    ),
    Run(
        "suggestions",
        "papers/delegates_ranks",
        sets(sizes=_sizes(7, 2), sources=1),
        sets(sizes=_sizes(13, 5), sources=1),
        300,
        CPU,
        "pan2018",
        PARTITIONS,
    ),
    Run(
        "thresholds",
        "papers/delegates_thresholds",
        sets(graphs=_kron(7), thresholds="[8, 64]", ranks=RANKS, sources=1),
        (*sets(graphs=_kron(24), thresholds="[16, 32, 64, 128]", ranks=2, sources=FEW, groups=1), *NCCL),
        90,
        TWO,
        "pan2018",
    ),
    Run(
        "friends",
        "papers/delegates_thresholds",
        sets(graphs=_friends(300), thresholds="[8, 16]", ranks=RANKS, sources=1),
        (
            *sets(graphs=_friends(8000000), thresholds="[16, 32, 64, 128]", ranks=2, sources=FEW, groups=1),
            *NCCL,
        ),
        90,
        TWO,
        "pan2018",
    ),
    Run(
        "friends_divisions",
        "papers/delegates_thresholds",
        sets(graphs=_friends(300), thresholds="[8]", ranks=RANKS, sources=1),
        sets(graphs=_friends(200000), thresholds="[64]", ranks=PAPER_RANKS, sources=1),
        300,
        CPU,
        "pan2018",
        PARTITIONS,
    ),
    Run(
        "wdc",
        "papers/delegates_thresholds",
        sets(graphs=WDC % (40, 30), thresholds="[256]", ranks=RANKS, sources=1),
        (*sets(graphs=WDC % (8000, 2000), thresholds="[256]", ranks=2, sources=FEW, groups=1), *NCCL),
        60,
        TWO,
        "pan2018",
    ),
)


def _partitions(reports: Reports, column: str) -> float:
    """Return a share of the bytes that a partition takes, at the suggested threshold of the largest graph."""
    rows = [row for row in reports["summary"].rows("Partitions") if row["run"].startswith("suggested")]
    if not rows:
        raise Missing("no partition at the suggested threshold")
    return float(max(rows, key=lambda row: row["arcs"])[column])


def _suggested(reports: Reports) -> list[dict[str, float]]:
    return sorted(reports["summary"].rows("Suggested degree thresholds"), key=lambda row: row["ranks"])


def _suitable(reports: Reports) -> float:
    """Return how far apart thresholds lie that leave 10 % nn arcs and n / 4 delegates at most; 0 for none."""
    curves = reports["summary"].data("Vertices and arcs over degree thresholds")
    division = list(curves.values())[-1]
    delegates = next(values for name, values in division.items() if name.startswith("delegates"))
    shares = zip(division["threshold"], delegates, division["nn arcs"], strict=True)
    fit = [
        threshold
        for threshold, delegate, nn in shares
        if threshold > 0 and nn <= 10 and delegate <= 400 / PAPER_RANKS
    ]
    return float(max(fit) / min(fit)) if fit else 0.0


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
    """Return by how much the suggested threshold grows as graph and ranks do, from the least to the most."""
    found = _suggested(reports)
    return found[-1]["threshold"] / found[0]["threshold"]


def _below_line(reports: Reports) -> float:
    """Return the largest share of delegates over 4 / p, the line of the paper's figure."""
    return max(row["delegates, %"] * row["ranks"] / 400 for row in _suggested(reports))


def _levels(reports: Reports) -> float:
    """Return the mean number of levels."""
    rows = reports["summary"].rows("Searches over ranks")
    return float(fmean(row["levels"] for row in rows))


def _directions(reports: Reports) -> float:
    """Return the rate of DOBFS over that of BFS."""
    times = {
        axes_of(row["run"])["directions"]: row["median ms"]
        for row in reports["summary"].rows("Searches over ranks")
    }
    return float(times["BFS"] / times["DOBFS"])


def _wide(directions: str, section: str) -> Claim:
    return Claim(
        f"{directions}: span of thresholds within 25 % of the best",
        "a wide range",
        section,
        above(1.9),
        TIMES,
        lambda reports: _near_best(reports, directions),
    )


FIT = "span of thresholds with nn arcs up to 10 %, delegates up to n / 4"

THRESHOLDS = (
    Figure(
        14,
        "table I",
        "Bytes of the four subgraphs",
        "divisions",
        (
            Claim(
                "of the edge list",
                "about one third",
                "section III-C",
                between(0.25, 0.4),
                "summary › Partitions › of edge list",
                lambda reports: _partitions(reports, "of edge list"),
            ),
            Claim(
                "of CSR",
                "a little more than half",
                "section III-C",
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
        "divisions",
        (Claim(FIT, "a range", "section VI-B", above(2), DIVISION, _suitable),),
    ),
    Figure(
        16,
        "figure 6",
        "Rates over thresholds, RMAT",
        "thresholds",
        (
            _wide("DOBFS", "section VI-B"),
            _wide("BFS", "section VI-B"),
            Claim(
                "time at 64 over the best, DOBFS",
                "best from 45 to 90",
                "section VI-B",
                below(1.25),
                TIMES,
                lambda reports: _at(reports, 64),
            ),
        ),
    ),
    Figure(
        17,
        "figure 7",
        "Suggested thresholds as scale and ranks grow",
        "suggestions",
        (
            Claim(
                "threshold at the largest scale over the smallest",
                "increases",
                "section VI-B",
                above(1),
                "summary › Suggested degree thresholds › threshold",
                _growth,
            ),
            Claim(
                "delegates over the line 4 n / p, at most",
                "1.75 / 3.23",
                "section VI-B",
                below(1),
                "summary › Suggested degree thresholds › delegates, %",
                _below_line,
            ),
            Claim(
                "nn arcs, at most, %",
                "6.3",
                "section VI-B",
                below(10),
                "summary › Suggested degree thresholds › nn arcs, %",
                lambda reports: max(row["nn arcs, %"] for row in _suggested(reports)),
            ),
        ),
    ),
    Figure(
        22,
        "figure 12",
        "Divisions over thresholds, Friendster (here communities)",
        "friends_divisions",
        (Claim(FIT, "a wide range", "section VI-D", above(2), DIVISION, _suitable),),
    ),
    Figure(
        23,
        "figure 13",
        "Rates over thresholds, Friendster (here communities)",
        "friends",
        (_wide("DOBFS", "section VI-D"), _wide("BFS", "section VI-D")),
    ),
    Figure(
        30,
        "text",
        "WDC 2012 (here hubs in a long lattice)",
        "wdc",
        (
            Claim(
                "levels, mean",
                "about 330",
                "section VI-D",
                between(110, 990),
                "summary › Searches over ranks › levels",
                _levels,
            ),
            Claim(
                "rate of DOBFS over BFS",
                "79.7 / 84.2",
                "section VI-D",
                between(0.85, 1.0),
                "summary › Searches over ranks › median ms",
                _directions,
            ),
        ),
    ),
)
