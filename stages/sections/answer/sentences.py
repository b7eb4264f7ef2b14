"""The sentence of an answer, with its figure, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.components import component_sizes
from gravel.stages.sections.page import Findings, all_sections
from gravel.stages.sections.rates import (
    NO_START,
    TITLES,
    capital,
    count,
    harmonic_mean,
    mean_rate,
    median_milliseconds,
    rates,
    span,
    vertices,
)
from gravel.stages.sections.section import Runs
from gravel.stages.sections.studies import BEST, ONCE, TIED, Member, Study, coordinates, is_batched, studies

Measured = Sequence[tuple[str, "Measurement"]]

MAX_VALUES = 5
"""Values of an axis that the answer lists."""


def sentence(findings: Findings, sections: Sequence[Mapping[str, Any]]) -> str:
    """Say what was found, without its end."""
    measured = findings.measured
    if not measured:
        return _nothing(findings)
    scaled = next(
        (each for each in sections if "scaling with" in each["title"] and each["kind"] == "figure"), None
    )
    if scaled is not None:
        return _scaled(scaled)
    if len(measured) == 1:
        return _one(measured[0][1], findings)
    return _several(measured)


def _nothing(findings: Findings) -> str:
    """Say what a report has without any search."""
    for section in all_sections():
        if section.says is not None and (several := findings.of(section.kinds[0])):
            return section.says([one for _, one in several])
    graphs = [one for kind in ("Graph", "Ordering", "DistributedGraph") for _, one in findings.of(kind)]
    what = f", of {_graph_text(graphs[0].vertex_count, graphs[0].arc_count)}" if graphs else ""
    return f"Nothing was measured{what}"


def _graph_text(size: int, arcs: int) -> str:
    return f"a graph of {vertices(size)} " + (f"and {count(arcs, 'arc')}" if arcs else "without edges")


def _rate(one: Measurement) -> str:
    """Give the rate with its convention, or say why there is none."""
    speeds = rates(one.searches, "edges")
    if speeds:
        left = len(one.searches) - len(speeds)
        mean = "harmonic mean, " if len(speeds) > 1 else ""
        without = f"; {left} reached no edge" if left else ""
        return f"{harmonic_mean(speeds):.3g} GTEPS ({mean}distinct edges{without})"
    if one.algorithm == "bfs":
        return "no rate, as no source reaches an edge"
    return "no rate, as there is no edge"


def _one(one: Measurement, findings: Findings) -> str:
    if not one.searches:
        why = f", {NO_START}" if one.graph and not one.graph["arcs"] else ""
        return f"{_title(one)}: no search was made{why}"
    size = vertices(one.graph["vertices"]) if one.graph else "a graph of unknown size"
    if one.algorithm == "bfs":
        sources = len({search["source"] for search in one.searches})
        together = " searched together" if is_batched(one) else ""
        return f"BFS from {count(sources, 'source')}{together} over {size}: {_timing(one)}"
    labels = next((one for _, one in findings.of("Traversal") if one.component is not None), None)
    found = ""
    if labels is not None and len(labels.component):
        _, sizes = component_sizes(labels)
        found = f"{count(len(sizes), 'component')}, the largest of {vertices(int(sizes.max()))}; "
    return f"{capital(_title(one))} of {size}: {found}{_timing(one)}"


def _timing(one: Measurement) -> str:
    share = " a source (its share of a batch)" if is_batched(one) else ""
    return f"median {median_milliseconds(one):.3g} ms{share}, {_rate(one)}"


def _title(one: Measurement) -> str:
    kind = "connected " if one.algorithm == "components" else ""
    return kind + TITLES.get(one.algorithm, one.algorithm)


def timing(measured: Measured) -> str:
    """Say how long searches took, and at which rate, in one sentence."""
    made = [one for _, one in measured if one.searches]
    if not made:
        return "No search was made."
    return f"{capital(_timing(made[0]) if len(made) == 1 else _timings(made))}."


def _several(measured: Measured) -> str:
    made = [one for _, one in measured if one.searches]
    if not made:
        return f"{count(len(measured), 'measurement')} without any search"
    algorithms = " and ".join(dict.fromkeys(_title(one) for one in made))
    graphs = {one.graph.get("digest", label): one.graph for label, one in measured if one.graph}
    sizes = sorted(graph["vertices"] for graph in graphs.values())
    where = vertices(sizes[0]) if sizes else "a graph of unknown size"
    if sizes and sizes[0] != sizes[-1]:
        where = f"{sizes[0]:,} to {sizes[-1]:,} vertices"
    if len(graphs) > 1:
        where = f"{len(graphs)} graphs of {where}"
    return f"{capital(algorithms)} over {where}, {count(len(made), 'measurement')}: {_timings(made)}"


def _timings(made: Sequence[Measurement]) -> str:
    times = sorted(map(median_milliseconds, made))
    speeds = sorted(speed for one in made if (speed := mean_rate(one)) is not None)
    rate = (
        f"{span(speeds)} GTEPS (harmonic means, distinct edges)"
        if speeds
        else "no rate, as no search reaches an edge"
    )
    return f"medians of {span(times)} ms, {rate}"


def _scaled(section: Mapping[str, Any]) -> str:
    """Give the efficiency that was reached with the most workers."""
    kind, _, unit = section["title"].partition(" scaling with ")
    series = list(section["data"].values())
    ends = sorted(100 * each["efficiency"][-1] for each in series)
    times = [(each["median_milliseconds"][0], each["median_milliseconds"][-1]) for each in series]
    first, last = min(each[unit][0] for each in series), max(each[unit][-1] for each in series)
    text = f"{times[0][0]:.3g} ms with {first}, {times[0][1]:.3g} ms with {last}" if len(series) == 1 else ""
    return f"{kind} scaling over {first} to {last} {unit}: {span(ends)} % of the ideal at {last}" + (
        f" (median {text})" if text else f", {len(series)} series"
    )


def asked(measured: Measured, repeated: Mapping[str, Sequence[float]]) -> str:
    """Say what was searched and how, and what varied."""
    first = measured[0][1]
    values: dict[str, list[str]] = {}
    for _, one in measured:
        for name, value in _choices(one).items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    fixed = [f"{name} {each[0]}" for name, each in values.items() if len(each) == 1]
    axes: dict[str, list[str]] = {}
    for label, _ in measured:
        for axis, value in coordinates(label).items():
            if value not in axes.setdefault(axis, []):
                axes[axis].append(value)
    varied = [f"{axis} ({_listed(each)})" for axis, each in axes.items() if len(each) > 1]
    parts = [", ".join(fixed)] if fixed else []
    if varied:
        parts.append(f"varied: {', '.join(varied)}")
    if first.graph and len({one.graph.get("digest") for _, one in measured}) == 1:
        parts.insert(0, _graph_text(first.graph["vertices"], first.graph["arcs"]))
    if repeated:
        counts = sorted({len(each) for each in repeated.values()})
        parts.append(f"each repeated {counts[-1]} times")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values) if len(values) <= MAX_VALUES else f"{len(values)} values"


def _choices(one: Measurement) -> dict[str, str]:
    order, rows = one.graph.get("order") or {}, one.graph.get("rows") or {}
    partition = one.graph.get("partition") or {}
    found = {
        "strategy": one.strategy,
        "order": order.get("method"),
        "layout": rows.get("codec"),
        "ranks": partition.get("ranks"),
        "output": one.asked.get("output") if one.algorithm == "bfs" else None,
        "backend": one.backend,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


MAX_GRAPHS = 3
"""Graphs on which the answer names what is best; of more it counts."""

MAX_NAMED = 3
"""Tied runs that the answer names."""


def beside_runs(
    measured: Runs, repeated: Mapping[str, Sequence[float]], sections: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Say what is best on each graph, ties as ties."""
    if any("scaling with" in section["title"] for section in sections):
        return []  # the sentence itself compares
    groups = [
        (study, like) for study in studies(measured, repeated) for like in _alike(study) if len(like) > 1
    ]
    if len(groups) > MAX_GRAPHS:
        return _counted(groups)
    if len(groups) == 1:
        return [f"{standing_text(*groups[0])}."]
    return [
        # The place says what the labels are, so the names need not.
        f"{_place(study, like, groups)}: {standing_text(study, like).replace(f' ({_output(like)})', '')}."
        for study, like in groups
    ]


def _alike(study: Study) -> list[list[Member]]:
    """Group the members that find the same labels."""
    outputs = dict.fromkeys(str(member.one.asked.get("output")) for member in study.members)
    return [
        [member for member in study.members if str(member.one.asked.get("output")) == output]
        for output in outputs
    ]


def _output(like: Sequence[Member]) -> str:
    return str(like[0].one.asked.get("output"))


def _place(study: Study, like: Sequence[Member], groups: Sequence[tuple[Study, Any]]) -> str:
    output = _output(like)
    same = sum(each is study for each, _ in groups) > 1
    parts = [study.graph] if len({id(each) for each, _ in groups}) > 1 else []
    return ", ".join([*parts, *([output] if same else [])]) or study.graph


def standing_text(study: Study, like: Sequence[Member]) -> str:
    """Say which of some runs is fastest, or which are tied, or why they are not ranked."""
    ordered = sorted(like, key=lambda member: member.milliseconds)
    standing = {member.label: study.standing(member) for member in like}
    tied = [member for member in ordered if standing[member.label].word == TIED]
    best = [member for member in ordered if standing[member.label].word == BEST]
    slowest = ordered[-1]
    factor = slowest.milliseconds / ordered[0].milliseconds if ordered[0].milliseconds else 0.0
    span = f"; the slowest, {_plain(slowest.name)}, takes {factor:.3g} times as long"
    if best:
        first = f"fastest is {_plain(best[0].name)}, {best[0].milliseconds:.3g} ms"
        return first if slowest in best else first + span
    if tied:
        named = ", ".join(_plain(member.name) for member in tied[:MAX_NAMED])
        more = f" and {len(tied) - MAX_NAMED} more" if len(tied) > MAX_NAMED else ""
        return (
            f"{named}{more} are tied within the spread of their times; the shortest is "
            f"{tied[0].milliseconds:.3g} ms{span if slowest not in tied else ''}"
        )
    if any(standing[member.label].word == ONCE for member in like):
        return "not ranked, as each was measured once, from one source"
    return "not ranked, as all ran the same code"


def _plain(name: str) -> str:
    """Write a name of several values so that it can stand in a list."""
    return name.replace(", ", " ")


def _counted(groups: Sequence[tuple[Study, Sequence[Member]]]) -> list[str]:
    """Count on how many graphs each run is best, or tied for it."""
    leads: dict[str, list[int]] = {}
    for study, like in groups:
        for member in like:
            standing = study.standing(member)
            # Runs of the same code lead together, and count once.
            same = sorted([member.name, *standing.same_code])
            if standing.word in (BEST, TIED) and member.name == same[0]:
                name = f"{_plain(' and '.join(same[:2]))} (same code)" if same[1:] else _plain(member.name)
                leads.setdefault(name, [0, 0])[0 if standing.word == BEST else 1] += 1
    if not leads:
        return [f"On {len(groups)} graphs: not ranked, each measured once or by the same code."]
    ordered = sorted(leads.items(), key=lambda item: (-sum(item[1]), -item[1][0]))
    parts = [
        f"{name} fastest on {best}" + (f", tied on {tied}" if tied else "")
        for name, (best, tied) in ordered[:MAX_NAMED]
    ]
    more = f"; {len(ordered) - MAX_NAMED} others on fewer" if len(ordered) > MAX_NAMED else ""
    graphs = len({id(study) for study, _ in groups}) == len(groups)
    return [f"Of {len(groups)} {'graphs' if graphs else 'groups that compare'}: {'; '.join(parts)}{more}."]
