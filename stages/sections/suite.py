"""Strategies and graphs side by side: sizes, times, rates, speedups, and how far `auto` is from the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from stages.sections.plot import INK, PALETTE, draw_panels
from stages.sections.ranking import BEST, ONCE, RULE, TIED
from stages.sections.rates import quartile
from stages.sections.studies import COUNTING_RULE, Member, Study, counted_bytes

if TYPE_CHECKING:
    from stages.artifacts import Measurement

WHISKER = 1.25
"""Speed at which a line ends that would run into the numbers."""

ROW_INCHES = 0.17
"""Height of one bar in a panel of the comparison."""


def graphs_table(studies: Sequence[Study]) -> dict[str, Any]:
    """Make table 1 of Merrill et al.: what was searched, and how deep."""
    rows: list[list[Any]] = []
    for study in studies:
        one = study.members[0].one
        graph, searches = one.graph, one.searches
        rows.append(
            [
                study.graph,
                graph["vertices"],
                graph["arcs"],
                graph["arcs"] / graph["vertices"],
                "symmetric" if graph["symmetric"] else "directed",
                fmean(search["depth"] for search in searches),
                max(search["depth"] for search in searches),
                100 * fmean(search["reached"] for search in searches) / graph["vertices"],
            ]
        )
    return {
        "kind": "table",
        "title": "Graphs searched",
        "about": "Depth is the largest distance from a source, in the mean over all sources of a run.",
        "columns": [
            "graph",
            "vertices",
            "arcs",
            "mean degree",
            "direction",
            "search depth",
            "deepest",
            "reached, %",
        ],
        "rows": rows,
    }


def comparison_table(studies: Sequence[Study]) -> dict[str, Any]:
    """Make the table of every strategy on every graph."""
    rows: list[list[Any]] = []
    for study in studies:
        for member in study.members:
            best = study.best(member)
            searches = member.one.searches
            taken = sum(search["milliseconds"] for search in searches)
            counted = sum(counted_bytes(member.one, search) for search in searches)
            rows.append(
                [
                    study.graph,
                    member.name,
                    study.standing(member).text,
                    member.milliseconds,
                    member.milliseconds / best.milliseconds,
                    _redundancy(member.one),
                    counted / len(searches) / 1e6,
                    counted / taken / 1e6,
                ]
            )
    return {
        "kind": "table",
        "title": "Every strategy on every graph",
        "about": (
            f"Times are medians over the sources; the best is that of the same labels. {RULE} "
            "Redundant expansion is "
            "arcs gathered over arcs of the reached vertices, over all searches: below 1 where a bottom-up "
            "search left arcs unread, empty "
            f"where the strategy does not count. {COUNTING_RULE}"
        ),
        "columns": [
            "graph",
            "strategy",
            "standing",
            "median ms",
            "times the least",
            "redundant expansion",
            "counted MB a search",
            "GB/s of counted bytes",
        ],
        "rows": rows,
    }


def _redundancy(one: Measurement) -> float | None:
    pairs = [
        (search["expanded"], search["expanded"] / search["redundant_expansion"])
        for search in one.searches
        if search.get("redundant_expansion")
    ]
    return sum(gathered for gathered, _ in pairs) / sum(logical for _, logical in pairs) if pairs else None


def rates_table(studies: Sequence[Study]) -> dict[str, Any]:
    """Make table 2 of Merrill et al.: mean arc rates, and the speedup over the sequential search."""
    names = list(dict.fromkeys(member.name for study in studies for member in study.members))
    rows = []
    for study in studies:
        by_name = {member.name: member for member in study.members}
        rows.append([study.graph, *(_rate_cell(study, by_name.get(name)) for name in names)])
    searches = sorted({len(member.one.searches) for study in studies for member in study.members})
    return {
        "kind": "table",
        "title": "Arc rates and speedup over the sequential search",
        "about": (
            f"Billions of stored arcs a second, the mean over {' to '.join(map(str, searches))} sources; in "
            "brackets the time of the sequential search on the CPU over that of the strategy, by medians."
        ),
        "columns": ["graph", *names],
        "rows": rows,
    }


def _rate_cell(study: Study, member: Member | None) -> str | None:
    rates = [
        search["arcs"] / search["milliseconds"] / 1e6
        for search in (member.one.searches if member else ())
        if search["arcs"] and search["milliseconds"] > 0
    ]
    if member is None or not rates:
        return None
    speedup = _speedup(study, member)
    return f"{fmean(rates):.3g}" + (f" ({_times(speedup)})" if speedup is not None else "")


def _speedup(study: Study, member: Member) -> float | None:
    baseline = study.baseline(member)
    if baseline is None or member is baseline:
        return None
    return baseline.milliseconds / member.milliseconds


def _times(speedup: float) -> str:
    return f"{speedup:,.0f}x" if speedup >= 100 else f"{speedup:.3g}x"


def auto_table(studies: Sequence[Study]) -> dict[str, Any] | None:
    """Compare `auto` with the best strategy of each graph; None where it was not measured beside others."""
    rows: list[list[Any]] = []
    for study in studies:
        for auto in study.members:
            like = study.like(auto)
            autos = [member for member in like if member.one.asked["strategy"] == "auto"]
            # Several of them differ in more than the strategy, so that there is no one best to compare with.
            if autos != [auto] or len(like) < 2:
                continue
            best = study.best(auto)
            rows.append(
                [
                    study.graph,
                    auto.one.strategy,
                    auto.milliseconds,
                    best.name,
                    best.milliseconds,
                    _behind(study, auto, best),
                    auto.one.reason,
                ]
            )
    if not rows:
        return None
    return {
        "kind": "table",
        "title": "auto against the best",
        "about": f"By median times. {RULE}",
        "columns": ["graph", "auto chose", "ms", "least", "least ms", "auto is", "because"],
        "rows": rows,
    }


def _behind(study: Study, auto: Member, best: Member) -> str:
    """Say how `auto` stands to the one with the least time: a tie or the same code is not behind."""
    standing = study.standing(auto)
    if auto is best or best.name in standing.same_code:
        return standing.text or "the same code"
    if standing.word in (BEST, TIED, ONCE):
        return standing.text
    return f"{100 * (auto.milliseconds / best.milliseconds - 1):.3g} % behind"


def comparison_panels(studies: Sequence[Study]) -> dict[str, Any]:
    """Draw the speed of all strategies on each graph, relative to the best there."""
    names = list(dict.fromkeys(member.name for study in studies for member in study.members))
    several = [study for study in studies if len(study.members) > 1]
    return {
        "kind": "figure",
        "title": "Strategies side by side",
        "about": (
            "Speed relative to the least time on the graph, by medians, which stand beside the bars; lines "
            "reach from the slower to the faster quartile of the sources; what is best, or tied for it, has "
            "the second colour; x: over the sequential search (as in"
            "  figure 10 of Merrill et al., PPoPP 2012, and figures 1 and 2 of "
            "FlexBFS)."
        ),
        "svg": draw_panels(
            [(study.graph, _bars(study, names, 6 if len(several) > 1 else 8)) for study in several],
            height=0.55 + ROW_INCHES * len(names),
            same_rows=True,
            alt=f"Speed of {len(names)} strategies on {len(several)} graphs",
        ),
        "data": {
            study.graph: {member.name: member.milliseconds for member in study.members} for study in several
        },
    }


def _bars(study: Study, names: Sequence[str], letters: float) -> Callable[[Any], None]:
    def paint(axes: Any) -> None:
        for member in study.members:
            best = study.best(member)
            place = names.index(member.name)
            share = best.milliseconds / member.milliseconds
            leads = study.standing(member).word in (BEST, TIED)
            axes.barh(place, share, color=PALETTE[1] if leads else PALETTE[0], height=0.7)
            times = sorted(search["milliseconds"] for search in member.one.searches)
            slow, fast = (best.milliseconds / time for time in (quartile(times, 3), quartile(times, 1)))
            fast = min(fast, WHISKER)
            axes.plot([slow, fast], [place, place], color=INK, alpha=0.6, lw=0.8)
            speedup = _speedup(study, member)
            told = f"{member.milliseconds:.3g} ms" + (f", {_times(speedup)}" if speedup is not None else "")
            axes.text(max(share, fast) + 0.03, place, told, va="center", fontsize=letters)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(0, 2.1)
        axes.set_xticks([0, 0.5, 1])
        axes.grid(visible=False, axis="y")

    return paint
