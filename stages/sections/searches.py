"""Pictures and a table of the searches of a few measurements: times, their spread over sources, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from gravel.stages.charts import COLORS, Axis, Curves, Line, Rows, RowSeries, Rule
from gravel.stages.sections.frontiers import frontier_panels
from gravel.stages.sections.rates import (
    EDGE_RATE,
    geometric_mean,
    harmonic_mean,
    median_milliseconds,
    milliseconds,
    quartile,
    rates,
)
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import Study, short_labels

MAX_ROWS = 20
"""Runs in one comparison; of more, the fastest and the slowest are drawn."""

WIDE = 10
"""Times of the fastest run from which on times are drawn on a logarithmic scale."""


MAX_CURVES = 8
"""Runs whose searches are drawn and listed one by one: as many as there are colours."""


def search_sections(
    single: Runs, searched: Runs, studies: Sequence[Study], from_files: bool = False
) -> list[Made]:
    """Make the pictures and the table of few runs, and the frontiers of each of several graphs.

    Of graphs of files, rates are details.
    """
    suite = len(studies) > 1
    sections = []
    if len(single) > 1 and not (suite and any(len(study.members) > 1 for study in studies)):
        sections.append(comparison_figure(single))
    if searched and len(searched) <= MAX_CURVES:
        if any(len(one.searches) > 1 and rates(one.searches, "edges") for _, one in searched):
            sections.append(spread_figure(searched, 180 if from_files else 110))
        sections.append(extremes_table(searched))
    return [*sections, frontier_panels(studies)] if suite else sections


def comparison_figure(members: Runs) -> Made:
    """Draw the median time of every run, and the quartiles over its sources; of many, the ends alone."""
    timed = [(label, one) for label, one in members if one.searches]
    short = dict(zip((label for label, _ in timed), short_labels([label for label, _ in timed]), strict=True))
    shown = timed
    if len(timed) > MAX_ROWS:
        ordered = sorted(timed, key=lambda member: median_milliseconds(member[1]))
        shown = [*ordered[: MAX_ROWS // 2], *ordered[-(MAX_ROWS // 2) :]]
    names = [short[label] for label, _ in shown]
    times = [sorted(milliseconds(one)) for _, one in shown]
    middle = [median(each) for each in times]
    quartiles = [(quartile(each, 1), quartile(each, 3)) for each in times]
    wide = bool(middle) and max(middle) > WIDE * min(middle) > 0

    about = "Points are medians over the sources; lines reach from the first to the third quartile."
    if len(shown) < len(timed):
        about += f" The {MAX_ROWS // 2} fastest and the {MAX_ROWS // 2} slowest of {len(timed):,} runs."
    label = "ms a search: median, quartiles"
    panel = Rows(
        of="run",
        names=tuple(names),
        axis=Axis(label=label, scale="log10") if wide else Axis(label=label, low=0),
        series=(
            RowSeries(
                name="median",
                values=tuple(middle),
                draw="point",
                low=tuple(low for low, _ in quartiles),
                high=tuple(high for _, high in quartiles),
                range_name="quartile",
            ),
        ),
    )
    return figure(
        "Times side by side",
        about,
        [panel],
        {"run": names, "median_milliseconds": middle, "quartiles": quartiles},
        alt=f"Median time of {len(names)} measured runs",
        answer=70,
        covered_by=("scaling", "times by order"),
    )


def cumulative(values: Sequence[float]) -> list[tuple[float, float]]:
    """Give the corners of a distribution: each value with the share of values at or below it, up to 1."""
    ordered = sorted(values)
    return [(value, (place + 1) / len(ordered)) for place, value in enumerate(ordered)]


def spread_figure(members: Runs, answer: int) -> Made:
    """Draw, for every run, the share of sources at or below a rate; some search has to have one."""
    names = short_labels([label for label, _ in members])
    found = {
        name: sorted(rates(one.searches, "edges")) for name, (_, one) in zip(names, members, strict=True)
    }
    data = {name: cumulative(values) for name, values in found.items()}
    without = sum(len(one.searches) for _, one in members) - sum(map(len, found.values()))

    about = "Each point is one search; the curve is the share of searches at or below a rate."
    if without:
        about += f" {without:,} that reached no edge {'has' if without == 1 else 'have'} no rate."
    drawn = [(place, name, corners) for place, (name, corners) in enumerate(data.items()) if corners]
    lines, rules = [], []
    for place, name, corners in drawn:
        x, share = zip(*corners, strict=True)
        color = place % COLORS
        lines.append(Line(name=name, x=(x[0], *x), y=(0, *share), draw="steps", color=color))
        if len(data) == 1:
            harmonic, geometric = harmonic_mean(x), geometric_mean(x)
            rules.append(Rule(at=harmonic, axis="x", name="harmonic mean", color=1, dash="solid"))
            rules.append(Rule(at=geometric, axis="x", name="geometric mean", color=2))
    panel = Curves(
        x=Axis(label=EDGE_RATE),
        y=Axis(label="share of searches", low=0, high=1),
        lines=tuple(lines),
        rules=tuple(rules),
    )
    alt = "Distribution of the traversal rate over searches"
    return figure("Rate over sources", about, [panel], data, alt=alt, answer=answer)


def extremes_table(members: Runs) -> Made:
    """List the fastest, the median and the slowest search of every run."""
    rows: list[list[Any]] = []
    for label, one in members:
        ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
        picks = {"fastest": ordered[0], "median": ordered[(len(ordered) - 1) // 2], "slowest": ordered[-1]}
        if len(ordered) == 1:
            picks = {"the only one": ordered[0]}
        for name, search in picks.items():
            facts = (label, name, {"vertex": search["source"]}, search["milliseconds"], search["reached"])
            rows.append([*facts, search["edges"], search["depth"]])
    return table(
        "Fastest, median and slowest search",
        "Sources have the ids of the input.",
        "run | search | source | ms | vertices reached | edges reached | depth",
        rows,
    )


SECTIONS = (Section(rank=114, make=search_sections, needs=("single", "searched", "studies", "from_files")),)
