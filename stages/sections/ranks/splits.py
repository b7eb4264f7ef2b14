"""Graphs that are split over ranks, each with its division at every threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.studies import coordinates, graph_names, short_labels

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division

MAX_GRAPHS = 6
"""Panels in one picture."""


@dataclass(frozen=True)
class Split:
    """One partition, of an artifact or as a measurement tells it; `statistics` are those of the stage."""

    label: str
    name: str
    graph: Mapping[str, int]  # vertices and arcs
    ranks: int
    threshold: int
    symmetric: bool
    statistics: Mapping[str, Any]

    @property
    def vertices(self) -> int:
        """Of the whole graph."""
        return self.graph["vertices"]

    @property
    def arcs(self) -> int:
        """Of the whole graph."""
        return self.graph["arcs"]

    @property
    def division(self) -> Division:
        """Its delegates and arcs by class."""
        from gravel.kernels.partition.census import Division

        told = self.statistics
        mixed = told["nd_arcs"] + told["dn_arcs"]
        return Division(self.threshold, told["delegates"], told["nn_arcs"], mixed, told["dd_arcs"])

    @property
    def key(self) -> tuple[Any, ...]:
        """What two splits of one graph at one threshold over as many ranks share."""
        return (*graph_key(self), self.ranks, self.threshold)


@dataclass(frozen=True)
class SplitGraph:
    """One graph and all its partitions."""

    name: str
    splits: tuple[Split, ...]
    divisions: tuple[Division, ...]  # ascending by threshold, the first at 0

    @property
    def vertices(self) -> int:
        """Of the graph."""
        return self.splits[0].vertices

    @property
    def arcs(self) -> int:
        """Of the graph."""
        return self.splits[0].arcs

    @property
    def ranks(self) -> list[int]:
        """Every number of ranks that it was split over, ascending."""
        return sorted({split.ranks for split in self.splits})


def graph_key(split: Split) -> tuple[Any, ...]:
    """Tell graphs apart by their sizes and divisions."""
    counts = tuple(tuple(each.values()) for each in split.statistics["thresholds"])
    return split.vertices, split.arcs, counts


def split_of(label: str, one: Any) -> Split | None:
    """Read the split of a partition or of a measurement; None where it does not tell thresholds."""
    if type(one).__name__ == "Partition":
        statistics, ranks, threshold = one.statistics, one.ranks, one.threshold
        vertices, arcs, symmetric = one.vertex_count, one.arc_count, one.symmetric
    else:
        statistics = one.graph["partition"]
        ranks, threshold = statistics["ranks"], statistics["threshold"]
        vertices, arcs, symmetric = one.graph["vertices"], one.graph["arcs"], one.graph["symmetric"]
    if not statistics.get("thresholds") or not arcs:
        return None
    return Split(label, label, {"vertices": vertices, "arcs": arcs}, ranks, threshold, symmetric, statistics)


def named_values(name: str, label: str) -> str:
    """Put the names of axes to those parts of a short name that are bare numbers, such as `ranks=4`."""
    at = coordinates(label)
    parts = []
    for part in name.split(", "):
        axis = next((axis for axis, value in at.items() if value == part), None)
        if axis is not None and part.replace(".", "").isdigit():
            parts.append(f"{axis}={part}")
            del at[axis]
        else:
            parts.append(part)
    return ", ".join(parts)


def run_names(labels: Sequence[str]) -> list[str]:
    """Name stage runs shortly, by axes and values where these are numbers."""
    return [named_values(name, label) for name, label in zip(short_labels(labels), labels, strict=True)]


def splits_of(members: Sequence[tuple[str, Any]]) -> list[SplitGraph]:
    """Group partitions and partitioned searches by their graphs; each partition counts once."""
    found: dict[tuple[Any, ...], Split] = {}
    for label, one in members:
        split = split_of(label, one)
        if split is not None:
            found.setdefault(split.key, split)
    if not found:
        return []  # the import that follows brings Numba
    from gravel.kernels.partition.census import Division

    names = run_names([split.label for split in found.values()])
    groups: dict[tuple[Any, ...], list[Split]] = {}
    for name, split in zip(names, found.values(), strict=True):
        named = Split(**{**vars(split), "name": name})
        groups.setdefault(graph_key(split), []).append(named)
    titles = graph_names([[(split.label, split) for split in group] for group in groups.values()])
    return [
        SplitGraph(
            named_values(title, group[0].label),
            tuple(group),
            tuple(Division(**each) for each in group[0].statistics["thresholds"]),
        )
        for title, group in zip(titles, groups.values(), strict=True)
    ]
