"""The sentence of an answer, with its figure, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.centralities import name_of
from gravel.stages.sections.counters import COUNTED, bytes_are, dram_bytes_an_arc
from gravel.stages.sections.rates import harmonic_mean, rates
from gravel.stages.sections.studies import coordinates, is_batched

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

Measured = Sequence[tuple[str, "Measurement"]]

MAX_VALUES = 5
"""Values of an axis that the answer lists."""

TITLES = {"bfs": "BFS", "sssp": "Shortest paths", "components": "Connected components"}


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


NO_START = "as no vertex has an edge from which a search could start"


def sentence(
    by_kind: Mapping[str, Sequence[tuple[str, Any]]],
    measured: Measured,
    sections: Sequence[Mapping[str, Any]],
) -> str:
    """Say what was found, without its end."""
    if not measured:
        return _nothing(by_kind)
    scaled = next(
        (each for each in sections if "scaling with" in each["title"] and each["kind"] == "figure"), None
    )
    if scaled is not None:
        return _scaled(scaled)
    if len(measured) == 1:
        return _one(measured[0][1], by_kind)
    return _several(measured)


def _nothing(by_kind: Mapping[str, Sequence[tuple[str, Any]]]) -> str:
    if "Probe" in by_kind:
        probes = [one for _, one in by_kind["Probe"]]
        if not any(one.searches for one in probes):
            return f"No part of a search was measured, {NO_START}"
        parts = sum(len(one.parts) for one in probes)
        if not parts:
            return "Frontiers of searches counted; nothing was timed"
        return f"{count(parts, 'part')} of searches timed alone; whole searches were not measured"
    if "Centrality" in by_kind:
        return _central([one for _, one in by_kind["Centrality"]])
    if "Links" in by_kind:
        links = by_kind["Links"]
        return f"Messages between {links[0][1].ranks} ranks timed by size; searches were not measured"
    if "Counters" in by_kind:
        return _counters([one for _, one in by_kind["Counters"]])
    graphs = [one for kind in ("Graph", "Ordering", "DistributedGraph") for _, one in by_kind.get(kind, [])]
    what = f", of {_graph_text(graphs[0].vertex_count, graphs[0].arc_count)}" if graphs else ""
    return f"Nothing was measured{what}"


def _central(several: Sequence[Any]) -> str:
    *others, last = dict.fromkeys(map(name_of, several))
    names = f"{', '.join(others)} and {last}" if others else last
    sizes = sorted({len(one.value) for one in several if one.target is None})
    if not sizes:
        of = count(max(len(one.value) for one in several), "edge")
    else:
        of = _vertices(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,} vertices"
    return f"{names[0].upper()}{names[1:]} of {of}"


def _counters(several: Sequence[Any]) -> str:
    read = [one for one in several if one.tool]
    counted = sum(bytes_are(one) == COUNTED for one in several)
    if not read:
        return f"Bytes of {count(counted, 'way')} of searching counted; hardware counters were not read"
    tools = " and ".join(sorted({f"{one.tool['name']} {one.tool['version']}" for one in read}))
    rest = f"; bytes of {counted} more counted" if counted else ""
    found = sorted(each for each in map(dram_bytes_an_arc, read) if each is not None)
    figures = f": {_span(found)} bytes of DRAM an arc" if found else ""
    return f"Hardware counters of {count(len(read), 'way')} of searching, read by {tools}{figures}{rest}"


def _graph_text(vertices: int, arcs: int) -> str:
    if not arcs:
        return f"a graph of {_vertices(vertices)} without edges"
    return f"a graph of {_vertices(vertices)} and {count(arcs, 'arc')}"


def _vertices(number: int) -> str:
    return "1 vertex" if number == 1 else f"{number:,} vertices"


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


def _one(one: Measurement, by_kind: Mapping[str, Sequence[tuple[str, Any]]]) -> str:
    if not one.searches:
        why = f", {NO_START}" if one.graph and not one.graph["arcs"] else ""
        return f"{_title(one)}: no search was made{why}"
    time = median(search["milliseconds"] for search in one.searches)
    size = _vertices(one.graph["vertices"]) if one.graph else "a graph of unknown size"
    if one.algorithm == "bfs":
        sources = len({search["source"] for search in one.searches})
        together = " searched together" if is_batched(one) else ""
        share = " a source (its share of a batch)" if together else ""
        start = f"BFS from {count(sources, 'source')}{together} over {size}"
        return f"{start}: median {time:.3g} ms{share}, {_rate(one)}"
    found = _components(by_kind)
    return f"{_title(one)} of {size}: {found}median {time:.3g} ms, {_rate(one)}"


def _components(by_kind: Mapping[str, Sequence[tuple[str, Any]]]) -> str:
    import numpy

    labels = next(
        (one.component for _, one in by_kind.get("Traversal", []) if one.component is not None), None
    )
    if labels is None or not len(labels):
        return ""
    sizes = numpy.bincount(numpy.asarray(labels).astype(numpy.int64))
    number = int((sizes > 0).sum())
    return f"{count(number, 'component')}, the largest of {_vertices(int(sizes.max()))}; "


def _title(one: Measurement) -> str:
    return TITLES.get(one.algorithm, one.algorithm)


def _several(measured: Measured) -> str:
    made = [one for _, one in measured if one.searches]
    if not made:
        return f"{count(len(measured), 'measurement')} without any search"
    algorithms = " and ".join(dict.fromkeys(_title(one) for one in made))
    graphs = {one.graph.get("digest", label): one.graph for label, one in measured if one.graph}
    sizes = sorted(graph["vertices"] for graph in graphs.values())
    where = _vertices(sizes[0]) if sizes else "a graph of unknown size"
    if sizes and sizes[0] != sizes[-1]:
        where = f"{sizes[0]:,} to {sizes[-1]:,} vertices"
    if len(graphs) > 1:
        where = f"{len(graphs)} graphs of {where}"
    times = sorted(median(search["milliseconds"] for search in one.searches) for one in made)
    speeds = sorted(harmonic_mean(each) for one in made if (each := rates(one.searches, "edges")))
    rate = "no rate, as no search reaches an edge"
    if speeds:
        rate = f"{_span(speeds)} GTEPS (harmonic means, distinct edges)"
    return f"{algorithms} in {len(made):,} ways over {where}: medians of {_span(times)} ms, {rate}"


def _span(values: Sequence[float]) -> str:
    least, most = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    return least if least == most else f"{least} to {most}"


def _scaled(section: Mapping[str, Any]) -> str:
    """Give the efficiency that was reached with the most workers."""
    kind, _, unit = section["title"].partition(" scaling with ")
    series = list(section["data"].values())
    ends = sorted(100 * each["efficiency"][-1] for each in series)
    times = [(each["median_milliseconds"][0], each["median_milliseconds"][-1]) for each in series]
    first, last = min(each[unit][0] for each in series), max(each[unit][-1] for each in series)
    told = f"{times[0][0]:.3g} ms with {first}, {times[0][1]:.3g} ms with {last}" if len(series) == 1 else ""
    return f"{kind} scaling over {first} to {last} {unit}: {_span(ends)} % of the ideal at {last}" + (
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
