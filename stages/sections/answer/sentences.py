"""The sentence of an answer, with its figure, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.findings import Findings
from gravel.stages.sections.rates import NO_START, count, harmonic_mean, rates, span, vertices
from gravel.stages.sections.registry import all_sections
from gravel.stages.sections.studies import coordinates, is_batched

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

Measured = Sequence[tuple[str, "Measurement"]]

MAX_VALUES = 5
"""Values of an axis that the answer lists."""

TITLES = {"bfs": "BFS", "sssp": "Shortest paths", "components": "Connected components"}


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
    time = median(search["milliseconds"] for search in one.searches)
    size = vertices(one.graph["vertices"]) if one.graph else "a graph of unknown size"
    if one.algorithm == "bfs":
        sources = len({search["source"] for search in one.searches})
        together = " searched together" if is_batched(one) else ""
        share = " a source (its share of a batch)" if together else ""
        start = f"BFS from {count(sources, 'source')}{together} over {size}"
        return f"{start}: median {time:.3g} ms{share}, {_rate(one)}"
    found = _components(findings)
    return f"{_title(one)} of {size}: {found}median {time:.3g} ms, {_rate(one)}"


def _components(findings: Findings) -> str:
    import numpy

    labels = next((one.component for _, one in findings.of("Traversal") if one.component is not None), None)
    if labels is None or not len(labels):
        return ""
    sizes = numpy.bincount(numpy.asarray(labels).astype(numpy.int64))
    number = int((sizes > 0).sum())
    return f"{count(number, 'component')}, the largest of {vertices(int(sizes.max()))}; "


def _title(one: Measurement) -> str:
    return TITLES.get(one.algorithm, one.algorithm)


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
    times = sorted(median(search["milliseconds"] for search in one.searches) for one in made)
    speeds = sorted(harmonic_mean(each) for one in made if (each := rates(one.searches, "edges")))
    rate = "no rate, as no search reaches an edge"
    if speeds:
        rate = f"{span(speeds)} GTEPS (harmonic means, distinct edges)"
    return f"{algorithms} in {len(made):,} ways over {where}: medians of {span(times)} ms, {rate}"


def _scaled(section: Mapping[str, Any]) -> str:
    """Give the efficiency that was reached with the most workers."""
    kind, _, unit = section["title"].partition(" scaling with ")
    series = list(section["data"].values())
    ends = sorted(100 * each["efficiency"][-1] for each in series)
    times = [(each["median_milliseconds"][0], each["median_milliseconds"][-1]) for each in series]
    first, last = min(each[unit][0] for each in series), max(each[unit][-1] for each in series)
    told = f"{times[0][0]:.3g} ms with {first}, {times[0][1]:.3g} ms with {last}" if len(series) == 1 else ""
    return f"{kind} scaling over {first} to {last} {unit}: {span(ends)} % of the ideal at {last}" + (
        f" (median {told})" if told else f" in {len(series)} ways"
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
    told = [", ".join(fixed)] if fixed else []
    if varied:
        told.append(f"varied: {', '.join(varied)}")
    if first.graph and len({one.graph.get("digest") for _, one in measured}) == 1:
        told.insert(0, _graph_text(first.graph["vertices"], first.graph["arcs"]))
    if repeated:
        counts = sorted({len(each) for each in repeated.values()})
        told.append(f"each repeated {counts[-1]} times")
    text = "; ".join(told)
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
