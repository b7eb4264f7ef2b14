"""Names of measurements, by which a printed row finds them, and their rates in each convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gravel.stages.artifacts import EdgeList, Measurement
from gravel.stages.papers.published.model import Row
from gravel.stages.sections.rates import geometric_mean, rates
from gravel.stages.sections.studies import coordinates, is_batched

SAME_SIZE = 0.01
"""Stored arcs may differ by this share for a graph to count as the paper's: collections drop duplicates."""


@dataclass(frozen=True)
class Experiment:
    """One measurement with its facts by name; `generated` counts the edges of its generator's list."""

    label: str
    one: Measurement
    facts: Mapping[str, str]
    generated: int | None

    def fits(self, *wanted: Mapping[str, tuple[str | int, ...]]) -> bool:
        """Return whether every fact that is asked for has one of the values that are asked for."""
        return all(
            self.facts.get(name, "").casefold() in {str(value).casefold() for value in values}
            for each in wanted
            for name, values in each.items()
        )

    @property
    def milliseconds(self) -> float:
        """The median time of a search, or of finding all components."""
        return float(median(search["milliseconds"] for search in self.one.searches))

    def value(self, convention: str) -> float | None:
        """Return the measured value as a convention counts it, None where what it counts is not known.

        Rates are geometric means over the searches, of those with more than one level as the 2018 paper
        (section VI-A3) takes them for `generated`.
        """
        if convention == "milliseconds":
            return self.milliseconds
        if convention == "order_milliseconds":
            return self.one.order_milliseconds
        if convention in ("row_bytes", "row_rate"):
            size: float | None = (self.one.graph.get("rows") or {}).get("stream_bytes")
            if size is None:
                return None
            # Bytes a millisecond are a millionth of 10^9 bytes a second.
            return size / 1e9 if convention == "row_bytes" else size / self.milliseconds / 1e6
        if convention != "generated":
            found = rates(self.one.searches, convention)
            return geometric_mean(found) if found else None
        if self.generated is None:
            return None
        deep = [s for s in self.one.searches if s["depth"] > 1 and s["milliseconds"] > 0]
        return geometric_mean([self.generated / s["milliseconds"] / 1e6 for s in deep]) if deep else None


def experiments(members: Sequence[tuple[str, Any]]) -> list[Experiment]:
    """List the measurements of single searches and of components among labelled artifacts."""
    lists = [(coordinates(label), one) for label, one in members if type(one).__name__ == "EdgeList"]
    return [
        Experiment(label, one, _facts(label, one), _generated(coordinates(label), lists))
        for label, one in members
        if type(one).__name__ == "Measurement" and one.searches and one.graph and not is_batched(one)
    ]


def _facts(label: str, one: Measurement) -> dict[str, str]:
    graph, asked = one.graph, one.asked
    options = (one.ran or {}).get("options", {})
    own = {
        "paper": asked.get("paper") or "none",
        "asked": asked.get("strategy"),
        "prune": options.get("prune"),
        "decoder": options.get("decoder") or "none",
        "mapping": options.get("mapping"),
        "algorithm": one.algorithm,
        "strategy": one.strategy,
        "backend": one.backend,
        "output": asked.get("output"),
        "order": (graph.get("order") or {}).get("method", "original"),
        "layout": (graph.get("rows") or {}).get("codec", "csr"),
        "placement": asked.get("placement") or ("host" if one.backend == "cpu" else "device"),
        "ranks": (graph.get("partition") or {}).get("ranks"),
    }
    at = coordinates(label)
    if "graph" not in at and "dataset" in at:
        at["graph"] = at["dataset"]
    return at | {name: str(value) for name, value in own.items() if value is not None}


def _generated(at: Mapping[str, str], lists: Sequence[tuple[Mapping[str, str], EdgeList]]) -> int | None:
    """Return the length of the edge list that a measurement rests on: the one whose coordinates it shares."""
    fitting = {
        len(one.source) for own, one in lists if all(at.get(axis) == value for axis, value in own.items())
    }
    return fitting.pop() if len(fitting) == 1 else None


def graph_size(row: Row, one: Experiment) -> str:
    """Say whether the graph is the paper's, by its stored arcs, or another of the same kind."""
    here = one.one.graph["arcs"]
    if row.arcs is None:
        return f"{here:,} arcs"
    if abs(here - row.arcs) <= SAME_SIZE * row.arcs:
        return "the paper's size"
    return f"same kind, {here / row.arcs:.3g} of its arcs"
