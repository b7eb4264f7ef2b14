"""Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal, PPoPP 2012."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import harmonic_mean

from tests.benchmarks.figures.merrill2012_parts import PARTS, PARTS_RUNS
from tests.benchmarks.figures.merrill2012_stripes import STRIPES, STRIPES_RUNS
from tests.benchmarks.figures.model import Claim, Figure, Paper, Reports, Run, above, near, order, sets
from tests.benchmarks.figures.reports import Missing

DEEP = ("grid5", "grid7", "mesh")
DENSE = ("kron", "rmat", "uniform")
RMAT = "{rmat: {scale: SCALE, edge_factor: 32, seed: 1, a: 0.45, b: 0.15, c: 0.15}}"


def _strategies(scale: int, sources: int) -> tuple[str, ...]:
    return sets(sources=sources, graph=f"{{source: {RMAT.replace('SCALE', str(scale))}}}")


SEARCHES = ("serial", "quadratic_warp", "expand_contract", "contract_expand", "two_phase", "hybrid")
WHERE = tuple(word for name in SEARCHES for word in ("--where", f"search={name}"))

OUTPUTS_WHERE = ("--where", "strategy=serial", "--where", "strategy=hybrid")

RUNS = (
    Run(
        "suite",
        "suite",
        (*sets(side=12, cube=5, scale=6, degree=32, sources=2), *WHERE),
        (*sets(side=1000, cube=100, scale=20, degree=32, sources=4), *WHERE),
        120,
    ),
    Run(
        "outputs",
        "strategies",
        (*_strategies(6, 2), *OUTPUTS_WHERE),
        (*_strategies(20, 8), *OUTPUTS_WHERE),
        40,
    ),
)


def _searched(reports: Reports, graph: str) -> dict[str, float]:
    rows = reports["summary"].rows("Graphs searched")
    for row in rows:
        if row["graph"] == graph:
            return row
    raise Missing(f"no graph {graph}")


def _depth(graph: str, dimensions: int) -> Claim:
    stated = {2: 7500 / 5000, 3: 679 / 300}[dimensions]
    name = {2: "square", 3: "cube"}[dimensions]
    return Claim(
        f"search depth over the side of a {name}",
        f"{stated:.2f}",
        near(round(stated, 2)),
        "summary › Graphs searched › search depth, vertices",
        lambda reports: (
            (found := _searched(reports, graph))["search depth"] / found["vertices"] ** (1 / dimensions)
        ),
    )


def _frontier(reports: Reports, graph: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = reports["summary"].data("Frontiers of each graph")[graph]
    return found


def _bulk(reports: Reports) -> float:
    arcs = sorted(_frontier(reports, "kron")["arcs"])
    return sum(arcs[-2:]) / sum(arcs)


def _duplicates(reports: Reports) -> float:
    """Share of what contraction drops that a removal of duplicates drops."""
    found = _frontier(reports, "kron")
    arcs, distinct = sum(found["arcs"]), sum(found["distinct"])
    return (arcs - distinct) / (arcs - sum(found["vertices"][1:]))


def _times(reports: Reports, search: str) -> Mapping[str, float]:
    return reports["summary"].times(search=search)


def _ratios(reports: Reports, slower: str, faster: str, graphs: tuple[str, ...] = ()) -> list[float]:
    above_, below_ = _times(reports, slower), _times(reports, faster)
    return [above_[name] / below_[name] for name in above_ if not graphs or name in graphs]


def _rate(graph: str, stated: float) -> Claim:
    return Claim(
        f"{graph}, 10^9 arcs/s",
        f"{stated}",
        above(stated),
        "summary › Traversal times and rates › G arcs/s, geometric mean (of hybrid)",
        lambda reports: reports["summary"].arc_rates(search="hybrid")[graph],
    )


def _predecessors(reports: Reports) -> float:
    """Return the change of a search's time from distances to predecessors, in percent."""
    found = reports["summary"]
    (more,) = found.times(strategy="hybrid", output="predecessor").values()
    (less,) = found.times(strategy="hybrid", output="distance").values()
    return 100 * (more / less - 1)


SUITE = (
    Figure(
        1,
        "table 1",
        "Search depths",
        "suite",
        "values",
        (
            _depth("grid5", 2),
            _depth("grid7", 3),
            Claim(
                "search depth, rmat of degree 64",
                "6",
                order(6),
                "summary › Graphs searched › search depth",
                lambda reports: _searched(reports, "rmat")["search depth"],
            ),
        ),
    ),
    Figure(
        2,
        "figure 3",
        "Frontiers of each level",
        "suite",
        "shape",
        (
            Claim(
                "arcs in the two largest levels, Kronecker",
                "the bulk",
                above(0.5),
                "summary › Frontiers of each graph › kron",
                _bulk,
            ),
            Claim(
                "of what contraction drops, duplicates",
                "much",
                above(0.5),
                "summary › Frontiers of each graph › kron",
                _duplicates,
            ),
        ),
    ),
)

WHOLE = (
    Figure(
        8,
        "figure 10",
        "The four searches",
        "suite",
        "shape",
        (
            Claim(
                "hybrid over expand-contract, the least of all graphs",
                "at least 1",
                above(0.95),
                "summary › Traversal times and rates › median ms",
                lambda reports: min(_ratios(reports, "expand_contract", "hybrid")),
            ),
            Claim(
                "contract-expand over two-phase, lattices and mesh",
                "above 1",
                above(1),
                "summary › Traversal times and rates › median ms",
                lambda reports: harmonic_mean(_ratios(reports, "two_phase", "contract_expand", DEEP)),
            ),
            Claim(
                "two-phase over contract-expand, large degrees",
                "above 1",
                above(1),
                "summary › Traversal times and rates › median ms",
                lambda reports: harmonic_mean(_ratios(reports, "contract_expand", "two_phase", DENSE)),
            ),
        ),
    ),
    Figure(
        9,
        "table 2",
        "Rates of the hybrid search",
        "suite",
        "values",
        (
            _rate("grid5", 0.6),
            _rate("grid7", 1.1),
            _rate("kron", 3.1),
            _rate("uniform", 3.0),
            _rate("rmat", 3.3),
            Claim(
                "harmonic mean over quadratic",
                "4.2",
                order(4.2),
                "summary › Traversal times and rates › median ms",
                lambda reports: harmonic_mean(_ratios(reports, "quadratic_warp", "hybrid")),
            ),
            Claim(
                "rmat over sequential",
                "22",
                order(22),
                "summary › Traversal times and rates › median ms",
                lambda reports: _ratios(reports, "serial", "hybrid", ("rmat",))[0],
            ),
            Claim(
                "rmat, predecessors instead of distances, more time, %",
                "19",
                order(19),
                "summary › Traversal times and rates › median ms",
                _predecessors,
                run="outputs",
            ),
        ),
    ),
)

PAPER = Paper(
    "merrill2012",
    "Merrill, Garland, Grimshaw, PPoPP 2012",
    (*RUNS, *PARTS_RUNS, *STRIPES_RUNS),
    tuple(sorted((*SUITE, *PARTS, *WHOLE, *STRIPES), key=lambda figure: figure.number)),
)
