"""What searches reached, and the most central vertices: the results themselves, beside their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.centralities import largest, name_of
from gravel.stages.sections.studies import is_batched

if TYPE_CHECKING:
    from gravel.stages.artifacts import Centrality, Measurement

LEADING = 3
"""Vertices with the largest values that the answer names for a measure."""


def reached(one: Measurement) -> list[list[Any]]:
    """Say how many vertices the searches of one measurement reached, and how far the farthest is."""
    vertices = one.graph.get("vertices")
    if one.algorithm != "bfs" or not one.searches or not vertices or is_batched(one):
        return []
    found = sorted(search["reached"] for search in one.searches)
    depths = sorted(search["depth"] for search in one.searches)
    share = f" ({100 * found[0] / vertices:.3g} %)" if found[0] == found[-1] else ""
    return [
        [
            "reached",
            f"{_span(found)} of {vertices:,} vertices{share}; the farthest at distance {_span(depths)}.",
        ]
    ]


def _span(values: Sequence[int]) -> str:
    return f"{values[0]:,}" if values[0] == values[-1] else f"{values[0]:,} to {values[-1]:,}"


def leading(several: Sequence[Centrality]) -> list[list[Any]]:
    """Name the vertices with the largest values of each measure; pages put ids in for `{"vertex": i}`."""
    names = [name_of(one) for one in several]
    if len(set(names)) < len(names):
        return []  # of several graphs or orders, which the tables tell apart
    facts: list[list[Any]] = []
    for name, one in zip(names, several, strict=True):
        if one.estimate is not None:
            facts.append([name, _estimated(one.estimate)])
            continue
        text: list[Any] = []
        for (first, *others), value in largest(one, LEADING):
            text += [", " if text else "largest at ", {"vertex": first}]
            for vertex in others:
                text += [" - ", {"vertex": vertex}]
            text.append(f" ({value:.3g})")
        if text:
            facts.append([name, [*text, "."]])
    return facts


def _estimated(estimate: Mapping[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    bounds = f"at least {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"
    return f"{estimate['value']:.4g} ({bounds} with confidence {estimate['confidence']:g})."
