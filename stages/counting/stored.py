"""A graph as files that another process reads: an array each, and the plain fields beside them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import CompressedGraph, Graph

if TYPE_CHECKING:
    import numpy

GRAPH, ASKED, FOUND = "graph", "search.json", "found.json"
"""In the folder of two processes: the graph, what the second one is to do, and what it found."""

PLAIN = "fields.json"
SLICE = 1 << 24
"""Elements that are copied at a time."""


def write_stored(folder: Path, stored: Graph | CompressedGraph) -> None:
    """Write a graph's arrays and fields into a new folder."""
    folder.mkdir()
    plain: dict[str, Any] = {}
    for field in fields(stored):
        value = getattr(stored, field.name)
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            _write(folder / f"{field.name}.npy", value)
        else:
            plain[field.name] = value
    (folder / PLAIN).write_text(json.dumps({"kind": type(stored).__name__, "fields": plain}))


def read_stored(folder: Path) -> Graph | CompressedGraph:
    """Read what `write_stored` wrote."""
    import numpy

    record = json.loads((folder / PLAIN).read_text())
    arrays = {path.stem: numpy.load(path) for path in folder.glob("*.npy")}
    made = Artifact.kinds[record["kind"]](**record["fields"], **arrays)
    assert isinstance(made, Graph | CompressedGraph)
    return made


def _write(path: Path, array: Any) -> None:
    import numpy

    from gravel.kernels.arrays import on_host

    dtype: numpy.dtype[Any] = numpy.dtype(array.dtype)
    if not len(array):
        numpy.save(path, numpy.empty(array.shape, dtype))
        return
    written = numpy.lib.format.open_memmap(path, "w+", dtype, tuple(array.shape))
    for start in range(0, len(array), SLICE):
        written[start : start + SLICE] = on_host(array[start : start + SLICE])
    written.flush()
