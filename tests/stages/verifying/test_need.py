"""What verify states is what it takes on the CPU: the peak of a process that checks what a store holds.

What it takes of a GPU: `tests/emulation/test_verify_cuda_memory.py` and `tests/kernels/verify/test_cuda.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import bfs
from gravel.kernels.components import components
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Traversal
from tests.stages.traversal.test_memory import rmat_of

CHILD = """
import json, sys
from pathlib import Path

from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.verify import STAGE, VerifyParameters

cache = Cache(Path(sys.argv[1]))
names = dict(graph=sys.argv[2], traversal=sys.argv[3])
machine = Machine(backend="cpu", threads=2, host_memory=1 << 40)
parameters = VerifyParameters(on="cpu")
extents = {slot: (cache.describe(name).extent,) for slot, name in names.items()}
need = STAGE.estimate(parameters, extents, machine)
inputs = {slot: cache.open(name) for slot, name in names.items()}
with Peak(0.005) as peak:
    STAGE.run(PlainContext(machine), parameters, **inputs)
print(json.dumps([need.host_bytes, peak.host_bytes]))
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Any, str]]:
    root = tmp_path_factory.mktemp("cache")
    cache, names = Cache(root), {}
    for scale in (14, 18):
        graph = rmat_of(scale)
        arrays = graph.row_offsets, graph.column_indices
        found = [bfs(*arrays, source, symmetric=True) for source in (0, 1)]
        searches = Traversal(
            algorithm="bfs",
            sources=numpy.array([0, 1]),
            distance=numpy.stack([each.distance for each in found]),
            predecessor=numpy.stack([each.predecessor for each in found]),
            vertex_count=graph.vertex_count,
        )
        labels = components(*arrays, symmetric=True).component
        parts = Traversal(algorithm="components", component=labels, vertex_count=graph.vertex_count)
        for kind, artifact in (("graph", graph), ("bfs", searches), ("components", parts)):
            with cache.writer() as writer:
                names[kind, scale] = writer.publish(artifact).id
    return root, names


@pytest.mark.parametrize("algorithm", ["bfs", "components"])
@pytest.mark.parametrize("scale", [14, 18])
def test_the_peak_is_what_is_stated(stored: tuple[Path, dict[Any, str]], algorithm: str, scale: int) -> None:
    root, names = stored
    inputs = names["graph", scale], names[algorithm, scale]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), *inputs], capture_output=True, text=True, check=True
    )
    need, peak = json.loads(done.stdout)
    print(f"{algorithm} {scale}: {need} stated, {peak} measured")
    assert peak <= 1.2 * need
    # Part of the constant is not taken where the checks come compiled from the disk.
    assert need <= 1.2 * peak + (30 << 20)
