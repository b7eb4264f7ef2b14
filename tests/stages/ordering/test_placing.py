"""Reordering on a GPU: the same ordering, within the memory that there is."""

import numpy
import pytest

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.order import METHODS
from gravel.kernels.placement.pinned import PinnedRefused
from gravel.stages.context import PlainContext
from gravel.stages.ordering import placing, rows
from gravel.stages.reorder import STAGE, ReorderParameters
from gravel.stages.stage import Machine
from tests.stages.fake_device import fake_device
from tests.stages.reorder_case import estimate, run
from tests.stages.traverse_case import as_graph

__all__ = ["fake_device"]


def skewed(direction="both"):
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    rows = build(source, target, 1 << 8, direction=direction)[:2]
    return as_graph(*rows, symmetric=direction == "both")


@pytest.mark.parametrize(
    ("method", "device_memory", "calls"),
    [
        ("random", 1 << 30, ["apply"]),
        ("degree", 1 << 30, ["degree", "apply"]),
        ("rcm", 1 << 30, ["rcm", "apply"]),
        ("rcm", 30_000, ["pin", "rcm", "apply"]),
        ("degree", 20_000, ["degree", "pin", "apply"]),
        ("random", 20_000, ["pin", "apply"]),
        ("rcm", 1 << 10, []),
        ("rcm_by_degree", 1 << 30, ["rcm_by_degree", "apply"]),
        ("hub_cluster", 1 << 30, ["hub_cluster", "apply"]),
        ("community", 1 << 30, ["community", "apply"]),
        ("community", 30_000, ["pin", "community", "apply"]),
        ("community_rcm", 40_000, ["pin", "community_rcm", "apply"]),
        ("community", 20_000, ["pin", "apply"]),
        ("community", 11_000, []),
        ("original", 1 << 30, []),
        ("degree", 1 << 10, []),
    ],
)
def test_the_cuda_path_gives_the_same_ordering(fake_device, monkeypatch, method, device_memory, calls):
    monkeypatch.setattr(rows, "ARCS_AT_ONCE", 1000)
    monkeypatch.setattr(placing, "LEAST_ROOM", 1000)
    graph = skewed()
    here = run(graph, method)
    there = run(graph, method, machine=Machine("cuda", 2, 1 << 30, device_memory))
    assert numpy.array_equal(here.column_indices, there.column_indices)
    assert numpy.array_equal(here.permutation, there.permutation)
    assert here.statistics == there.statistics
    # New rows come back through a pinned buffer.
    assert fake_device == [*calls, *["pin"] * ("apply" in calls)]


@pytest.mark.parametrize(
    ("cap", "calls"), [(30_000, ["pin", "rcm"]), (1 << 10, []), (1 << 40, ["rcm", "apply", "pin"])]
)
def test_device_memory_caps_what_an_order_takes(fake_device, cap, calls):
    graph = skewed()
    context = PlainContext(Machine("cuda", 2, 1 << 30, 1 << 30))
    found = STAGE.run(context, ReorderParameters(method="rcm", device_memory=cap), input=graph)
    assert numpy.array_equal(found.permutation, run(graph, "rcm").permutation)
    assert fake_device == calls


@pytest.mark.parametrize("device_memory", [1 << 30, 1 << 15])
def test_the_cuda_path_of_a_directed_graph(fake_device, device_memory):
    graph = skewed("as_given")
    here = run(graph, "rcm")
    there = run(graph, "rcm", machine=Machine("cuda", 2, 1 << 30, device_memory))
    assert numpy.array_equal(here.permutation, there.permutation)
    assert numpy.array_equal(here.column_indices, there.column_indices)
    assert fake_device == (["rcm", "apply", "pin"] if device_memory == 1 << 30 else ["pin", "rcm"])


REFUSED = "on the host: pinned memory was refused (out of locked pages)"


@pytest.mark.parametrize(
    ("method", "device_memory", "refusing", "calls", "message"),
    [
        ("rcm", 30_000, "placement.pinned.pin", [], "out of locked pages"),
        ("degree", 20_000, "placement.pinned.pin", ["degree"], f"the new rows are made {REFUSED}"),
        ("community", 30_000, "order.community_cuda.community", None, f"community is found {REFUSED}"),
    ],
)
def test_pinned_memory_that_is_refused_is_told(
    fake_device, monkeypatch, method, device_memory, refusing, calls, message
):
    def refuse(*arrays, **options):
        raise PinnedRefused("out of locked pages")

    if method != "rcm":
        monkeypatch.setattr(placing, "LEAST_ROOM", 1000)
    monkeypatch.setattr(f"gravel.kernels.{refusing}", refuse)
    graph = skewed()
    context = PlainContext(Machine("cuda", 2, 1 << 30, device_memory))
    found = STAGE.run(context, ReorderParameters(method=method), input=graph)
    here = run(graph, method)
    assert numpy.array_equal(found.permutation, here.permutation)
    assert numpy.array_equal(found.column_indices, here.column_indices)
    assert calls in (None, fake_device)
    assert any(message in each if method == "rcm" else message == each for each in context.messages)


def test_a_row_that_does_not_fit_the_device_is_made_on_the_host(fake_device, monkeypatch):
    monkeypatch.setattr(placing, "LEAST_ROOM", 100)
    hub = numpy.zeros(255, numpy.uint32), numpy.arange(1, 256, dtype=numpy.uint32)
    graph = as_graph(*build(*hub, 256)[:2])
    machine = Machine("cuda", 2, 1 << 30, 40 * 256 + 20 * 254)
    assert numpy.array_equal(
        run(graph, "random", machine=machine).column_indices, run(graph, "random").column_indices
    )
    assert fake_device == []


def test_estimate_of_orders_on_the_device():
    columns = 4 << 28
    whole = estimate("rcm", backend="cuda", device_memory=64 << 30)
    assert whole.host_bytes < columns / 2
    pinned = estimate("rcm", backend="cuda", device_memory=columns // 2)
    assert 0 < pinned.device_bytes < columns / 2
    assert pinned.host_bytes > columns
    assert estimate("rcm", backend="cuda", device_memory=1 << 20).device_bytes == 0


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("device_memory", [1 << 30, 1 << 19, 1 << 10])
def test_cuda_gives_the_same_ordering(monkeypatch, method, device_memory):
    monkeypatch.setattr(placing, "LEAST_ROOM", 1 << 12)
    source, target = generate("rmat", scale=12, edge_factor=16, seed=1)
    graph = as_graph(*build(source, target, 1 << 12)[:2])
    here = run(graph, method)
    there = run(graph, method, machine=Machine("cuda", 2, 1 << 30, device_memory))
    for name in ("row_offsets", "column_indices", "permutation"):
        assert numpy.array_equal(getattr(here, name), getattr(there, name))
    assert here.statistics == there.statistics
