"""What the columns of each kind of artifact are, in batches of bounded size and under the file's ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import RequestError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifacts import Artifact, EdgeList, Graph, Measurement, Ordering, Traversal, VertexIds

BATCH_ROWS = 1 << 20
"""Rows in a batch: some tens of megabytes, a good row group for Parquet."""

Batch = dict[str, "NDArray[Any]"]


@dataclass(frozen=True)
class Columns:
    """A table: the dtype of each column, the number of rows, and the rows in batches."""

    dtypes: dict[str, str]
    rows: int
    batches: Callable[[], Iterator[Batch]]


class FileIds:
    """Leads from internal indices to the ids of the input file; -1 (none) stays -1."""

    def __init__(self, vertex_ids: VertexIds) -> None:
        import numpy

        self._first = vertex_ids.first
        self._ids = None if vertex_ids.ids is None else numpy.asarray(vertex_ids.ids)

    def __call__(self, indices: Any) -> NDArray[Any]:
        """Return the ids, int64, of an array of indices."""
        import numpy

        signed = numpy.asarray(indices).astype(numpy.int64)
        named = signed + self._first if self._ids is None else self._ids[numpy.maximum(signed, 0)]
        if len(signed) and signed.min() < 0:
            named[signed < 0] = -1
        return named


def _sliced(dtypes: dict[str, str], rows: int, cut: Callable[[int, int], Batch]) -> Columns:
    """Make a table of what `cut` returns of rows from and to."""
    starts = range(0, rows, BATCH_ROWS)
    return Columns(dtypes, rows, lambda: (cut(start, min(start + BATCH_ROWS, rows)) for start in starts))


def _traversal(one: Traversal, ids: FileIds) -> Columns:
    if one.component is not None:
        return _components(one, ids)
    if one.distance is None and one.predecessor is None:
        raise RequestError(
            "the searches were checked on their ranks and kept no labels (output: checks)",
            hint="traverse with another output to export them",
        )
    return _searches(one, ids)


def _components(one: Traversal, ids: FileIds) -> Columns:
    import numpy

    def cut(start: int, stop: int) -> Batch:
        assert one.component is not None
        return {"vertex": ids(numpy.arange(start, stop)), "component": ids(one.component[start:stop])}

    return _sliced({"vertex": "int64", "component": "int64"}, one.vertex_count, cut)


def _searches(one: Traversal, ids: FileIds) -> Columns:
    import numpy

    sources = ids(one.sources)
    dtypes = {"source": "int64", "vertex": "int64"}
    if one.distance is not None:
        dtypes["distance"] = "int32"
    if one.predecessor is not None:
        dtypes["predecessor"] = "int64"

    def batches() -> Iterator[Batch]:
        for row, source in enumerate(sources):
            for start in range(0, one.vertex_count, BATCH_ROWS):
                stop = min(start + BATCH_ROWS, one.vertex_count)
                batch = {
                    "source": numpy.full(stop - start, source, numpy.int64),
                    "vertex": ids(numpy.arange(start, stop)),
                }
                if one.distance is not None:
                    batch["distance"] = one.distance[row, start:stop]
                if one.predecessor is not None:
                    batch["predecessor"] = ids(one.predecessor[row, start:stop])
                yield batch

    return Columns(dtypes, len(sources) * one.vertex_count, batches)


def _edges(one: EdgeList, ids: FileIds) -> Columns:
    dtypes = {"source": "int64", "target": "int64"}
    if one.weight is not None:
        dtypes["weight"] = "float64"

    def cut(start: int, stop: int) -> Batch:
        batch = {"source": ids(one.source[start:stop]), "target": ids(one.target[start:stop])}
        return batch if one.weight is None else {**batch, "weight": one.weight[start:stop]}

    return _sliced(dtypes, len(one.source), cut)


def _arcs(one: Graph, ids: FileIds) -> Columns:
    import numpy

    offsets = numpy.asarray(one.row_offsets)

    def cut(start: int, stop: int) -> Batch:
        rows = numpy.searchsorted(offsets, numpy.arange(start, stop), side="right") - 1
        return {"source": ids(rows), "target": ids(one.column_indices[start:stop])}

    return _sliced({"source": "int64", "target": "int64"}, one.arc_count, cut)


def _positions(one: Ordering, ids: FileIds) -> Columns:
    import numpy

    def cut(start: int, stop: int) -> Batch:
        place = one.permutation[start:stop].astype(numpy.int64)
        return {"vertex": ids(numpy.arange(start, stop)), "position": place}

    return _sliced({"vertex": "int64", "position": "int64"}, one.vertex_count, cut)


def _measurement(one: Measurement, ids: FileIds) -> Columns:
    import numpy

    numbers = ("milliseconds", "map_back_milliseconds", "reached", "arcs", "edges", "depth")
    dtypes = {name: "float64" if name.endswith("milliseconds") else "int64" for name in numbers}

    def cut(start: int, stop: int) -> Batch:
        searches = one.searches[start:stop]
        sources = [-1 if search["source"] is None else search["source"] for search in searches]
        rest = {
            name: numpy.array([search[name] for search in searches], dtype) for name, dtype in dtypes.items()
        }
        return {"source": ids(numpy.array(sources, numpy.int64)), **rest}

    return _sliced({"source": "int64", **dtypes}, len(one.searches), cut)


def _vertex_ids(one: VertexIds, ids: FileIds) -> Columns:
    import numpy

    return _sliced(
        {"vertex": "int64"},
        one.vertex_count,
        lambda start, stop: {"vertex": ids(numpy.arange(start, stop))},
    )


EXPORTABLE: dict[str, Callable[[Any, FileIds], Columns]] = {
    "Traversal": _traversal,
    "Ordering": _positions,
    "Graph": _arcs,
    "EdgeList": _edges,
    "Measurement": _measurement,
    "VertexIds": _vertex_ids,
}
"""Kinds that can be exported; of a stage with several outputs the first of these is taken."""


def columns_of(artifact: Artifact, vertex_ids: VertexIds) -> Columns:
    """Return an artifact's table under the ids of `vertex_ids`; KeyError for a kind without one."""
    return EXPORTABLE[type(artifact).__name__](artifact, FileIds(vertex_ids))
