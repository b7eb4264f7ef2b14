"""Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal, PPoPP 2012."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, harmonic_mean

from tests.benchmarks.figures.machines import MODEL_C2050, modelled_share
from tests.benchmarks.figures.merrill2012_parts import PARTS, PARTS_RUNS
from tests.benchmarks.figures.merrill2012_stripes import STRIPES, STRIPES_RUNS
from tests.benchmarks.figures.model import (
    COUNTERS,
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
from tests.benchmarks.figures.reports import Missing, axes_of

DEEP = ("grid5", "grid7", "mesh")
DENSE = ("kron", "rmat", "uniform")
RMAT = "{rmat: {scale: SCALE, edge_factor: 32, seed: 1, a: 0.45, b: 0.15, c: 0.15}}"


def _strategies(scale: int, sources: int) -> tuple[str, ...]:
    return sets(sources=sources, graph=f"{{source: {RMAT.replace('SCALE', str(scale))}}}")


def _where(axis: str, *values: str) -> tuple[str, ...]:
    return tuple(word for value in values for word in ("--where", f"{axis}={value}"))


FOUR = ("expand_contract", "contract_expand", "two_phase", "hybrid")
WHERE = _where("search", "serial", "quadratic", "quadratic_warp", *FOUR)
SMALL = sets(side=12, cube=5, scale=6, degree=32, kron_degree=48, sources=2)

RUNS = (
    Run(
        "depths",
        "suite",
        (*SMALL, *_where("search", "serial")),
        (
            *sets(side=500, cube=60, scale=18, degree=32, kron_degree=48, sources=4),
            *_where("search", "serial"),
        ),
        600,
        CPU,
    ),
    Run(
        "suite",
        "suite",
        (*SMALL, *WHERE),
        (*sets(side=1000, cube=100, scale=20, degree=32, kron_degree=48, sources=4), *WHERE),
        90,
        preset="merrill2012",
    ),
    Run(
        "outputs",
        "strategies",
        (*_strategies(6, 2), *_where("strategy", "serial", "hybrid")),
        (*_strategies(20, 8), *_where("strategy", "serial", "hybrid")),
        40,
        preset="merrill2012",
    ),
)


def _searched(reports: Reports, graph: str) -> dict[str, float]:
    for row in reports["summary"].rows("Graphs searched"):
        if row["graph"] == graph:
            return row
    raise Missing(f"no graph {graph}")


def _depth(graph: str, dimensions: int, stated: str) -> Claim:
    name = {2: "square", 3: "cube"}[dimensions]
    return Claim(
        f"search depth over the side of a {name}",
        stated,
        "section 3.1",
        near(round(float(stated.split(" / ")[0]) / float(stated.split(" / ")[1]), 2)),
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


def _counters(reports: Reports, search: str, *columns: str) -> float:
    """Return the sum of counters of a search, by arc in the mean over graphs of large degree."""
    found = []
    for row in reports["summary"].rows("Hardware counters of searches"):
        axes = axes_of(row["run"])
        if axes["search"] == search and axes["graph"] in DENSE:
            values = [row.get(column) for column in columns]
            if None in values:
                raise Missing(f"no counters of {row['run']}")
            found.append(sum(values))
    if not found:
        raise Missing(f"no search {search}")
    return fmean(found)


def _saved(reports: Reports) -> float:
    both = "DRAM read, B/arc", "DRAM written, B/arc"
    others = fmean(_counters(reports, name, *both) for name in ("contract_expand", "two_phase"))
    return _counters(reports, "expand_contract", *both) / others


def _moved(vertices: int, arcs: int, section: str, search: str) -> Claim:
    """Count what a search streams in each level, over the paper's sum for the whole graph.

    A vertex of a frontier has two row offsets read and its label written, and with a vertex queue passes out
    to it and back in. An arc is read and its bit looked up, and with an edge queue passes out and back in.
    """

    def counted(reports: Reports) -> float:
        frontier, graph = _frontier(reports, "grid7"), _searched(reports, "grid7")
        words = sum(
            vertices * level + arcs * edges
            for level, edges in zip(frontier["vertices"], frontier["arcs"], strict=True)
        )
        return words / (vertices * graph["vertices"] + arcs * graph["arcs"])

    return Claim(
        f"{search} on grid7, over theirs",
        f"{vertices}n+{arcs}m",
        section,
        near(1),
        "summary › Frontiers of each graph › grid7",
        counted,
    )


def _times(reports: Reports, search: str) -> Mapping[str, float]:
    return reports["summary"].times(search=search)


def _ratios(reports: Reports, slower: str, faster: str, graphs: tuple[str, ...] = ()) -> list[float]:
    above_, below_ = _times(reports, slower), _times(reports, faster)
    return [above_[name] / below_[name] for name in above_ if not graphs or name in graphs]


def _ratio(
    what: str, theirs: str, rule_at: float, slower: str, faster: str, graphs: tuple[str, ...]
) -> Claim:
    return Claim(
        what,
        theirs,
        "section 5.5",
        above(rule_at),
        "summary › Traversal times and rates › median ms",
        lambda reports: (min if not graphs else harmonic_mean)(_ratios(reports, slower, faster, graphs)),
    )


def _share(graph: str, rate: str, paper_graph: str) -> Claim:
    """Compare shares of the peak bandwidth: 4 (5n + 4m) bytes of the hybrid search over time and peak."""
    stated = MODEL_C2050[paper_graph]

    def measured(reports: Reports) -> float:
        size = _searched(reports, graph)
        ours = reports["summary"].arc_rates(search="hybrid")[graph]
        return modelled_share(ours, size["vertices"] / size["arcs"], reports["summary"].machine)

    return Claim(
        f"{graph}, share of peak, %",
        f"{stated:.2g} ({rate} G arcs/s)",
        "section 5.6",
        order(stated),
        "summary › Traversal times and rates › G arcs/s, geometric mean (of hybrid)",
        measured,
    )


def _predecessors(reports: Reports) -> float:
    """Return the change of a search's time from distances to predecessors, in percent."""
    found = reports["summary"]
    (more,) = found.times(strategy="hybrid", output="predecessor").values()
    (less,) = found.times(strategy="hybrid", output="distance").values()
    return 100 * (more / less - 1)


TIMES = "summary › Traversal times and rates › median ms"

WHOLE = (
    Figure(
        1,
        "table 1",
        "Search depths",
        "depths",
        (
            _depth("grid5", 2, "7500 / 5000"),
            _depth("grid7", 3, "679 / 300"),
            Claim(
                "search depth, rmat of degree 64",
                "6",
                "section 3.1",
                near(6),
                "summary › Graphs searched › search depth",
                lambda reports: _searched(reports, "rmat")["search depth"],
            ),
        ),
    ),
    Figure(
        2,
        "figure 3",
        "Frontiers of each level",
        "depths",
        (
            Claim(
                "arcs in the two largest levels, Kronecker (the paper: wikipedia)",
                "the bulk",
                "section 3.2",
                above(0.5),
                "summary › Frontiers of each graph › kron",
                _bulk,
            ),
            Claim(
                "of what contraction drops, duplicates",
                "much",
                "section 3.2",
                above(0.5),
                "summary › Frontiers of each graph › kron",
                _duplicates,
            ),
        ),
    ),
    Figure(
        8,
        "figure 10",
        "The four searches, as throughput over expand-contract's",
        "suite",
        (
            _ratio(
                "hybrid, the least of all graphs",
                "meets or exceeds",
                0.95,
                "expand_contract",
                "hybrid",
                (),
            ),
            _ratio(
                "contract-expand over two-phase, lattices and mesh",
                "excels",
                1,
                "two_phase",
                "contract_expand",
                DEEP,
            ),
            _ratio(
                "two-phase over contract-expand, large degrees",
                "leverages concurrency",
                1,
                "contract_expand",
                "two_phase",
                DENSE,
            ),
            Claim(
                "DRAM bytes of expand-contract over the others, large degrees",
                "50 %",
                "section 5.5",
                below(0.75),
                "counters › Hardware counters of searches › DRAM read, B/arc",
                _saved,
                run="counters",
                waits=COUNTERS,
            ),
            Claim(
                "thread instructions of contract-expand over expand-contract, large degrees",
                "nearly 50 % more",
                "section 5.5",
                above(1),
                "counters › Hardware counters of searches › thread instructions/arc",
                lambda reports: (
                    _counters(reports, "contract_expand", "thread instructions/arc")
                    / _counters(reports, "expand_contract", "thread instructions/arc")
                ),
                run="counters",
                waits=COUNTERS,
            ),
        ),
    ),
    Figure(
        9,
        "table 2",
        "The hybrid search",
        "suite",
        (
            _share("grid5", "0.6", "grid5pt.5000"),
            _share("grid7", "1.1", "grid7pt.300"),
            _share("kron", "3.1", "kron_g500-logn20"),
            _share("uniform", "3.0", "random.2Mv.128Me"),
            _share("rmat", "3.3", "rmat.2Mv.128Me"),
            Claim(
                "harmonic mean over quadratic, by warp as Hong et al.",
                "4.2",
                "section 5.6",
                order(4.2),
                TIMES,
                lambda reports: harmonic_mean(_ratios(reports, "quadratic_warp", "hybrid")),
            ),
            Claim(
                "rmat, over quadratic by warp",
                "2.5",
                "section 5.6",
                order(2.5),
                TIMES,
                lambda reports: _ratios(reports, "quadratic_warp", "hybrid", ("rmat",))[0],
            ),
            Claim(
                "rmat over sequential",
                "22",
                "section 5.6",
                order(22),
                TIMES,
                lambda reports: _ratios(reports, "serial", "hybrid", ("rmat",))[0],
            ),
            Claim(
                "rmat, predecessors instead of distances, more time, %",
                "19",
                "section 5.6",
                order(19),
                TIMES,
                _predecessors,
                run="outputs",
            ),
        ),
    ),
    Figure(
        28,
        "text",
        "Words that searches stream, counted from frontiers",
        "depths",
        (
            _moved(5, 2, "section 5.1", "expand-contract"),
            _moved(3, 4, "section 5.2", "contract-expand"),
            _moved(5, 4, "section 5.3", "two-phase"),
        ),
    ),
)

PAPER = Paper(
    "merrill2012",
    "Merrill, Garland, Grimshaw, PPoPP 2012",
    (*RUNS, *PARTS_RUNS, *STRIPES_RUNS),
    tuple(sorted((*PARTS, *WHOLE, *STRIPES), key=lambda figure: figure.number)),
    {
        "1": "the depth of rmat grows with its size, here 2^18 vertices.",
        "3": "caches serve what serial gathering fetches again: it asks for 6.25 times the bytes, and reads "
        "1.12 times those from DRAM.",
        "3, 7": "on graphs of low degree, serial gathering and one kernel are faster here. The likely causes "
        "are a larger cache and the cost of a second launch.",
        "5, 6": "more arcs are looked up at the same moment, even with 14 blocks, as many as a C2050 has "
        "cores. The road has 4.03, other graphs up to 1.19. With an atomic exchange in the history, the "
        "largest was 1.05.",
        "9": "likely causes are claims without atomics, which are slower here than atomic ones, and labels "
        "that the cache holds, which make quadratic work cheap.",
    },
)
