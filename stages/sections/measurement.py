"""Times and rates of traversals, the frontier of a typical search, the spread over sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.batches import batches_table
from gravel.stages.sections.comparison import comparison_table
from gravel.stages.sections.culling import culling_sections
from gravel.stages.sections.frontiers import (
    expansion_panels,
    frontier_figure,
    frontier_panels,
    long_frontiers,
)
from gravel.stages.sections.launches import launch_sections
from gravel.stages.sections.preparation import preparation_table
from gravel.stages.sections.preset import preset_table
from gravel.stages.sections.ran import ran_table
from gravel.stages.sections.rates import ARC_RATE, EDGE_RATE, geometric_mean, harmonic_mean, rates
from gravel.stages.sections.searches import comparison_figure, extremes_table, spread_figure
from gravel.stages.sections.studies import is_batched, studies
from gravel.stages.sections.suite import (
    auto_table,
    comparison_panels,
    graphs_table,
    rates_table,
)
from gravel.stages.sections.told import told

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

MAX_FRONTIERS = 6
"""Frontier plots drawn at most, so that a study of hundreds of experiments stays a page."""

MAX_CURVES = 8
"""Runs whose searches are drawn and listed one by one: as many as there are colours."""


def measurement_sections(
    members: Sequence[tuple[str, Measurement]], repeated: Mapping[str, Sequence[float]] | None = None
) -> list[dict[str, Any]]:
    """Make the table of all measurements, then comparisons by graph and pictures of the searches.

    Searches that ran together stand in a table of their own, since their rates compare with each other alone.
    `repeated` are the times of repetitions, by label.
    """
    batched = [(label, one) for label, one in members if is_batched(one)]
    single = [(label, one) for label, one in members if not is_batched(one)]
    sections = [_table(single)] if single else []
    ran = ran_table(single)
    preset = preset_table(members)
    sections += [section for section in (ran, preset) if section is not None]
    sections += [batches_table(batched)] if batched else []
    found = studies(single, repeated)
    several = any(len(study.members) > 1 for study in found)
    suite = len(found) > 1
    optional = [
        graphs_table(found) if suite else None,
        comparison_panels(found) if suite and several else None,
        comparison_table(found) if several else None,
        rates_table(found) if several else None,
        auto_table(found),
        preparation_table(found),
    ]
    sections += [section for section in optional if section is not None]
    if len(single) > 1 and not (suite and several):
        sections.append(comparison_figure(single))
    searched = [(label, one) for label, one in single if one.algorithm == "bfs" and one.searches]
    if searched and len(searched) <= MAX_CURVES:
        if any(len(one.searches) > 1 and rates(one.searches, "edges") for _, one in searched):
            sections.append(spread_figure(searched))
        sections.append(extremes_table(searched))
    sections += [frontier_panels(found)] if suite else []
    sections += [*culling_sections(single), *launch_sections(searched)]
    expansion = expansion_panels(found)
    sections += [expansion] if expansion is not None else []
    sections += (
        [] if suite else [frontier_figure(label, one) for label, one in _unlike(searched)[:MAX_FRONTIERS]]
    )
    long = long_frontiers(_unlike(searched)[:MAX_FRONTIERS])
    return sections if long is None else [*sections, long]


def _unlike(members: Sequence[tuple[str, Measurement]]) -> list[tuple[str, Measurement]]:
    """Leave one run of each graph and strategy: frontiers do not depend on orders, layouts and machines."""
    first: dict[Any, tuple[str, Measurement]] = {}
    for label, one in members:
        first.setdefault((one.graph.get("digest", label), one.strategy), (label, one))
    return list(first.values())


def _row(label: str, one: Measurement) -> list[Any]:
    times = [search["milliseconds"] for search in one.searches]
    by_edge, by_arc = rates(one.searches, "edges"), rates(one.searches, "arcs")
    mapped = rates(one.searches, "edges", mapped_back=True)
    # Labels of an order are brought back; where there was none, nothing is.
    back = median(search["map_back_milliseconds"] for search in one.searches) or None if times else None
    return [
        label,
        one.algorithm,
        one.strategy,
        one.backend,
        len(times),
        median(times) if times else None,
        harmonic_mean(by_edge) if by_edge else None,
        harmonic_mean(mapped) if mapped and back else None,
        geometric_mean(by_edge) if by_edge else None,
        geometric_mean(by_arc) if by_arc else None,
        back,
        one.prepare_milliseconds,
    ]


def _table(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any]:
    rows = [_row(label, one) for label, one in members]
    about = []
    if any(row[6] is not None for row in rows):
        about.append("GTEPS counts each distinct undirected edge that was reached once.")
        about.append("The arc rate counts stored arcs, as Gunrock and Merrill et al. (2012) do.")
    if any(row[10] for row in rows):
        about.append("Labels are mapped back to the input's vertices; rates are given with it and without.")
    about += told(members)
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
            f"{EDGE_RATE}, harmonic mean",
            f"{EDGE_RATE}, harmonic mean, mapped back",
            f"{EDGE_RATE}, geometric mean",
            f"{ARC_RATE}, geometric mean",
            "mapping back, median ms",
            "preparation ms",
        ],
        "rows": rows,
    }
