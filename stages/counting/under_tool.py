"""The process that searches under ncu: `main` with a folder, and the graph in it, an array a file.

The folder has the graph and `search.json`, and gets `found.json`. Only the kernels of the searches are in the
tool's range: preparing and a first search, which compile, come before it.
"""

from __future__ import annotations

import json
import signal
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.counting.parameters import CountersParameters
from gravel.stages.stage import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult

GRAPH, ASKED, FOUND = "graph", "search.json", "found.json"
"""In the folder of two processes: the graph, what the second one is to do, and what it found."""

PLAIN = "fields.json"
SLICE = 1 << 24
"""Elements that are copied at a time."""


def main(folder: Path) -> None:
    """Search from each start twice, the second time in the range, and write whether both found the same."""
    import cupy

    from gravel.stages.context import PlainContext
    from gravel.stages.traversal.search import open_graph, prepare_search

    asked = json.loads((folder / ASKED).read_text())
    # Whoever started this process may be gone.
    signal.alarm(int(asked["seconds"]) + 1)
    cupy.cuda.Device(asked["device"]).use()
    machine = Machine(**asked["machine"])
    parameters = CountersParameters.model_validate_json(asked["parameters"]).searched()
    graph = open_graph(parameters, read_stored(folder / GRAPH), machine)
    search, _ = prepare_search(PlainContext(machine, folder), graph, parameters)
    first = [_labels(search.run(start)) for start in asked["starts"]]
    same = True
    device = cupy.cuda.Device()
    device.synchronize()
    cupy.cuda.runtime.profilerStart()
    for start, before in zip(asked["starts"], first, strict=True):
        same = same and bool((_labels(search.run(start)) == before).all())
    device.synchronize()
    cupy.cuda.runtime.profilerStop()
    (folder / FOUND).write_text(json.dumps({"same": same}))


def _labels(result: BFSResult) -> NDArray[Any]:
    """Return distances, or which vertices were reached where a search has none, since trees may differ."""
    from gravel.kernels.arrays import on_host

    if result.distance is not None:
        distance: NDArray[Any] = on_host(result.distance)
        return distance.copy()
    reached: NDArray[Any] = on_host(result.predecessor) >= 0
    return reached


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
