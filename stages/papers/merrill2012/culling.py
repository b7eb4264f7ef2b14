"""Redundant expansion of racing claims, by culling (Merrill et al., PPoPP 2012, figure 7, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import Axis, Curves, Line, Rule, thinned
from gravel.stages.sections.frontiers import MAX_PANELS
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.studies import studies

WAYS = {(False, False): "off", (True, False): "warp", (False, True): "history", (True, True): "both"}
"""Names of the ways to cull: in the warp, by history."""

BOUND = 1.05
"""Below this the paper brings every graph of its suite with both (section 4.2)."""

PAPER = {
    "grid7": ("grid7pt.300", 2.6),
    "grid5": ("grid5pt.5000", 4.2),
    "grid27": ("nlpkkt160", 1.7),
    "cliques": ("coPapersCiteseer", 1.1),
}
"""Factors without culling that the paper's text states (section 4.2), by generated graphs of these kinds."""

STATED = (
    "Without culling, the paper states factors of 2.6 (grid7pt.300), 1.7 (nlpkkt160), 1.1"
    " (coPapersCiteseer) and 4.2 (grid5pt.5000). With both kinds, it states less than "
    "1.05 for every graph of its suite. Its graphs are larger. Where it states no value, "
    "figure 7 is compared in shape only."
)


def culling_sections(members: Runs) -> list[Made]:
    """Make the table of factors and the picture over levels; none where no racing claims were counted."""
    raced = [(label, one) for label, one in members if way_of(one) is not None and _factor(one) is not None]
    found = {
        (study.graph, strategy): {
            way: member.one
            for member in study.members
            if member.one.strategy == strategy and (way := way_of(member.one)) is not None
        }
        for study in studies(raced)
        for strategy in dict.fromkeys(member.one.strategy for member in study.members)
    }
    return [_table(found), _figure(found)] if found else []


def way_of(one: Measurement) -> str | None:
    """Name how a search culled; None unless its claims raced."""
    options = (one.ran or {}).get("options", {})
    if options.get("claim") != "racing":
        return None
    return WAYS[bool(options.get("warp_culling")), bool(options.get("history_culling"))]


def _factor(one: Measurement) -> float | None:
    """Divide the arcs gathered by those that had to be, over all searches."""
    counted = [search for search in one.searches if search.get("redundant_expansion")]
    logical = sum(search["expanded"] / search["redundant_expansion"] for search in counted)
    return sum(search["expanded"] for search in counted) / logical if logical else None


def _table(found: Mapping[tuple[str, str], Mapping[str, Measurement]]) -> Made:
    rows: list[list[Any]] = []
    for (graph, strategy), by_way in found.items():
        factors = {way: _factor(one) for way, one in by_way.items()}
        name, stated = PAPER.get(graph, (None, None))
        rows.append(
            [graph, strategy, *(factors.get(way) for way in WAYS.values()), stated, name, _verdict(factors)]
        )
    return table(
        "Redundant expansion by culling",
        f"Gathered arcs over arcs of the reached vertices, for all searches, with racing claims. {STATED}",
        ["graph", "strategy", *WAYS.values(), "the paper's, off", "of its graph", f"below {BOUND} with both"],
        rows,
        result=190,
    )


def _verdict(factors: Mapping[str, float | None]) -> str | None:
    both = factors.get("both")
    if both is None:
        return None
    return "yes" if both < BOUND else "no"


def level_factors(one: Measurement) -> list[float]:
    """Divide the arcs gathered in each level of the first search by those of the level's vertices."""
    levels = one.searches[0]["levels"]
    pairs = zip(levels["expanded"], levels["arcs"], strict=False)
    return [gathered / logical if logical else 1.0 for gathered, logical in pairs]


def _figure(found: Mapping[tuple[str, str], Mapping[str, Measurement]]) -> Made:
    several = len({strategy for _, strategy in found}) > 1
    found = dict(list(found.items())[:MAX_PANELS])
    data = {
        f"{graph}, {strategy}" if several else graph: {
            way: level_factors(by_way[way]) for way in WAYS.values() if way in by_way
        }
        for (graph, strategy), by_way in found.items()
    }

    return figure(
        "Redundant expansion in each level",
        "From the first source. Figure 7 of the paper draws gathered and logical arcs of "
        "three graphs without culling. The text has no values, so shapes are compared: the "
        "factor is large where the frontier is, and culling takes it to 1.",
        [_panel(name, curves) for name, curves in data.items()],
        {name: {way: thinned(values)[1] for way, values in curves.items()} for name, curves in data.items()},
        alt=f"Redundancy factor per level of {len(data)} graphs",
    )


def _panel(name: str, curves: Mapping[str, list[float]]) -> Curves:
    return Curves(
        title=name,
        x=Axis(label="level", whole=True),
        y=Axis(label="gathered over logical arcs", scale="log10"),
        lines=tuple(
            Line(name=way, x=x, y=y, color=place)
            for place, way in enumerate(WAYS.values())
            if way in curves
            for x, y in [thinned(curves[way])]
        ),
        rules=(Rule(at=BOUND, axis="y", name=f"{BOUND}", dash="dotted"),),
    )


SECTIONS = (Section(rank=115, make=culling_sections, needs=("single",)),)
