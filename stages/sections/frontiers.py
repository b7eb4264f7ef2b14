"""How a search unfolds, level by level: logical frontiers, and what strategies gather beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.long_searches import level_table
from gravel.stages.sections.plot import PALETTE, bands, draw, draw_panels, legend_above, thinned

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement
    from gravel.stages.sections.studies import Study

FRONTIERS = {
    "vertices": "vertex frontier",
    "arcs": "edge frontier",
    "distinct": "edge frontier without duplicates",
}
"""The curves of a frontier plot by the names of `levels` (Merrill et al., PPoPP 2012, figure 3)."""

STYLES = ("-", "--", ":")
"""Lines of strategies beyond those that have a colour of their own."""

MARKED = 30
"""Levels up to which each is marked by a point."""


MAX_PANELS = 12
"""Graphs in one picture: each takes a tenth of a second to draw."""


def _first_graphs(count: int) -> str:
    """Say that not all graphs are drawn, where that is so."""
    return f" The first {MAX_PANELS} of {count:,} graphs." if count > MAX_PANELS else ""


def frontier_figure(label: str, one: Measurement) -> dict[str, Any]:
    """Draw the frontiers of the search with the median time, and which levels were searched bottom-up."""
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    levels = ordered[(len(ordered) - 1) // 2]["levels"]

    pulled = bands(levels["pulled"], len(levels["vertices"]))

    def paint(axes: Any) -> None:
        _curves(axes, levels)
        for position, (first, last) in enumerate(pulled):
            name = "level searched bottom-up" if position == 0 else None
            axes.axvspan(first - 0.5, last + 0.5, color=PALETTE[3], alpha=0.15, lw=0, label=name)
        axes.set_xlabel("level")
        axes.set_ylabel("frontier size")
        legend_above(axes)

    return {
        "kind": "figure",
        "title": f"Frontier of {label}",
        "about": "Vertices and arcs of each level of the search with the median time.",
        "svg": draw(paint, alt=f"Frontier vertices and edges per level of {label}"),
        "data": {
            "vertices": thinned(levels["vertices"])[1],
            "arcs": thinned(levels["arcs"])[1],
            "pull_levels": pulled,
        },
    }


def long_frontiers(searches: Sequence[tuple[str, Measurement]]) -> dict[str, Any] | None:
    """Make the table of the levels of long searches, the first of each run; None where all are short."""
    told = {
        label: {title: levels[name] for name, title in FRONTIERS.items() if name in levels}
        for label, one in searches
        if (levels := one.searches[0]["levels"])
    }
    return level_table("Frontiers of long searches", told)


def frontier_panels(studies: Sequence[Study]) -> dict[str, Any]:
    """Draw the frontiers of one search of each graph, the first source's."""
    first = {study.graph: _first_levels(study) for study in studies[:MAX_PANELS]}
    return {
        "kind": "figure",
        "title": "Frontiers of each graph",
        "about": (
            "Vertices and arcs of each level of the search from the first source"
            + (
                ", and the vertices that the arcs lead to, each once (as figure 3 of Merrill et al., 2012)."
                if any("distinct" in levels for levels in first.values())
                else "."
            )
            + _first_graphs(len(studies))
        ),
        "svg": draw_panels(
            [(graph, _painter(levels)) for graph, levels in first.items()],
            across="level",
            up="frontier size",
            alt=f"Frontier sizes per level of {len(first)} graphs",
        ),
        "data": {
            graph: {name: thinned(levels[name])[1] for name in FRONTIERS if name in levels}
            for graph, levels in first.items()
        },
    }


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
    looks = {
        name: (PALETTE[place % len(PALETTE)], STYLES[place // len(PALETTE) % len(STYLES)])
        for place, name in enumerate(more)
    }

    def painter(graph: str) -> Callable[[Any], None]:
        def paint(axes: Any) -> None:
            places, arcs = thinned(logical[graph])
            axes.plot(places, arcs, lw=3.5, alpha=0.35, color="#888888", label="logical edge frontier")
            for name in more:
                if name in counted[graph]:
                    places, values = thinned(counted[graph][name])
                    color, style = looks[name]
                    axes.plot(places, values, lw=1, ls=style, color=color, label=name)
            _level_axes(axes)

        return paint

    pulled = any(member.one.searches[0]["levels"]["pulled"] for study in studies for member in study.members)
    below = "; what lies below was left unread by a bottom-up search" if pulled else ""
    exact = f" {', '.join(same)} gathered each level's arcs once, and are not drawn." if same else ""
    drawn = dict(list(counted.items())[:MAX_PANELS])
    return {
        "kind": "figure",
        "title": "Arcs gathered in each level",
        "about": (
            "From the first source, by strategies that count them, over the arcs of the level's vertices: "
            f"what lies above is redundant{below} (as in figure 7 of Merrill et al., 2012).{exact}"
            f"{_first_graphs(len(counted))}"
        ),
        "svg": draw_panels(
            [(graph, painter(graph)) for graph in drawn],
            height=2.1,
            across="level",
            up="arcs",
            alt=f"Arcs gathered per level by {len(names)} strategies on {len(drawn)} graphs",
        ),
        "data": {
            graph: {name: thinned(values)[1] for name, values in found.items()}
            for graph, found in drawn.items()
        },
    }


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


def _first_levels(study: Study) -> dict[str, Any]:
    """The levels of the first search, of a run that has the most to tell of them."""
    found: list[dict[str, Any]] = [member.one.searches[0]["levels"] for member in study.members]
    return max(found, key=lambda levels: "distinct" in levels)


def _painter(levels: dict[str, Any]) -> Callable[[Any], None]:
    return lambda axes: _curves(axes, levels)


def _curves(axes: Any, levels: dict[str, Any]) -> None:
    for place, (name, told) in enumerate(FRONTIERS.items()):
        if name in levels:
            places, values = thinned(levels[name])
            marker = "o" if len(levels[name]) <= MARKED else None
            style = "--" if name == "distinct" else "-"
            axes.plot(
                places, values, marker=marker, ms=2.5, lw=1.1, ls=style, color=PALETTE[place], label=told
            )
    _level_axes(axes)


def _level_axes(axes: Any) -> None:
    axes.set_yscale("log")
    axes.xaxis.get_major_locator().set_params(integer=True)
