"""What was found in the graphs of files, as the sentence of an answer with the vertices that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.artifacts import Centrality, Measurement, Traversal
from gravel.stages.sections.centralities import largest, measures_text, name_of
from gravel.stages.sections.components import component_sizes
from gravel.stages.sections.page import Findings
from gravel.stages.sections.rates import TITLES, capital, count, percent, span, vertices

SEARCHES = ("bfs", "shortest_paths")
"""Algorithms whose results are those of searches; others label vertices."""

Piece = str | dict[str, Any]
"""A text, or a vertex and the run that it belongs to."""

Found = tuple[str, Measurement, Traversal | None]
"""A label with what was measured, and the labels of vertices where a report has them."""

LEADING = 3
"""Vertices with the largest values that the answer names for a measure."""

MAX_MEASURES = 6
"""Centralities of which the answer names the first vertices."""


def found(findings: Findings) -> list[Piece]:
    """Say what searches, components and centralities found, without its end; empty where there are none."""
    labels: dict[str, Traversal] = dict(findings.of("Traversal"))
    groups: dict[str, list[Found]] = {}
    for label, one in findings.measured:
        if one.searches and one.graph:
            groups.setdefault(one.algorithm, []).append((label, one, labels.get(label)))
    sizes = {
        one.graph.get("digest", label): one.graph["vertices"]
        for group in groups.values()
        for label, one, _ in group
    }
    pieces: list[Piece] = []
    for algorithm, group in groups.items():
        one_graph = _searches if algorithm in SEARCHES else _components
        describe = _of_graphs if len(sizes) > 1 else one_graph
        pieces += ["; " if pieces else "", *describe(group)]
    if len(sizes) > 1:
        pieces.insert(0, f"{len(sizes):,} graphs with {_range(sorted(sizes.values()))} vertices: ")
    if not pieces and (measures := findings.of("Centrality")):
        pieces = _leaders(measures)
    pieces = [piece for piece in pieces if piece]
    if pieces and isinstance(pieces[0], str):
        pieces[0] = capital(pieces[0])
    return pieces


def _of_graphs(several: Sequence[Found]) -> list[Piece]:
    """Describe several graphs by the range of what was found."""
    sizes = [
        component_sizes(each)[1] for *_, each in several if each is not None and each.component is not None
    ]
    if numbers := sorted(map(len, sizes)):
        shares = sorted(100 * int(each.max()) / int(each.sum()) for each in sizes if len(each))
        return [f"{_range(numbers)} components in each, the largest with {span(shares)} % of the vertices"]
    title = TITLES.get(several[0][1].algorithm, several[0][1].algorithm)
    if several[0][1].algorithm not in SEARCHES:
        return [f"{title} of each"]
    shares = sorted(
        100 * search["reached"] / max(one.graph["vertices"], 1)
        for _, one, _ in several
        for search in one.searches
    )
    return [f"{title} reached {span(shares)} % of the vertices from a source"]


def _searches(several: Sequence[Found]) -> list[Piece]:
    """Describe how many vertices searches of one graph reached, and which is the farthest."""
    size = several[0][1].graph["vertices"]
    by_source = {
        search["source"]: (label, search, labels) for label, one, labels in several for search in one.searches
    }
    title = TITLES[several[0][1].algorithm]
    counts = sorted(search["reached"] for _, search, _ in by_source.values())
    if len(by_source) == 1:
        ((source, (label, *_)),) = by_source.items()
        start: list[Piece] = [f"{title} from ", {"vertex": source, "run": label}]
    else:
        start = [f"{title} from {len(by_source):,} sources"]
    reached = f": {_range(counts)} of {vertices(size)} reached"
    share = f" ({percent(counts[0], size)})" if counts[0] == counts[-1] else ""
    return [*start, reached + share, *_farthest(by_source)]


def _farthest(by_source: Mapping[int, tuple[str, Mapping[str, Any], Traversal | None]]) -> list[Piece]:
    """Name the vertex with the largest distance: of searches by levels from the source that has it."""
    deepest = max(by_source, key=lambda source: by_source[source][1]["depth"])
    sources = [deepest] if by_source[deepest][1]["depth"] else list(by_source)
    ends = [(*end, source) for source in sources if (end := _end(source, by_source[source][2])) is not None]
    if not ends:
        depth = by_source[deepest][1]["depth"]
        return [f"; the farthest at distance {depth:,}"] if depth else []
    distance, vertex, source = max(ends, key=lambda end: end[0])
    label = by_source[source][0]
    if not distance:
        return []
    away: list[Piece] = [" from ", {"vertex": source, "run": label}] if len(by_source) > 1 else []
    return [
        "; the farthest is ",
        {"vertex": vertex, "run": label},
        f" at distance {distance_text(distance)}",
        *away,
    ]


def _end(source: int, labels: Traversal | None) -> tuple[float, int] | None:
    """Return the largest distance from a source and the first vertex that has it."""
    import numpy

    if labels is None or labels.distance is None or labels.sources is None:
        return None
    places = numpy.flatnonzero(numpy.asarray(labels.sources[:]) == source)
    if not len(places):
        return None
    row = numpy.asarray(labels.distance[int(places[0]) : int(places[0]) + 1])[0]
    if row.dtype.kind == "f":
        row = numpy.where(numpy.isfinite(row), row, -1)
    vertex = int(row.argmax())
    return row[vertex].item(), vertex


def distance_text(distance: float) -> str:
    """Write a distance: of other than whole numbers the seven digits of a float32, as weights have them."""
    if isinstance(distance, int) or distance >= 1e7:
        return f"{distance:,.0f}"
    return f"{distance:.7g}"


def _components(several: Sequence[Found]) -> list[Piece]:
    """Describe how many components one graph has, and the largest by its smallest vertex."""
    label, one, labels = next((each for each in several if each[2] is not None), several[0])
    if labels is None or labels.component is None or not len(labels.component):
        return [f"{TITLES.get(one.algorithm, one.algorithm)} of {vertices(one.graph['vertices'])}"]
    names, sizes = component_sizes(labels)
    size, most = len(labels.component), int(sizes.max())
    kind = "strong component" if one.algorithm == "strong_components" else "component"
    if len(sizes) == 1:
        return [f"one {kind} of {vertices(size)}"]
    number = f"{'' if labels.converged else 'at most '}{count(len(sizes), kind)}"
    start = f"{number}; the largest has {most:,} of {vertices(size)} ({percent(most, size)}), "
    return [start, "among them ", {"vertex": int(names[sizes.argmax()]), "run": label}]


def _leaders(several: Sequence[tuple[str, Centrality]]) -> list[Piece]:
    """Name the vertex with the largest value of each measure, of one measure the first few."""
    if len({name_of(one) for _, one in several}) < len(several) or any(
        not len(one.value) for _, one in several
    ):
        return [measures_text([one for _, one in several])]  # of several graphs, which the tables tell apart
    ranked = [(label, one) for label, one in several if one.estimate is None]
    pieces: list[Piece] = []
    if len(ranked) == 1:
        label, one = ranked[0]
        pieces = [f"largest {name_of(one)} of {_counted(one)}: ", *ranking(label, one)]
    elif ranked:
        pieces = [f"of {_counted(ranked[0][1])}, "]
        for number, (label, one) in enumerate(ranked[:MAX_MEASURES]):
            first = _ends(label, largest(one, 1)[0][0])
            pieces += [
                ", " if number else "",
                *first,
                f"{'' if number else ' has'} the largest {name_of(one)}",
            ]
    for _, one in several:
        if one.estimate is not None:
            pieces += ["; " if pieces else "", f"{name_of(one)} {estimated(one.estimate)}"]
    return pieces


def _counted(one: Centrality) -> str:
    return vertices(len(one.value)) if one.target is None else count(len(one.value), "edge")


def _ends(label: str, ends: Sequence[int]) -> list[Piece]:
    """Name a vertex, or both ends of an edge."""
    pieces: list[Piece] = [{"vertex": ends[0], "run": label}]
    for vertex in ends[1:]:
        pieces += [" - ", {"vertex": vertex, "run": label}]
    return pieces


def ranking(label: str, one: Centrality) -> list[Piece]:
    """Name the vertices with the largest values, each with its value."""
    pieces: list[Piece] = []
    for ends, value in largest(one, LEADING):
        text = f" ({value:,.0f})" if value >= 100 else f" ({value:.3g})"
        pieces += [", " if pieces else "", *_ends(label, ends), text]
    return pieces


def leading(several: Sequence[tuple[str, Centrality]]) -> list[list[Any]]:
    """Name the vertices with the largest values of each measure, by the runs that found them."""
    names = [name_of(one) for _, one in several]
    if len(set(names)) < len(names):
        return []  # of several graphs or orders, which the tables tell apart
    facts: list[list[Any]] = []
    for name, (label, one) in zip(names, several[:MAX_MEASURES], strict=False):
        if one.estimate is not None:
            facts.append([name, f"{estimated(one.estimate)}."])
        elif pieces := ranking(label, one):
            facts.append([name, ["largest at ", *(piece for piece in pieces if piece), "."]])
    return facts


def estimated(estimate: Mapping[str, Any]) -> str:
    """Write an estimate with its bounds."""
    low, high = estimate["low"], estimate["high"]
    bounds = f"at least {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"
    return f"{estimate['value']:.4g} ({bounds} with confidence {estimate['confidence']:g})"


def reached(one: Measurement) -> list[list[Any]]:
    """Say how many vertices the searches of one measurement reached, and how far the farthest is."""
    size = one.graph.get("vertices")
    if one.algorithm != "bfs" or not one.searches or not size or one.searches[0].get("batch", 1) > 1:
        return []
    counts = sorted(search["reached"] for search in one.searches)
    depths = sorted(search["depth"] for search in one.searches)
    share = f" ({percent(counts[0], size)})" if counts[0] == counts[-1] else ""
    text = f"{_range(counts)} of {size:,} vertices{share}; the farthest at distance {_range(depths)}."
    return [["reached", text]]


def _range(values: Sequence[int]) -> str:
    """Write the first and the last of ascending counts."""
    return f"{values[0]:,}" if values[0] == values[-1] else f"{values[0]:,} to {values[-1]:,}"
