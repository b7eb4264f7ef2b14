"""Searches of striped graphs: rates over ranks, sizes and degrees, and what culling keeps from being sent.

The figures are those of Merrill, Garland and Grimshaw (PPoPP 2012, section 6.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import COLORS, Axis, Curves, Line, Rows, RowSeries
from gravel.stages.ranks.levels import GATHERED
from gravel.stages.sections.ranks import in_turns
from gravel.stages.sections.rates import ARC_RATE, harmonic_mean, rates
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import coordinates

ENDS = ("local duplicate", "in the bitmask", "own", "sent")
"""What becomes of a neighbour that is gathered."""

CULLED_BY = {"uniquify": "bitmask", "local_duplicates": "local duplicates"}
"""Options by which neighbours are dropped, in words."""

MAX_BARS = 24
"""Runs whose neighbours are drawn: more bars cannot be read."""


@dataclass(frozen=True)
class StripedRun:
    """One measurement of a striped graph, with what tells it from others."""

    label: str
    graph: str
    at: Mapping[str, str]
    one: Measurement

    @property
    def levels(self) -> list[Made]:
        """The records of the ranks, by search."""
        return [search["ranks"] for search in self.one.searches]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return int(self.one.graph["partition"]["ranks"])

    @property
    def output(self) -> str:
        """The labels that vertices got."""
        return str(self.one.asked["output"])

    @property
    def culling(self) -> str:
        """What is not culled, in words; nothing where all is."""
        tuning = self.one.asked["tuning"]
        left_out = [words for name, words in CULLED_BY.items() if not tuning.get(name)]
        return f"no {' or '.join(left_out)}" if left_out else ""

    @property
    def rate(self) -> float | None:
        """Billions of arcs a second, the harmonic mean over the sources."""
        found = rates(self.one.searches, "arcs")
        return harmonic_mean(found) if found else None

    @property
    def ends(self) -> list[float]:
        """The share of each of `ENDS` in the neighbours of all searches."""
        sums = [0, 0, 0, 0]
        for levels in self.levels:
            arcs, duplicates, masked, sent = (sum(levels[name]) for name in GATHERED)
            for place, count in enumerate((duplicates, masked, arcs - duplicates - masked - sent, sent)):
                sums[place] += count
        return [count / max(1, sum(sums)) for count in sums]


def striped_sections(members: Runs) -> list[Made]:
    """Make the sections of searches over stripes; none where there are none."""
    runs = _runs(members)
    if not runs:
        return []
    sized = [run for run in runs if {"vertices", "degree"} <= run.at.keys() and not run.culling]
    plain = [run for run in runs if run not in sized and not run.culling]
    culled = [run for run in runs if run.culling]
    optional = [_ranks_figure(plain), _sizes_figure(sized), _ends_figure([*plain, *culled] or sized)]
    return [*(section for section in optional if section is not None), _table(runs)]


def _runs(members: Runs) -> list[StripedRun]:
    runs = []
    for label, one in members:
        if not one.searches or any("masked" not in search.get("ranks", {}) for search in one.searches):
            continue
        at = coordinates(label)
        values = [value for axis, value in at.items() if axis not in ("ranks", "output", "culling")]
        runs.append(StripedRun(label, ", ".join(values) or label, at, one))
    return runs


def _ranks_figure(runs: Sequence[StripedRun]) -> dict[str, Any] | None:
    """Draw figure 11: rates by graph, a bar for each number of ranks."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for run in runs:
        if run.rate is not None:
            found.setdefault(run.output, {}).setdefault(run.graph, {}).setdefault(run.ranks, run.rate)
    counts = sorted({run.ranks for run in runs})
    if len(counts) < 2 or not found:
        return None
    gains = {output: _gains(graphs, counts) for output, graphs in found.items()}
    turns = any(in_turns(run.one) for run in runs)

    def bars(output: str, graphs: Mapping[str, Mapping[int, float]]) -> Rows:
        return Rows(
            title=f"{output}: {ARC_RATE}",
            of="graph",
            names=tuple(graphs),
            axis=Axis(scale="log10"),
            series=tuple(
                RowSeries(
                    name=f"{count} rank{'s' if count > 1 else ''}",
                    values=tuple(row.get(count) for row in graphs.values()),
                    color=place % COLORS,
                )
                for place, count in enumerate(counts)
            ),
        )

    speedups = Curves(
        title=f"rate over that with {counts[0]}",
        x=Axis(label="ranks", ticks=tuple(counts)),
        y=Axis(low=0),
        lines=tuple(
            Line(name=output, x=tuple(counts), y=tuple(gain), draw="marked", color=COLORS - 1 - place)
            for place, (output, gain) in enumerate(gains.items())
        ),
    )
    return figure(
        "Rates over stripes with more ranks",
        "As figure 11: the mean rate of each graph with each number of ranks, and the harmonic mean over "
        f"the graphs of the rate over that with {counts[0]} rank{'s' if counts[0] > 1 else ''}. "
        + ("Ranks that took turns in one process share its time, and cannot gain." if turns else ""),
        [*(bars(output, graphs) for output, graphs in found.items()), speedups],
        {
            "ranks": counts,
            **{
                output: {graph: [row.get(count) for count in counts] for graph, row in graphs.items()}
                for output, graphs in found.items()
            },
            "gains": gains,
        },
        alt=f"Rates of striped searches with {', '.join(map(str, counts))} ranks",
        answer=80,
        result=380,
    )


def _gains(graphs: Mapping[str, Mapping[int, float]], counts: Sequence[int]) -> list[float | None]:
    """The harmonic mean over graphs of each rate over that of the fewest ranks."""
    gains: list[float | None] = []
    for count in counts:
        ratios = [row[count] / row[counts[0]] for row in graphs.values() if count in row and counts[0] in row]
        gains.append(harmonic_mean(ratios) if ratios else None)
    return gains


def _sizes_figure(runs: Sequence[StripedRun]) -> dict[str, Any] | None:
    """Draw figure 12: rates over sizes, a curve for each degree, dashed with predecessors."""
    curves: dict[tuple[int, str], dict[int, float]] = {}
    most = max((run.ranks for run in runs), default=0)
    for run in runs:
        if run.ranks == most and run.rate is not None:
            degree = int(float(run.at["degree"]))
            curves.setdefault((degree, run.output), {})[run.one.graph["vertices"]] = run.rate
    if len({size for curve in curves.values() for size in curve}) < 2:
        return None
    degrees = sorted({degree for degree, _ in curves})
    ordered = sorted(curves.items(), key=lambda item: (-item[0][0], item[0][1]))

    lines = []
    for (degree, output), curve in ordered:
        sizes = sorted(curve)
        lines.append(
            Line(
                name=f"degree {degree}, {output}",
                x=tuple(sizes),
                y=tuple(curve[size] for size in sizes),
                draw="marked",
                dash="solid" if output == "distance" else "dashed",
                color=degrees.index(degree) % COLORS,
            )
        )
    x, y = Axis(label="vertices", scale="log2"), Axis(label=ARC_RATE, low=0)
    return figure(
        "Rates over stripes by size and degree",
        f"As figure 12: uniform random graphs over {most} ranks; dashed with predecessors.",
        [Curves(x=x, y=y, lines=tuple(lines))],
        {
            f"{degree}, {output}": {str(size): curve[size] for size in sorted(curve)}
            for (degree, output), curve in ordered
        },
        alt=f"Rates of striped searches over {most} ranks by size and degree",
        result=380,
    )


def _name(run: StripedRun) -> str:
    return f"{run.graph} ({run.culling})" if run.culling else run.graph


def _ends_figure(runs: Sequence[StripedRun]) -> dict[str, Any] | None:
    """Draw what becomes of the neighbours with the most ranks, for each graph and way of culling."""
    most = max(run.ranks for run in runs)
    shown: dict[str, StripedRun] = {}
    for run in runs:
        if run.ranks == most:
            shown.setdefault(_name(run), run)
    if not 1 <= len(shown) <= MAX_BARS:
        return None
    shares = {name: run.ends for name, run in shown.items()}

    panel = Rows(
        of="run",
        names=tuple(shares),
        axis=Axis(label="% of the neighbours that were gathered", low=0),
        series=tuple(
            RowSeries(name=end, values=tuple(100 * share[place] for share in shares.values()), color=place)
            for place, end in enumerate(ENDS)
        ),
        stacked=True,
    )
    return figure(
        "What is sent over stripes, and what is not",
        f"Over {most} rank{'s' if most > 1 else ''}: neighbours dropped as local duplicates or by "
        "the bitmask, those of the rank itself, and those that it sends.",
        [panel],
        {name: dict(zip(ENDS, share, strict=True)) for name, share in shares.items()},
        alt=f"Neighbours kept and dropped of {len(shares)} runs",
    )


def _table(runs: Sequence[StripedRun]) -> Made:
    rows: list[list[Any]] = []
    for run in runs:
        levels = run.levels
        work = [sum(each["visit"]) + sum(each["reduce"]) for each in levels]
        reached = sum(search["reached"] for search in run.one.searches)
        rows.append(
            [
                run.label,
                run.ranks,
                run.output,
                run.culling,
                mean(sum(each["arcs"]) for each in levels),
                *(100 * share for share in run.ends[:2]),
                sum(sum(each["sent"]) for each in levels) / max(1, reached),
                mean(sum(each["vertex_bytes"]) for each in levels),
                mean(work),
                mean(sum(each["exchange"]) for each in levels),
                mean(search["milliseconds"] for search in run.one.searches),
                run.rate,
            ]
        )
    return table(
        "Searches over stripes",
        "Means over the sources. Computation and communication are those of the slowest rank in each level"
        + (
            "; of ranks that took turns in one process, communication is what the others computed."
            if any(in_turns(run.one) for run in runs)
            else "."
        ),
        "run | ranks | output | culling | arcs | local duplicates, % | in the bitmask, % | sent "
        f"for each vertex | bytes sent | computation ms | communication ms | ms | {ARC_RATE}",
        rows,
        result=170,
    )


SECTIONS = (Section(rank=90, make=striped_sections, needs=("measured",)),)
