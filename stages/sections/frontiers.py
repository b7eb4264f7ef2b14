"""Frontiers, level by level: logical ones, and what strategies gather beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import COLORS, MAX_SINGLE_LEVELS, Axis, Curves, Line, Span, bands, thinned
from gravel.stages.charts.model import Dash
from gravel.stages.sections.rates import median_search, quartile
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import Study


def level_table(title: str, searches: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any] | None:
    """Make the table of what levels take and hold, for searches of more levels than a picture tells apart.

    `searches` lead from a run to its quantities, each a value for every level. Returns None where all
    searches are short.
    """
    rows = [
        [run, name, *_summary(values)]
        for run, quantities in searches.items()
        for name, values in quantities.items()
        if len(values) > MAX_SINGLE_LEVELS
    ]
    if not rows:
        return None
    return table(
        title,
        f"Searches of more than {MAX_SINGLE_LEVELS} levels: the first level, the last, and the distribution "
        "over all levels. Their charts show evenly spaced levels.",
        "run | in a level | levels | first | least | first quartile | median | third quartile | most | in "
        "level | last",
        rows,
    )


def _summary(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    most = max(range(len(values)), key=values.__getitem__)
    quartiles = [quartile(ordered, place) for place in (1, 2, 3)]
    return [len(values), values[0], ordered[0], *quartiles, ordered[-1], most, values[-1]]


FRONTIERS = {
    "vertices": "vertex frontier",
    "arcs": "edge frontier",
    "distinct": "edge frontier without duplicates",
}
"""The curves of a frontier plot by the names of `levels` (Merrill et al., PPoPP 2012, figure 3)."""

DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")
"""Lines of strategies beyond those that have a colour of their own."""

LEVEL = Axis(label="level", whole=True)

MARKED = 30
"""Levels up to which each is marked by a point."""


MAX_PANELS = 12
"""Graphs in one picture; more would be too small to compare."""


MAX_FRONTIERS = 6
"""Frontier plots drawn at most, so that a study of hundreds of experiments stays a page."""


def frontier_sections(searched: Runs, studies: Sequence[Study]) -> list[Made | None]:
    """Make the picture of gathered arcs, those of frontiers on one graph, and the table of long searches."""
    few = _unlike(searched)[:MAX_FRONTIERS]
    drawn = [frontier_figure(label, one) for label, one in few] if len(studies) < 2 else []
    return [expansion_panels(studies), *drawn, long_frontiers(few)]


def _unlike(members: Runs) -> list[tuple[str, Measurement]]:
    """Leave one run of each graph and strategy: frontiers do not depend on orders, layouts and machines."""
    first: dict[Any, tuple[str, Measurement]] = {}
    for label, one in members:
        first.setdefault((one.graph.get("digest", label), one.strategy), (label, one))
    return list(first.values())


def _first_graphs(count: int) -> str:
    """Say that not all graphs are drawn, where that is so."""
    return f" The first {MAX_PANELS} of {count:,} graphs." if count > MAX_PANELS else ""


def frontier_figure(label: str, one: Measurement) -> Made:
    """Draw the frontiers of the search with the median time, and which levels were searched bottom-up."""
    levels = median_search(one)["levels"]
    pulled = bands(levels["pulled"], len(levels["vertices"]))
    spans = [
        Span(first=first - 0.5, last=last + 0.5, name="level searched bottom-up", color=3)
        for first, last in pulled
    ]
    return figure(
        f"Frontier of {label}",
        "Vertices and arcs of each level of the search with the median time.",
        [_panel("", levels, spans)],
        {
            "vertices": thinned(levels["vertices"])[1],
            "arcs": thinned(levels["arcs"])[1],
            "pull_levels": pulled,
        },
        alt=f"Frontier vertices and edges per level of {label}",
        answer=130,
        single=True,
    )


def long_frontiers(searches: Runs) -> dict[str, Any] | None:
    """Make the table of the levels of long searches, the first of each run; None where all are short."""
    frontiers = {
        label: {title: levels[name] for name, title in FRONTIERS.items() if name in levels}
        for label, one in searches
        if (levels := one.searches[0]["levels"])
    }
    return level_table("Frontiers of long searches", frontiers)


def frontier_panels(studies: Sequence[Study]) -> Made:
    """Draw the frontiers of one search of each graph, the first source's."""
    first = {study.graph: _first_levels(study) for study in studies[:MAX_PANELS]}
    twice = any("distinct" in levels for levels in first.values())
    return figure(
        "Frontiers of each graph",
        "Vertices and arcs of each level of the search from the first source"
        + (
            ", and the distinct vertices that the arcs lead to (as figure 3 of Merrill et al., 2012)."
            if twice
            else "."
        )
        + _first_graphs(len(studies)),
        [_panel(graph, levels) for graph, levels in first.items()],
        {
            graph: {name: thinned(levels[name])[1] for name in FRONTIERS if name in levels}
            for graph, levels in first.items()
        },
        alt=f"Frontier sizes per level of {len(first)} graphs",
        answer=120,
        single=True,
    )


def expansion_panels(studies: Sequence[Study]) -> dict[str, Any] | None:
    """Draw the arcs that strategies gathered in each level beside those of the logical edge frontier.

    Strategies that gathered just those are named, not drawn. Returns None where no strategy counted.
    """
    counted = {study.graph: _expanded(study) for study in studies}
    counted = {graph: found for graph, found in counted.items() if found}
    logical = {study.graph: _first_levels(study)["arcs"] for study in studies}
    names = list(dict.fromkeys(name for found in counted.values() for name in found))
    if not names:
        return None
    more = [name for name in names if any(_differ(counted[at].get(name), logical[at]) for at in counted)]
    same = [name for name in names if name not in more]
    styles = {
        name: (place % COLORS, DASHES[place // COLORS % len(DASHES)]) for place, name in enumerate(more)
    }

    def panel(graph: str) -> Curves:
        places, arcs = thinned(logical[graph])
        lines = [Line(name="logical edge frontier", x=places, y=arcs, color="grey", broad=True)]
        for name in more:
            if name in counted[graph]:
                places, values = thinned(counted[graph][name])
                color, dash = styles[name]
                lines.append(Line(name=name, x=places, y=values, color=color, dash=dash))
        return Curves(title=graph, x=LEVEL, y=Axis(label="arcs", scale="log10"), lines=tuple(lines))

    pulled = any(member.one.searches[0]["levels"]["pulled"] for study in studies for member in study.members)
    below = "; below it a bottom-up search left arcs unread" if pulled else ""
    exact = f" {', '.join(same)} gathered each arc once, and are not drawn." if same else ""
    drawn = dict(list(counted.items())[:MAX_PANELS])
    return figure(
        "Arcs gathered in each level",
        "Arcs that strategies gathered, where they count them, in the search from the first source. Above "
        f"the grey line arcs were gathered more than once{below} (as in figure 7 of Merrill et al., "
        f"2012).{exact}{_first_graphs(len(counted))}",
        [panel(graph) for graph in drawn],
        {
            graph: {name: thinned(values)[1] for name, values in found.items()}
            for graph, found in drawn.items()
        },
        alt=f"Arcs gathered per level by {len(names)} strategies on {len(drawn)} graphs",
        single=True,
    )


def _expanded(study: Study) -> dict[str, list[int]]:
    """The arcs that each counting strategy gathered, by level of the first search."""
    levels = {member.name: member.one.searches[0]["levels"] for member in study.members}
    return {name: each["expanded"] for name, each in levels.items() if "expanded" in each}


def _differ(expanded: Sequence[int] | None, arcs: Sequence[int]) -> bool:
    if expanded is None:
        return False
    length = max(len(expanded), len(arcs))
    return any(
        (expanded[level] if level < len(expanded) else 0) != (arcs[level] if level < len(arcs) else 0)
        for level in range(length)
    )


def _first_levels(study: Study) -> Made:
    """The levels of the first search, of a run that has the most to tell of them."""
    found: list[Made] = [member.one.searches[0]["levels"] for member in study.members]
    return max(found, key=lambda levels: "distinct" in levels)


def _panel(title: str, levels: Mapping[str, Any], spans: Sequence[Span] = ()) -> Curves:
    lines = []
    for place, (name, label) in enumerate(FRONTIERS.items()):
        if name in levels:
            places, values = thinned(levels[name])
            lines.append(
                Line(
                    name=label,
                    x=places,
                    y=values,
                    draw="marked" if len(levels[name]) <= MARKED else "line",
                    dash="dashed" if name == "distinct" else "solid",
                    color=place,
                )
            )
    y = Axis(label="frontier size", scale="log10")
    return Curves(title=title, x=LEVEL, y=y, lines=tuple(lines), spans=tuple(spans))


SECTIONS = (Section(rank=117, make=frontier_sections, needs=("searched", "studies")),)
