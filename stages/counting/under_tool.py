"""The process that searches under ncu: `python -m gravel.stages.counting.under_tool FOLDER`.

The folder has the graph and `search.json`, and gets `found.json`. Only the kernels of the searches are in the
tool's range: preparing and a first search, which compile, come before it.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.stages.counting.parameters import CountersParameters
from gravel.stages.counting.stored import ASKED, FOUND, GRAPH, read_stored
from gravel.stages.stage import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.bfs import BFSResult


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
