"""Measures of vertices, of edges and of pairs of vertices, and estimates of one number."""

from __future__ import annotations

from collections.abc import Sequence
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
    `milliseconds` says how long they took. Closeness by a sample and betweenness come from so many `sources`.
    `errors` has the largest standard error that a sample allows of each value, float64 (vertices,), and is
    None without a sample. Of PageRank, `iterations` were made, and the last one changed the ranks by
    `residual`, the sum of all changes.
    """

    def __init__(
        self,
        name: str,
        ids: Ids,
        vertices: NDArray[Any],
        values: NDArray[Any],
        milliseconds: float,
        *,
        errors: NDArray[Any] | None = None,
        sources: int | None = None,
        iterations: int | None = None,
        residual: float | None = None,
    ) -> None:
        self.name = name
        self.values = values
        self.milliseconds = milliseconds
        self.errors, self.sources = errors, sources
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

    def top(self, count: int = 10) -> Top:
        """List the ids with the largest numbers, and these; of equal ones the first vertices."""
        first = _largest(self.values, count)
        return Top(
            self._ids.listed(self._vertices[first]), self.name, self.values[first], _taken(self, first)
        )

    def __repr__(self) -> str:
        sample = _sample(self)
        return f"<gravel.Measure: {self.name} of {len(self):,} vertices{sample} in {self._took}>"

    def _repr_html_(self) -> str:
        facts = {"vertices": len(self), "time": self._took}
        if self.errors is not None:
            facts["estimated from"] = f"{self.sources:,} sources"
        if self.iterations is not None:
            facts |= {"iterations": self.iterations, "residual": self.residual}
        return _shown(f"gravel.Measure: {self.name}", facts, self.top(5), "vertices", self.values)

    def _columns(self) -> dict[str, Labels]:
        vertices = Labels("vertex", self._vertices, self._ids, vertices=True)
        columns = {"vertex": vertices, self.name: Labels(self.name, self.values, self._ids, vertices=False)}
        if self.errors is not None:
            columns["error"] = Labels("error", self.errors, self._ids, vertices=False)
        return columns


class EdgeMeasure(Labelled):
    """A number for each edge, under the caller's ids of its ends.

    `values` has the numbers, float64 (edges,), in ascending order of the ends in `graph.vertices`, and
    `milliseconds` says how long they took. `errors` and `sources` are as of `Measure`.
    """

    def __init__(
        self,
        name: str,
        ids: Ids,
        ends: NDArray[Any],
        values: NDArray[Any],
        milliseconds: float,
        *,
        errors: NDArray[Any] | None = None,
        sources: int | None = None,
    ) -> None:
        self.name = name
        self.values = values
        self.errors, self.sources = errors, sources
        self.milliseconds = milliseconds
        self._ids = ids
        self._ends = ends

    def __len__(self) -> int:
        return len(self.values)

    def top(self, count: int = 10) -> Top:
        """List the ends of the edges with the largest numbers, and these; of equal ones the first edges."""
        first = _largest(self.values, count)
        ends = list(zip(*(self._ids.listed(each[first]) for each in self._ends), strict=True))
        return Top(ends, self.name, self.values[first], _taken(self, first))

    def __repr__(self) -> str:
        return f"<gravel.EdgeMeasure: {self.name} of {len(self):,} edges{_sample(self)} in {self._took}>"

    def _repr_html_(self) -> str:
        facts = {"edges": len(self), "time": self._took}
        if self.errors is not None:
            facts["estimated from"] = f"{self.sources:,} sources"
        return _shown(f"gravel.EdgeMeasure: {self.name}", facts, self.top(5), "edges", self.values)

    def _columns(self) -> dict[str, Labels]:
        sources, targets = self._ends
        columns = columns_of_pairs(self._ids, sources, targets, self.name, self.values)
        if self.errors is not None:
            columns["error"] = Labels("error", self.errors, self._ids, vertices=False)
        return columns


class Top(list[tuple[Any, Any]]):
    """The largest numbers: a list of (id, number), or of ((id, id), number) of edges.

    `errors` has the largest standard error of each, float64 (count,), where the numbers are estimates from a
    sample, and is None else. Printed, an estimate is followed by its error.
    """

    def __init__(
        self, ids: Sequence[Any], name: str, values: NDArray[Any], errors: NDArray[Any] | None
    ) -> None:
        super().__init__(zip(ids, values.tolist(), strict=True))
        self.errors = errors
        self._name = name

    def __repr__(self) -> str:
        if self.errors is None:
            return super().__repr__()
        lines = [f"{each!r}: {value:.6g} ± {error:.2g}" for each, value, error in self._rows()]
        return "\n".join([f"{self._name}, with the largest standard error of a sample", *lines])

    def _repr_html_(self) -> str:
        from gravel.results.picture import table

        if self.errors is None:
            return table("largest", {str(each): value for each, value in self})
        rows = {str(each): f"{value:.6g} ± {error:.2g}" for each, value, error in self._rows()}
        return table("largest, ± the largest standard error", rows)

    def _rows(self) -> list[tuple[Any, Any, float]]:
        assert self.errors is not None
        return [(*row, error) for row, error in zip(self, self.errors.tolist(), strict=True)]


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


def _shown(title: str, facts: dict[str, Any], top: Top, what: str, values: Any) -> str:
    """Return facts, the largest values, and a picture of all, as HTML."""
    from gravel.results.picture import histogram, table

    largest = top._repr_html_() if top else ""
    return table(title, facts) + largest + histogram(f"{what} by value", values)


def _sample(measure: Measure | EdgeMeasure) -> str:
    return "" if measure.errors is None else f", estimated from {measure.sources:,} sources,"


def _taken(measure: Measure | EdgeMeasure, places: NDArray[Any]) -> NDArray[Any] | None:
    """Return the errors of some values, if there are any."""
    return None if measure.errors is None else measure.errors[places]


def _largest(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return the places of the largest values, descending; of equal ones the first."""
    if count < 0:
        raise ValueError(f"count is {count}; it must be 0 or more")
    places: NDArray[Any] = (-values).argsort(kind="stable")
    return places[:count]
