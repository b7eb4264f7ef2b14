"""What symmetrize states is what it takes: the peak of a process that runs it from a store into a store."""

import json
import subprocess
import sys

import pytest

from gravel.kernels.generate import generate
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import EdgeList

CHILD = """
import json, sys
from pathlib import Path

import numpy

from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.stage import Machine
from gravel.stages.symmetrize import STAGE, SymmetrizeParameters

cache, artifact, host_memory = Cache(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
machine = Machine(backend="cpu", threads=2, host_memory=host_memory)
parameters = SymmetrizeParameters()
need = STAGE.estimate(parameters, {"input": (cache.describe(artifact).extent,)}, machine)
context = PlainContext(machine)
with cache.writer() as writer:
    context.sink = writer.sink
    edges = cache.open(artifact)
    with Peak() as peak:
        graph = STAGE.run(context, parameters, input=edges)
print(json.dumps([need.host_bytes, peak.host_bytes, graph.arc_count, len(context.messages)]))
"""

AMPLE = 1 << 40


@pytest.fixture(scope="module")
def edge_lists(tmp_path_factory):
    """Three sizes in a store, as ingest leaves them: edges, and what they are."""
    root = tmp_path_factory.mktemp("cache")
    cache = Cache(root)
    stored = {}
    for scale, edge_factor in ((17, 32), (20, 8), (21, 8)):
        with cache.writer() as writer:
            source, target = writer.sink("uint32"), writer.sink("uint32")
            total = edge_factor << scale
            for first in range(0, total, 1 << 22):
                ends = generate(
                    "rmat", scale=scale, edge_factor=edge_factor, seed=1, first=first, count=1 << 22
                )
                source.append(ends[0])
                target.append(ends[1])
            edges = EdgeList(
                source=source.close(), target=target.close(), vertex_count=1 << scale, undirected=True
            )
            stored[total] = writer.publish(edges).id
    return root, stored


def measure(edge_lists, edges, host_memory):
    root, stored = edge_lists
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), stored[edges], str(host_memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("edges", [32 << 17, 8 << 20, 8 << 21])
def test_the_peak_is_what_is_stated(edge_lists, edges):
    need, peak, _, ranges = measure(edge_lists, edges, AMPLE)
    assert ranges == 0
    assert peak <= 1.3 * need
    assert need <= 1.5 * peak


@pytest.mark.slow
def test_the_peak_is_bounded_by_the_machine(edge_lists):
    """A graph of 220 MB with 170 MB: the same graph, from ranges."""
    _, _, arcs, _ = measure(edge_lists, 8 << 21, AMPLE)
    need, peak, from_ranges, ranges = measure(edge_lists, 8 << 21, 170 << 20)
    assert need == 170 << 20
    assert peak <= 1.3 * need
    assert ranges == 1
    assert from_ranges == arcs
