"""Pictures and a table of the searches of a few measurements: times, their spread over sources, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from stages.sections.plot import INK, PALETTE, draw, legend_above
from stages.sections.rates import geometric_mean, harmonic_mean, quartile, rates
from stages.sections.studies import short_labels

if TYPE_CHECKING:
    from stages.artifacts import Measurement


def comparison_figure(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    """Draw the median time of every run, and the quartiles over its sources."""
    names = short_labels([label for label, _ in members])
    times = [sorted(search["milliseconds"] for search in one.searches) for _, one in members]
    middle = [median(each) if each else 0.0 for each in times]
    low = [value - quartile(each, 1) if each else 0.0 for value, each in zip(middle, times, strict=True)]
    high = [quartile(each, 3) - value if each else 0.0 for value, each in zip(middle, times, strict=True)]

    def paint(axes: Any) -> None:
        places = range(len(names))
        axes.barh(places, middle, color=PALETTE[0], height=0.6)
        axes.errorbar(middle, places, xerr=[low, high], fmt="none", ecolor=INK, alpha=0.6, capsize=2, lw=1)
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xlabel("ms a search: median, quartiles")
        axes.grid(visible=False, axis="y")

    alt = f"Median time of {len(names)} measured runs"
    return {
        "kind": "figure",
        "title": "Times side by side",
        "about": "Medians over the sources; whiskers reach from the first to the third quartile.",
        "svg": draw(paint, height=min(12.0, 0.8 + 0.22 * len(names)), alt=alt),
        "data": {"run": names, "median_milliseconds": middle},
    }


def spread_figure(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    """Draw, for every run, the share of sources at or below a rate."""
    names = short_labels([label for label, _ in members])
    data = {name: sorted(rates(one.searches, "edges")) for name, (_, one) in zip(names, members, strict=True)}

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
            legend_above(axes)

    return {
        "kind": "figure",
        "title": "Rate over sources",
        "about": "Each point is one source; the curve is the share of sources at or below a rate.",
        "svg": draw(paint, alt="Distribution of the traversal rate over sources"),
        "data": data,
    }


def extremes_table(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    """List the fastest, the median and the slowest search of every run."""
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
