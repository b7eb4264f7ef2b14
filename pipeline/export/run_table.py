"""The table of a run: a row for each stage run, with its axes, state and key figures of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.export.columns import TEXT, Columns
from gravel.pipeline.export.writers import write_file
from gravel.pipeline.workflow.nodes import to_text

if TYPE_CHECKING:
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Json

FIGURES = {
    "vertices": "int64",
    "arcs": "int64",
    "searches": "int64",
    "reached": "float64",
    "milliseconds": "float64",
    "gteps": "float64",
    "components": "int64",
    "largest": "int64",
}
"""Key figures: `reached` and `milliseconds` are medians of the searches, `gteps` is the rate of all of them
(distinct edges), `largest` counts the vertices of the largest component."""


def run_rows(record: Mapping[str, Json], cache: Cache) -> list[dict[str, Json]]:
    """Return a row for each stage run of a run's record; a figure that a result has not is None."""
    axes = list(dict.fromkeys(axis for stage in record["stages"] for axis in stage["coordinates"]))
    return [
        {
            "run": record["run"],
            "key": stage["key"],
            "entry": stage["entry"],
            **{f"axis {axis}" if axis in _OWN else axis: _axis(stage, axis) for axis in axes},
            "stage": stage["stage"],
            "state": stage["state"],
            "seconds": stage["seconds"],
            "bytes": stage["bytes"],
            **dict.fromkeys(FIGURES),
            **_figures(stage["outputs"], cache),
            "error": stage["error"],
        }
        for stage in record["stages"]
    ]


_OWN = frozenset(("run", "key", "entry", "stage", "state", "seconds", "bytes", "error", *FIGURES))


def _axis(stage: Mapping[str, Json], axis: str) -> str | None:
    value = stage["coordinates"].get(axis)
    return None if value is None else to_text(value)


def _figures(outputs: Sequence[str], cache: Cache) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for output in outputs:
        record = cache.find(output)
        if record is not None:
            with suppress(DamagedArtifact):  # the next run finds that, too
                found |= _figures_of(record, cache)
    return found


def _figures_of(record: ArtifactRecord, cache: Cache) -> dict[str, Json]:
    extent = record.extent
    if record.kind == "Measurement":
        return _of_searches(record.attributes["searches"])
    found: dict[str, Json] = {"vertices": extent.vertices} if extent.vertices else {}
    if extent.arcs and record.kind not in ("Traversal", "Centrality", "VertexIds"):
        found["arcs"] = extent.arcs
    if "component" in record.arrays:
        import numpy

        component = numpy.asarray(cache.open(record.id).component)  # type: ignore[attr-defined]
        sizes = numpy.bincount(component) if len(component) else component
        found |= {"components": int((sizes > 0).sum()), "largest": int(sizes.max(initial=0))}
    return found


def _of_searches(searches: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    found: dict[str, Json] = {"searches": len(searches)}
    if not searches:
        return found
    milliseconds = [search["milliseconds"] for search in searches]
    found["milliseconds"] = median(milliseconds)
    if reached := [search["reached"] for search in searches if "reached" in search]:
        found["reached"] = median(reached)
    edges = sum(search.get("edges") or 0 for search in searches)
    if edges and sum(milliseconds):
        found["gteps"] = edges / sum(milliseconds) / 1e6
    return found


def write_run_table(rows: Sequence[Mapping[str, Json]], path: Path) -> bool:
    """Write the rows as CSV or Parquet, with null where there is no value; says whether the file changed.

    Raises RequestError for another ending, and as `write_file` does.
    """
    if path.suffix == ".npz":
        hint = "end the name in .csv or .parquet"
        raise RequestError("the table of a run has texts and gaps, which npz has not", hint=hint)
    numbers = {**FIGURES, "seconds": "float64", "bytes": "int64"}
    dtypes = {name: numbers.get(name, TEXT) for name in rows[0]} if rows else {}

    def batches() -> Iterator[dict[str, Any]]:
        import pyarrow

        kinds = {"int64": pyarrow.int64(), "float64": pyarrow.float64(), TEXT: pyarrow.large_string()}
        yield {name: pyarrow.array([row[name] for row in rows], kinds[kind]) for name, kind in dtypes.items()}

    return write_file(Columns(dtypes, len(rows), batches), path)
