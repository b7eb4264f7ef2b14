"""What ingest states is what it takes: the peak of a process that reads into a store, whatever the size."""

import json
import subprocess
import sys

import numpy
import pyarrow
import pytest
from pyarrow import csv

from gravel.stages.ingest import STAGE
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Machine
from tests.parameters import slow_among

CHILD = """
import json, sys
from pathlib import Path

from gravel.pipeline.workers.peak import Peak
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.ingest import STAGE
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Machine

machine = Machine(backend="cpu", threads=2, host_memory=1 << 40)
parameters = IngestParameters(**json.loads(sys.argv[2]))
need = STAGE.estimate(parameters, {}, machine)
context = PlainContext(machine)
with Cache(Path(sys.argv[1])).writer() as writer:
    context.sink = lambda dtype, rows=None: writer.sink(dtype)
    with Peak(interval=0.005) as peak:
        edges, ids = STAGE.run(context, parameters)
print(json.dumps([need.host_bytes, peak.host_bytes, len(edges.source), need.outputs[0].arcs]))
"""


def measure(folder, **options):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder / "cache"), json.dumps(options)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Edge lists of three sizes with ids from a range, and one with ids from anywhere."""
    folder = tmp_path_factory.mktemp("lists")
    rng = numpy.random.default_rng(1)
    files = {}
    for name, edges, highest in (
        ("small", 50_000, 1 << 16),
        ("middle", 500_000, 1 << 20),
        ("large", 2_000_000, 1 << 22),
        ("hashed", 700_000, 1 << 60),
    ):
        files[name] = folder / f"{name}.txt"
        ends = pyarrow.table(list(rng.integers(0, highest, (2, edges))), names=["source", "target"])
        csv.write_csv(ends, files[name], csv.WriteOptions(include_header=False, delimiter=" "))
    return folder, files


@pytest.mark.parametrize("name", slow_among(["small", "middle", "large"], {"small", "middle"}))
def test_the_peak_is_within_what_is_stated(lists, name):
    folder, files = lists
    need, peak, edges, stated = measure(folder, file=str(files[name]))
    assert peak <= 1.3 * need
    assert edges <= stated


@pytest.mark.parametrize("name", slow_among(["large", "hashed"], {"large"}))
def test_a_small_budget_holds_whatever_the_size(lists, name):
    folder, files = lists
    need, peak, _, _ = measure(folder, file=str(files[name]), memory="16MiB")
    assert need <= 128 << 20
    assert peak <= 1.3 * need


def test_a_generator_is_bounded_too(tmp_path):
    need, peak, edges, stated = measure(tmp_path, source={"rmat": {"scale": 18}})
    assert peak <= 1.3 * need
    assert edges == stated


@pytest.mark.parametrize(("edges", "memory"), [(50_000, "512MiB"), (300_000, "16MiB")])
def test_ids_that_are_texts_are_bounded_too(tmp_path, edges, memory):
    path = tmp_path / "texts.csv"
    pairs = numpy.random.default_rng(1).integers(0, edges, (edges, 2)).tolist()
    path.write_text("source,target\n" + "".join(f"user {u:x},user {v:x}\n" for u, v in pairs))
    need, peak, found, stated = measure(tmp_path, file=str(path), memory=memory)
    assert peak <= need
    assert found <= stated


def test_counts_that_are_expected_stand_for_bounds_of_what_comes_after(tmp_path):
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{10 * n} {10 * n + 10}\n" for n in range(1000)))
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 40)
    plain, expected = (
        STAGE.estimate(IngestParameters(file=str(file), **asked), {}, machine)
        for asked in ({}, {"expect": {"vertices": 17, "edges": 23}})
    )
    assert [(each.vertices, each.arcs) for each in expected.outputs] == [(17, 23), (17, 0)]
    assert plain.outputs[0].vertices >= 1001
    assert expected.host_bytes == plain.host_bytes
