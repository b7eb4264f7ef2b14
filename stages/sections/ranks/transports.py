"""The same searches over ranks with different transports, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.ranks.times import PARTS, options, ranks_of, typical_search
from gravel.stages.sections.rates import EDGE_RATE, harmonic_mean, rates
from gravel.stages.sections.section import Made, Runs, Section, table

MAX_LEVELS = 60
"""Levels of a search that are shown; deeper ones are left out."""


def transport_of(one: Measurement) -> str | None:
    """Name how ranks on GPUs reached each other, as it was asked for; None on the CPU."""
    name: str = one.asked.get("transport", "auto")
    return name if one.backend == "cuda" else None


def transport_sections(runs: Runs) -> list[Made]:
    """Make a table for every partition that was searched in the same way over more than one transport."""
    alike: dict[tuple[Any, ...], dict[str, Measurement]] = {}
    for _, one in runs:
        name = transport_of(one)
        if name is not None:
            facts = (
                one.graph["vertices"],
                one.graph["arcs"],
                one.graph.get("partition", {}).get("threshold"),
            )
            alike.setdefault((*facts, ranks_of(one), options(one)), {}).setdefault(name, one)
    return [_table(key, found) for key, found in alike.items() if len(found) > 1]


def _table(key: Sequence[Any], found: Mapping[str, Measurement]) -> Made:
    vertices, _, threshold, ranks, chosen = key
    first = next(iter(found.values()))
    source = typical_search(first)["source"]
    searches = {name: _of_source(one, source) for name, one in found.items()}
    levels = min(MAX_LEVELS, *(len(search["ranks"]["visit"]) for search in searches.values()))
    record = next(iter(searches.values()))["ranks"]
    rows = [
        [
            level,
            record["normal"][level] + record["delegates"][level],
            *(search["ranks"][part][level] for search in searches.values() for part in PARTS),
        ]
        for level in range(levels)
    ]
    medians = ", ".join(
        f"{name} {median(search['milliseconds'] for search in one.searches):.3f} ms"
        for name, one in found.items()
    )
    return table(
        f"{' against '.join(found)}, level by level: {ranks} ranks, {vertices:,} vertices",
        f"Threshold {threshold}{', ' + chosen if chosen else ''}; from vertex {source}, and medians over all "
        f"sources: {medians}. Times are those of the slowest rank in milliseconds, and may overlap. "
        + (
            "With `peer`, reduction includes arrivals and labels, and exchange includes waiting for other "
            "ranks."
            if "peer" in found
            else ""
        ),
        ["level", "frontier", *(f"{name} {title}" for name in searches for title in PARTS.values())],
        rows,
    )


def _of_source(one: Measurement, source: int) -> Mapping[str, Any]:
    """Find the search from a source, or the typical one where there is none."""
    found: Mapping[str, Any] = next(
        (search for search in one.searches if search["source"] == source), typical_search(one)
    )
    return found


def host_column_sections(members: Runs) -> list[Made]:
    """Make a table of the runs over ranks that read columns out of host memory; none where none did."""
    rows = [
        _host_row(label, one)
        for label, one in members
        if one.strategy == "partition" and one.searches and all("link_bytes" in each for each in one.searches)
    ]
    if not rows:
        return []
    return [
        table(
            "Ranks with columns in host memory",
            "Means over the sources. Bytes over the links are the 32-byte sectors that warps of all GPUs "
            "requested. GB/s are all these bytes over the time of all searches.",
            f"run | ranks | placement | ms | {EDGE_RATE} | bytes over the links | GB/s",
            rows,
            result=180,
        )
    ]


def _host_row(label: str, one: Measurement) -> list[Any]:
    read = [search["link_bytes"] for search in one.searches]
    taken = [search["milliseconds"] for search in one.searches]
    found = rates(one.searches, "edges")
    facts = (label, one.graph.get("partition", {}).get("ranks"), one.asked.get("placement"), mean(taken))
    figures = (harmonic_mean(found) if found else None, mean(read))
    return [*facts, *figures, sum(read) / sum(taken) / 1e6 if sum(taken) else None]


SECTIONS = (
    Section(rank=84, make=transport_sections, needs=("over_ranks",)),
    Section(rank=84, make=host_column_sections, needs=("measured",)),
)
