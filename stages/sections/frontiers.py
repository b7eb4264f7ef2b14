"""How a search unfolds, level by level: logical frontiers, and what strategies gather beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stages.sections.plot import PALETTE, draw, draw_panels, thinned

if TYPE_CHECKING:
    from stages.artifacts import Measurement
    from stages.sections.studies import Study

FRONTIERS = {
    "vertices": "vertex frontier",
    "arcs": "edge frontier",
    "distinct": "edge frontier without duplicates",
}
"""The curves of a frontier plot by the names of `levels` (Merrill et al., PPoPP 2012, figure 3)."""

MARKED = 30
"""Levels up to which each is marked by a point."""


def frontier_figure(label: str, one: Measurement) -> dict[str, Any]:
    """Draw the frontiers of the search with the median time, and which levels were searched bottom-up."""
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    levels = ordered[(len(ordered) - 1) // 2]["levels"]

    def paint(axes: Any) -> None:
        _curves(axes, levels)
        for position, depth in enumerate(levels["pulled"]):
            name = "level searched bottom-up" if position == 0 else None
            axes.axvspan(depth - 0.5, depth + 0.5, color=PALETTE[3], alpha=0.15, lw=0, label=name)
        axes.set_xlabel("level")
        axes.set_ylabel("frontier size")
        axes.legend(loc="best")

    return {
        "kind": "figure",
        "title": f"Frontier of {label}",
        "about": "Vertices and arcs of each level of the search with the median time.",
        "svg": draw(paint, alt=f"Frontier vertices and edges per level of {label}"),
        "data": {
            "vertices": levels["vertices"],
            "arcs": levels["arcs"],
            "pull_levels": levels["pulled"],
        },
    }


def frontier_panels(studies: Sequence[Study]) -> dict[str, Any]:
    """Draw the frontiers of one search of each graph, the first source's."""
    first = {study.graph: _first_levels(study) for study in studies}
    return {
        "kind": "figure",
        "title": "Frontiers of each graph",
        "about": (
            "Vertices and arcs of each level of the search from the first source, and, where statistics "
            "were asked for, the vertices that the arcs lead to, each once (as figure 3 of Merrill et al., "
            "PPoPP 2012)."
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
    """Draw the arcs that each strategy gathered in each level over those of the logical edge frontier.

    Returns None where no strategy counted.
    """
    counted = {
        study.graph: {
            member.name: member.one.searches[0]["levels"]["expanded"]
            for member in study.members
            if "expanded" in member.one.searches[0]["levels"]
        }
        for study in studies
    }
    logical = {study.graph: _first_levels(study)["arcs"] for study in studies}
    names = list(dict.fromkeys(name for found in counted.values() for name in found))
    if not names:
        return None
    colors = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(names)}
    styles = {name: ("-", "--", ":")[place // len(PALETTE) % 3] for place, name in enumerate(names)}

    def painter(graph: str) -> Callable[[Any], None]:
        def paint(axes: Any) -> None:
            places, arcs = thinned(logical[graph])
            axes.plot(places, arcs, lw=3, alpha=0.3, color="#888888", label="logical edge frontier")
            for name, expanded in counted[graph].items():
                places, values = thinned(expanded)
                axes.plot(places, values, lw=0.9, ls=styles[name], color=colors[name], label=name)
            _level_axes(axes)

        return paint

    drawn = [graph for graph, found in counted.items() if found]
    return {
        "kind": "figure",
        "title": "Arcs gathered in each level",
        "about": (
            "From the first source, by strategies that count them, over the arcs of the level's vertices: "
            "what lies above is redundant, what lies below was left unread by a bottom-up search (as in "
            "figure 7 of Merrill et al., PPoPP 2012)."
        ),
        "svg": draw_panels(
            [(graph, painter(graph)) for graph in drawn],
            height=2.1,
            across="level",
            up="arcs",
            alt=f"Arcs gathered per level by {len(names)} strategies on {len(drawn)} graphs",
        ),
        "data": {
            graph: {name: thinned(values)[1] for name, values in counted[graph].items()} for graph in drawn
        },
    }


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
