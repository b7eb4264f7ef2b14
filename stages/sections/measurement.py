"""Times and rates of traversals, the frontier of a typical search, the spread over sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from stages.sections.plot import PALETTE, draw

if TYPE_CHECKING:
    from stages.artifacts import Measurement

MAX_FRONTIERS = 6
"""Frontier plots drawn at most, so that a study of hundreds of experiments stays a page."""


def rates(searches: Sequence[dict[str, Any]], unit: str) -> list[float]:
    """Billions of `edges` or `arcs` per second for each search that reached any."""
    return [
        search[unit] / search["milliseconds"] / 1e6
        for search in searches
        if search[unit] > 0 and search["milliseconds"] > 0
    ]


def harmonic_mean(values: Sequence[float]) -> float:
    """The mean that Graph500 asks for: total work over total time when each search does equal work."""
    return len(values) / sum(1 / value for value in values)


def geometric_mean(values: Sequence[float]) -> float:
    """The mean that Pan, Pearce and Owens (IPDPS 2018, section VI) use."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def measurement_sections(members: Sequence[tuple[str, Measurement]]) -> list[dict[str, Any]]:
    """Make the table of all measurements, then pictures of the searches among them."""
    sections = [_table(members)]
    if len(members) > 1:
        sections.append(_comparison(members))
    searched = [(label, one) for label, one in members if one.algorithm == "bfs" and one.searches]
    if searched:
        sections.append(_spread(searched))
        sections.append(_searches(searched))
    for label, one in searched[:MAX_FRONTIERS]:
        sections.append(_frontier(label, one))
    return sections


def _row(label: str, one: Measurement) -> list[Any]:
    times = [search["milliseconds"] for search in one.searches]
    by_edge, by_arc = rates(one.searches, "edges"), rates(one.searches, "arcs")
    return [
        label,
        one.algorithm,
        one.strategy,
        one.backend,
        len(times),
        median(times) if times else None,
        harmonic_mean(by_edge) if by_edge else None,
        geometric_mean(by_edge) if by_edge else None,
        geometric_mean(by_arc) if by_arc else None,
        median(search["map_back_milliseconds"] for search in one.searches) if times else None,
        one.prepare_milliseconds,
    ]


def _table(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    about = ["GTEPS counts each distinct undirected edge of the searched component once."]
    about.append("The arc rate counts stored arcs, as Gunrock and the 2012 paper do.")
    for hardware in sorted({one.hardware for _, one in members}):
        about.append(f"Measured on {hardware}.")
    for sentence in dict.fromkeys(
        f"{label}: {one.strategy}, because {one.reason}." for label, one in members
    ):
        about.append(sentence)
    for note in dict.fromkeys(f"{label}: {note}" for label, one in members for note in one.notes):
        about.append(note if note.endswith(".") else f"{note}.")
    return {
        "kind": "table",
        "title": "Traversal times and rates",
        "about": " ".join(about),
        "columns": [
            "run",
            "algorithm",
            "strategy",
            "backend",
            "searches",
            "median ms",
            "GTEPS, harmonic mean",
            "GTEPS, geometric mean",
            "G arcs/s, geometric mean",
            "mapping back, median ms",
            "preparation ms",
        ],
        "rows": [_row(label, one) for label, one in members],
    }


def _comparison(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    labels = [label for label, _ in members]
    times = [[search["milliseconds"] for search in one.searches] for _, one in members]
    middle = [median(each) if each else 0.0 for each in times]
    low = [value - min(each) if each else 0.0 for value, each in zip(middle, times, strict=True)]
    high = [max(each) - value if each else 0.0 for value, each in zip(middle, times, strict=True)]

    def paint(axes: Any) -> None:
        places = range(len(labels))
        axes.barh(places, middle, color=PALETTE[0], height=0.6)
        axes.errorbar(middle, places, xerr=[low, high], fmt="none", ecolor="#888888", capsize=2, lw=1)
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.set_xlabel("milliseconds a search (median; whiskers: fastest and slowest)")

    alt = f"Median time of {len(labels)} measured runs"
    return {
        "kind": "figure",
        "title": "Times side by side",
        "about": "",
        "svg": draw(paint, height=min(12.0, 1.0 + 0.3 * len(labels)), alt=alt),
        "data": {"run": labels, "median_milliseconds": middle},
    }


def _spread(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    data = {label: sorted(rates(one.searches, "edges")) for label, one in members}

    def paint(axes: Any) -> None:
        for place, (label, values) in enumerate(data.items()):
            if not values:
                continue
            share = [(position + 0.5) / len(values) for position in range(len(values))]
            color = PALETTE[place % len(PALETTE)]
            axes.plot(values, share, drawstyle="steps-mid", marker="o", ms=3, lw=1, color=color, label=label)
            if len(data) == 1:
                axes.axvline(harmonic_mean(values), color=PALETTE[1], lw=1, label="harmonic mean")
                axes.axvline(geometric_mean(values), color=PALETTE[2], lw=1, ls="--", label="geometric mean")
        axes.set_xlabel("GTEPS (distinct undirected edges)")
        axes.set_ylabel("share of sources")
        axes.set_ylim(0, 1)
        if any(data.values()) and len(data) <= len(PALETTE):
            axes.legend(loc="best")

    return {
        "kind": "figure",
        "title": "Rate over sources",
        "about": "Each point is one source; the curve is the share of sources at or below a rate.",
        "svg": draw(paint, alt="Distribution of the traversal rate over sources"),
        "data": data,
    }


def _searches(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for label, one in members:
        ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
        picks = {"fastest": ordered[0], "median": ordered[(len(ordered) - 1) // 2], "slowest": ordered[-1]}
        for name, search in picks.items():
            rows.append(
                [
                    label,
                    name,
                    {"vertex": search["source"]},
                    search["milliseconds"],
                    search["reached"],
                    search["edges"],
                    search["depth"],
                ]
            )
    return {
        "kind": "table",
        "title": "Fastest, median and slowest search",
        "about": "Sources are named as the input names them.",
        "columns": ["run", "search", "source", "ms", "vertices reached", "edges reached", "depth"],
        "rows": rows,
    }


def _frontier(label: str, one: Measurement) -> dict[str, Any]:
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    levels = ordered[(len(ordered) - 1) // 2]["levels"]
    vertices, arcs, pulled = levels["vertices"], levels["arcs"], levels["pulled"]

    def paint(axes: Any) -> None:
        depths = range(len(vertices))
        marker = "o" if len(vertices) <= 60 else None
        axes.plot(depths, vertices, marker=marker, ms=3, lw=1.2, color=PALETTE[0], label="vertices")
        axes.plot(depths, arcs, marker=marker, ms=3, lw=1.2, color=PALETTE[1], label="edges (arcs) of those")
        for position, depth in enumerate(pulled):
            name = "level searched bottom-up" if position == 0 else None
            axes.axvspan(depth - 0.5, depth + 0.5, color=PALETTE[2], alpha=0.15, lw=0, label=name)
        axes.set_yscale("log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("level")
        axes.set_ylabel("frontier size")
        axes.legend(loc="best")

    return {
        "kind": "figure",
        "title": f"Frontier of {label}",
        "about": "Vertices and arcs of each level of the search with the median time.",
        "svg": draw(paint, alt=f"Frontier vertices and edges per level of {label}"),
        "data": {"vertices": vertices, "arcs": arcs, "pull_levels": pulled},
    }
