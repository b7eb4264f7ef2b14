"""Measures of vertices, of edges and of pairs of vertices, and estimates of one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.durations import format_seconds
from gravel.results.labels import Labelled, Labels, columns_of_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids


class Measure(Labelled):
    """A number for each vertex that was asked for, under the caller's ids.

    `values` has the numbers in the order of the vertices, float64 (int64 for eccentricity and neighbourhood).
    `milliseconds` says how long they took. Of PageRank, `iterations` were made, and the last one changed the
    ranks by `residual`, the sum of all changes.
    """

    def __init__(
        self,
        name: str,
        ids: Ids,
        vertices: NDArray[Any],
        values: NDArray[Any],
        milliseconds: float,
        *,
        iterations: int | None = None,
        residual: float | None = None,
    ) -> None:
        self.name = name
        self.values = values
        self.milliseconds = milliseconds
        self.iterations, self.residual = iterations, residual
        self._ids = ids
        self._vertices = vertices

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, vertex: Any) -> Any:
        """Return the number of the vertex with this id; raises KeyError for one that was not asked for."""
        places = (self._vertices == self._ids.vertex(vertex)).nonzero()[0]
        if not len(places):
            raise KeyError(f"{self.name} was not computed for {vertex!r}")
        return self.values[places[0]].item()

    def top(self, count: int = 10) -> list[tuple[Any, Any]]:
        """Return the ids with the largest numbers, and these; of equal ones the first vertices."""
        first = _largest(self.values, count)
        return list(zip(self._ids.listed(self._vertices[first]), self.values[first].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<gravel.Measure: {self.name} of {len(self):,} vertices in {self._took}>"

    def _repr_html_(self) -> str:
        facts = {"vertices": len(self), "time": self._took}
        if self.iterations is not None:
            facts |= {"iterations": self.iterations, "residual": self.residual}
        return _shown(f"gravel.Measure: {self.name}", facts, self.top(5), "vertices", self.values)

    def _columns(self) -> dict[str, Labels]:
        vertices = Labels("vertex", self._vertices, self._ids, vertices=True)
        return {"vertex": vertices, self.name: Labels(self.name, self.values, self._ids, vertices=False)}


class EdgeMeasure(Labelled):
    """A number for each edge, under the caller's ids of its ends.

    `values` has the numbers, float64 (edges,), in ascending order of the ends in `graph.vertices`, and
    `milliseconds` says how long they took.
    """

    def __init__(
        self, name: str, ids: Ids, ends: NDArray[Any], values: NDArray[Any], milliseconds: float
    ) -> None:
        self.name = name
        self.values = values
        self.milliseconds = milliseconds
        self._ids = ids
        self._ends = ends

    def __len__(self) -> int:
        return len(self.values)

    def top(self, count: int = 10) -> list[tuple[tuple[Any, Any], Any]]:
        """Return the ends of the edges with the largest numbers, and these; of equal ones the first edges."""
        first = _largest(self.values, count)
        ends = (self._ids.listed(each[first]) for each in self._ends)
        return list(zip(zip(*ends, strict=True), self.values[first].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<gravel.EdgeMeasure: {self.name} of {len(self):,} edges in {self._took}>"

    def _repr_html_(self) -> str:
        facts = {"edges": len(self), "time": self._took}
        return _shown(f"gravel.EdgeMeasure: {self.name}", facts, self.top(5), "edges", self.values)

    def _columns(self) -> dict[str, Labels]:
        sources, targets = self._ends
        return columns_of_pairs(self._ids, sources, targets, self.name, self.values)


class Distances(Labelled):
    """The distance from each source to each target: `array`, int32 (sources, targets), -1 for unreached.

    Rows and columns are in the order of the arguments; tables have a row for each pair.
    """

    def __init__(
        self,
        ids: Ids,
        sources: NDArray[Any],
        targets: NDArray[Any],
        array: NDArray[Any],
        milliseconds: float,
    ) -> None:
        self.array = array
        self.milliseconds = milliseconds
        self._ids, self._sources, self._targets = ids, sources, targets

    def __getitem__(self, pair: tuple[Any, Any]) -> int:
        """Return the distance from a source to a target; raises KeyError for others."""
        places = [
            (vertices == self._ids.vertex(each)).nonzero()[0]
            for vertices, each in zip((self._sources, self._targets), pair, strict=True)
        ]
        if not all(map(len, places)):
            raise KeyError(f"the distance from {pair[0]!r} to {pair[1]!r} was not asked for")
        return int(self.array[places[0][0], places[1][0]])

    def __repr__(self) -> str:
        sizes = f"{len(self._sources):,} sources, {len(self._targets):,} targets"
        return f"<gravel.Distances: {sizes} in {self._took}>"

    def _repr_html_(self) -> str:
        from gravel.results.picture import histogram, table

        found = self.array[self.array >= 0]
        facts: dict[str, Any] = {"sources": len(self._sources), "targets": len(self._targets)}
        facts |= {"pairs that are connected": f"{found.size:,} of {self.array.size:,}", "time": self._took}
        return table("gravel.Distances", facts) + histogram("pairs by distance", found)

    def _columns(self) -> dict[str, Labels]:
        import numpy

        source = numpy.repeat(self._sources, len(self._targets))
        target = numpy.tile(self._targets, len(self._sources))
        array = self.array.reshape(-1)
        return columns_of_pairs(self._ids, source, target, "distance", array, lengths=True)


@dataclass(frozen=True)
class Estimate:
    """A number between bounds that hold with some `confidence`.

    `value`, `low` and `high` are one where all `sources` were searched from. `milliseconds` says how long it
    took.
    """

    value: float
    low: float
    high: float
    confidence: float
    sources: int
    milliseconds: float

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        bounds = f"{self.low:.6g} to {self.high:.6g} with confidence {self.confidence:g}"
        took = f"{self.sources:,} sources in {format_seconds(self.milliseconds / 1e3)}"
        return f"<gravel.Estimate: {self.value:.6g}, {bounds}, {took}>"


def _shown(title: str, facts: dict[str, Any], top: list[tuple[Any, Any]], what: str, values: Any) -> str:
    """Return facts, the largest values, and a picture of all, as HTML."""
    from gravel.results.picture import histogram, table

    largest = table("largest", {str(name): value for name, value in top}) if top else ""
    return table(title, facts) + largest + histogram(f"{what} by value", values)


def _largest(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the places of the largest values, descending; of equal ones the first."""
    if count < 0:
        raise ValueError(f"count is {count}; it must be 0 or more")
    places: NDArray[Any] = (-values).argsort(kind="stable")
    return places[:count]
