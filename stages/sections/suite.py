"""Strategies and graphs side by side: sizes, times, rates, speedups, and how far `auto` is from the best."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import Axis, Rows, RowSeries
from gravel.stages.sections.counters import counting_rule, mean_bytes
from gravel.stages.sections.rates import milliseconds, quartile
from gravel.stages.sections.section import Made, Section, figure, table
from gravel.stages.sections.studies import BEST, ONCE, RULE, TIED, Member, Study

MAX_ROWS = 30
"""Strategies in one panel of the comparison; more are in the table alone."""

MAX_PANELS = 12
"""Graphs of one comparison; more are in the table alone."""

MAX_DOTS = 200
"""Rows of all graphs together in one picture; of many strategies fewer graphs are drawn."""


def suite_sections(studies: Sequence[Study]) -> list[Made | None]:
    """Make the tables and the picture of several graphs, or of several ways of searching one."""
    several = any(len(study.members) > 1 for study in studies)
    suite = len(studies) > 1
    return [
        graphs_table(studies) if suite else None,
        comparison_panels(studies) if suite and several else None,
        comparison_table(studies) if several else None,
        rates_table(studies) if several else None,
        auto_table(studies),
    ]


def graphs_table(studies: Sequence[Study]) -> Made:
    """Make table 1 of Merrill et al.: what was searched, and how deep."""
    rows: list[list[Any]] = []
    for study in studies:
        one = study.members[0].one
        graph, searches = one.graph, one.searches
        depths = [search["depth"] for search in searches]
        size, reached = graph["vertices"], fmean(search["reached"] for search in searches)
        shape = "symmetric" if graph["symmetric"] else "directed"
        facts = (study.graph, size, graph["arcs"], graph["arcs"] / size, shape)
        rows.append([*facts, fmean(depths), max(depths), 100 * reached / size])
    return table(
        "Graphs searched",
        "Depth is the largest distance from a source, averaged over the sources of a run.",
        "graph | vertices | arcs | mean degree | direction | search depth | deepest | reached, %",
        rows,
        name="graphs searched",
    )


def rates_table(studies: Sequence[Study]) -> Made:
    """Make table 2 of Merrill et al.: mean arc rates, and the speedup over the sequential search."""
    names = list(dict.fromkeys(member.name for study in studies for member in study.members))
    rows = []
    for study in studies:
        by_name = {member.name: member for member in study.members}
        rows.append([study.graph, *(_rate_cell(study, by_name.get(name)) for name in names)])
    counts = sorted({len(member.one.searches) for study in studies for member in study.members})
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    about = f"10^9 stored arcs a second, the mean over {several} source{'' if counts == [1] else 's'}"
    over = any(speedup(study, member) is not None for study in studies for member in study.members)
    if over:
        about += "; in brackets the speedup over the sequential search on the CPU, by median times"
    return table(
        f"Arc rates{' and speedup over the sequential search' if over else ''}",
        f"{about}.",
        ["graph", *names],
        rows,
        covered_by=("experiments", "every strategy"),
    )


def _rate_cell(study: Study, member: Member | None) -> str | None:
    rates = [
        search["arcs"] / search["milliseconds"] / 1e6
        for search in (member.one.searches if member else ())
        if search["arcs"] and search["milliseconds"] > 0
    ]
    if member is None or not rates:
        return None
    over = speedup(study, member)
    return f"{fmean(rates):.3g}" + (f" ({_times(over)})" if over is not None else "")


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
            facts = (study.graph, auto.one.strategy, auto.milliseconds, best.name, best.milliseconds)
            rows.append([*facts, _behind(study, auto, best), auto.one.reason])
    if not rows:
        return None
    return table(
        "auto against the best",
        f"By median times. {RULE}",
        "graph | auto chose | ms | fastest | ms of the fastest | auto is | because",
        rows,
        result=70,
    )


def _behind(study: Study, auto: Member, best: Member) -> str:
    """Say how `auto` stands to the one with the least time: a tie or the same code is not behind."""
    standing = study.standing(auto)
    if auto is best or best.name in standing.same_code:
        return standing.text or "the same code"
    if standing.word in (BEST, TIED, ONCE):
        return standing.text
    return f"{100 * (auto.milliseconds / best.milliseconds - 1):.3g} % behind"


def comparison_panels(studies: Sequence[Study]) -> Made:
    """Draw the times of all strategies on each graph, with their spread over the sources."""
    several = [study for study in studies if len(study.members) > 1]
    names = list(dict.fromkeys(member.name for study in several for member in study.members))
    shown = names[:MAX_ROWS]
    over = any(speedup(study, member) is not None for study in several for member in study.members)
    about = [
        "Points are medians over the sources, and lines reach from the first to the third quartile. Each "
        "graph has its own logarithmic scale. The fastest, and those tied with it, have the second colour."
    ]
    if over:
        about.append("2x: twice as fast as the sequential search (as in table 2 of Merrill et al., 2012).")
    if len(shown) < len(names):
        about.append(f"The first {len(shown)} of {len(names)}; the table has all.")
    drawn = several[: max(1, min(MAX_PANELS, MAX_DOTS // max(1, len(shown))))]
    if len(several) > len(drawn):
        about.append(f"The first {len(drawn)} of {len(several)} graphs; the table has all.")
    return figure(
        "Strategies side by side",
        " ".join(about),
        [_dots(study, shown) for study in drawn],
        {study.graph: {member.name: _spread(member) for member in study.members} for study in several},
        alt=f"Times of {len(shown)} strategies on {len(drawn)} graphs",
        answer=30,
        single=True,
        name="strategies side by side",
        covered_by=("times by order",),
    )


def _spread(member: Member) -> dict[str, float]:
    times = sorted(milliseconds(member.one))
    return {
        "median_milliseconds": member.milliseconds,
        "first_quartile": quartile(times, 1),
        "third_quartile": quartile(times, 3),
    }


def _dots(study: Study, names: Sequence[str]) -> Rows:
    members = sorted(
        (member for member in study.members if member.name in names), key=lambda each: names.index(each.name)
    )
    spreads = [_spread(member) for member in members]
    leads = [study.standing(member).word in (BEST, TIED) for member in members]
    over = [speedup(study, member) for member in members]
    points = RowSeries(
        name="median",
        values=tuple(each["median_milliseconds"] for each in spreads),
        draw="point",
        low=tuple(each["first_quartile"] for each in spreads),
        high=tuple(each["third_quartile"] for each in spreads),
        range_name="quartile",
        colors=tuple(1 if lead else 0 for lead in leads),
        words=tuple(
            f"{member.milliseconds:.3g} ms" + (f", {_times(gain)}" if gain is not None else "")
            for member, gain in zip(members, over, strict=True)
        ),
    )
    return Rows(
        title=study.graph,
        of="strategy",
        names=tuple(member.name for member in members),
        axis=Axis(label="ms a search", scale="log10"),
        series=(points,),
    )


Value = str | float | None


def compared(study: Study, member: Member) -> dict[str, Value]:
    """Set one way of searching a graph beside the others that find the same labels."""
    one = member.one
    counted = mean_bytes(one)
    mean = fmean(milliseconds(one))
    return {
        "standing": study.standing(member).text,
        "times the fastest": member.milliseconds / study.best(member).milliseconds,
        "redundant expansion": _redundancy(one),
        "counted MB a search": None if counted is None else counted / 1e6,
        "GB/s of counted bytes": None if counted is None or not mean else counted / mean / 1e6,
        "over sequential": speedup(study, member),
    }


def comparison_rules(studies: Sequence[Study]) -> str:
    """Say how to read the columns of `compared`, as far as they hold anything."""
    members = [member for study in studies for member in study.members]
    sentences = [f"Searches compare with those that write the same output. {RULE}"]
    if any(speedup(study, member) is not None for study in studies for member in study.members):
        sentences.append("Over sequential: the sequential search's median time over this one's.")
    if any(_redundancy(member.one) is not None for member in members):
        sentences.append(
            "Redundant expansion is the arcs gathered by all searches over the arcs of the vertices that "
            "they reached."
            + (" It is below 1 where a bottom-up search left arcs unread." if _is_below(members) else "")
        )
    return " ".join([*sentences, counting_rule([member.one for member in members])]).strip()


def comparison_table(studies: Sequence[Study]) -> Made:
    """Make the table of every strategy on every graph."""
    rows: list[list[Any]] = []
    columns = ["graph", "strategy", "standing", "median ms"]
    for study in studies:
        for member in study.members:
            beside = compared(study, member)
            standing = beside.pop("standing")
            columns = [*columns[:4], *beside]
            rows.append([study.graph, member.name, standing, member.milliseconds, *beside.values()])
    return table(
        "Every strategy on every graph",
        f"Times are medians over the sources. {comparison_rules(studies)}",
        columns,
        rows,
        result=110,
        name="every strategy",
        covered_by=("experiments",),
    )


def _is_below(members: Sequence[Member]) -> bool:
    return any((_redundancy(member.one) or 1) < 1 for member in members)


def _redundancy(one: Measurement) -> float | None:
    pairs = [
        (search["expanded"], search["expanded"] / search["redundant_expansion"])
        for search in one.searches
        if search.get("redundant_expansion")
    ]
    return sum(gathered for gathered, _ in pairs) / sum(logical for _, logical in pairs) if pairs else None


def speedup(study: Study, member: Member) -> float | None:
    """Return the sequential search's time over that of another; None for itself, and where there is none."""
    baseline = study.baseline(member)
    if baseline is None or member is baseline:
        return None
    return baseline.milliseconds / member.milliseconds


SECTIONS = (Section(rank=112, make=suite_sections, needs=("studies",)),)
