"""Centralities of graphs in every stored form, and of rows that do not fit an (emulated) GPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.layouts.layout import ALIGNMENT
from gravel.stages.artifacts import CompressedGraph, Graph
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.measuring.graph import read_measured
from gravel.stages.measuring.need import host_bytes
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.measuring.rows import FEWEST, sizes_of
from gravel.stages.stage import Extent, Machine
from tests.emulation import strict_cupy
from tests.parameters import slow_among
from tests.stages.traverse_case import GRAPHS, LAYOUTS, as_graph, partitioned, plain, renumbered

HOST = Machine("cpu", 2, 1 << 30)
MEASURES = [
    "closeness",
    "eccentricity",
    "neighbourhood",
    "average_path_length",
    "betweenness",
    "edge_betweenness",
]
emulated = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")


def compressed(graph: Any, codec: str) -> CompressedGraph:
    return COMPRESS.run(PlainContext(HOST), CompressParameters(codec=codec), input=graph)  # type: ignore[no-any-return]


FORMS: dict[str, Callable[[Graph], Any]] = {
    **LAYOUTS,
    **{
        codec: lambda graph, codec=codec: compressed(renumbered(graph), codec)
        for codec in ("csr", "blocks", "elias_fano")
    },
    "compressed_partition": lambda graph: compressed(partitioned(graph), "varint"),
}


def asked(measure: str, **more: Any) -> CentralityParameters:
    return CentralityParameters(measure=measure, hops=2 if measure == "neighbourhood" else None, **more)


def measured(stored: Any, measure: str, machine: Machine = HOST, **more: Any) -> Any:
    context = PlainContext(machine)
    found, _ = centrality(context, asked(measure, **more), input=stored)
    return numpy.asarray(found.value)


@pytest.mark.parametrize(
    ("form", "measure"),
    [(form, measure) for form in FORMS for measure in ("closeness", "edge_betweenness")]
    + [("blocks", measure) for measure in MEASURES[1:-1]],
)
def test_every_form_of_a_graph_has_the_values_of_its_columns(form: str, measure: str) -> None:
    for name in ("skewed_random", "tail_on_clique", "two_parts"):
        graph = plain(GRAPHS[name])
        found, expected = measured(FORMS[form](graph), measure), measured(graph, measure)
        numpy.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["partition", "compressed"])
def test_directed_graphs_are_searched_along_their_arcs(form: str) -> None:
    graph = plain(GRAPHS["skewed_random"], symmetric=False)
    stored = FORMS[form](graph)
    numpy.testing.assert_allclose(measured(stored, "closeness"), measured(graph, "closeness"))
    with pytest.raises(StageError, match="direction in needs rows as columns, and"):
        measured(stored, "closeness", direction="in")


def skewed(vertices: int = 700) -> Graph:
    drawn = numpy.random.default_rng(7)
    ends = (drawn.random((2, 6000)) ** 3 * vertices).astype(numpy.int64)
    far = numpy.arange(vertices - 40, vertices)
    ends = numpy.concatenate([ends, [far[:-1], far[1:]]], axis=1)
    ends = numpy.unique(numpy.concatenate([ends, ends[::-1]], axis=1), axis=1)
    ends = ends[:, ends[0] != ends[1]]
    offsets = numpy.zeros(vertices + 1, numpy.int64)
    offsets[1:] = numpy.cumsum(numpy.bincount(ends[0], minlength=vertices))
    return as_graph(offsets, ends[1].astype(numpy.uint32))


@emulated
@pytest.mark.parametrize(
    "form",
    slow_among(["graph", "ordering", "varint", "blocks", "elias_fano"], {"ordering", "varint", "elias_fano"}),
)
def test_rows_that_do_not_fit_a_gpu(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = skewed()
    stored = graph if form == "graph" else renumbered(graph)
    encoded = form in ("varint", "blocks", "elias_fano")
    stored = compressed(stored, form) if encoded else stored
    sizes = sizes_of(stored)
    decoded = sizes.decoded + max(sizes.encoded, sizes.batch(FEWEST, encoded=False))
    least = sizes.encoded + sizes.batch(FEWEST, encoded=True) if encoded else decoded
    assert least <= decoded
    expected = {measure: measured(graph, measure) for measure in MEASURES[:4]}
    strict_cupy.install(monkeypatch)
    cases = [
        (decoded, 1 << 30, "decoded"),
        (decoded - 1, 1 << 30, "encoded" if encoded else "split"),
        (least - 1, 1 << 30, "split"),
        (least - 1, sizes.body - 1, "streamed"),
    ]
    for device, host, where in cases:
        machine = Machine("cuda", 2, host, device)
        assert sizes.where(device, host) == where
        read = read_measured(stored, asked("closeness"), machine)
        assert read.rows.layout == (form if encoded and where != "decoded" else "csr")
        assert read.split == (where == "split")
        numpy.testing.assert_array_equal(read.first_offsets, graph.row_offsets)
        for measure, values in expected.items():
            found = measured(stored, measure, machine)
            numpy.testing.assert_allclose(found, values, rtol=1e-12, err_msg=f"{where}, {measure}")
        if where == "streamed":
            monkeypatch.setattr("gravel.kernels.placement.pinned.pin", refuse)
            split = Machine("cuda", 2, 1 << 30, device)
            context = PlainContext(split)
            centrality(context, asked("harmonic"), input=stored)


@emulated
@pytest.mark.parametrize("codec", ["varint", "blocks"])
def test_a_stream_on_a_gpu_is_there_twice_while_it_is_padded(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = compressed(skewed(), codec)
    strict_cupy.install(monkeypatch)
    for cut in (0, 1):
        stream = stored.stream[: len(stored.stream) // ALIGNMENT * ALIGNMENT - cut]
        twice = len(stream) if cut else 0
        assert sizes_of(replace(stored, stream=stream)).copied == 0
        assert sizes_of(replace(stored, stream=strict_cupy.on_device(stream))).copied == twice


@emulated
def test_plan_and_run_leave_the_same_for_pinned_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = skewed()
    sizes, n = sizes_of(graph), graph.vertex_count
    device = sizes.decoded + sizes.batch(FEWEST, encoded=False) - 1
    rest = host_bytes(asked("closeness"), n, n)
    extent = Extent(kind="Graph", vertices=n, arcs=graph.arc_count, bytes=sizes.decoded)
    strict_cupy.install(monkeypatch)
    for less in (0, 1):
        machine = Machine("cuda", 2, rest + sizes.body - less, device)
        need = STAGE.estimate(asked("closeness"), {"input": (extent,)}, machine)
        assert (need.host_bytes == rest + sizes.body) == (not less)
        assert read_measured(graph, asked("closeness"), machine).split == (not less)


def refuse(*given: Any) -> Any:
    from gravel.kernels.placement.pinned import PinnedRefused

    raise PinnedRefused("no more")


@pytest.mark.parametrize("vertices", [1 << 16, 1 << 22])
def test_what_is_stated_of_a_gpu_is_within_it(vertices: int) -> None:
    arcs = 32 * vertices
    for kind, size in (
        ("Graph", 8 * (vertices + 1) + 4 * arcs),
        ("CompressedGraph", 8 * (vertices + 1) + 2 * arcs),
    ):
        graph = Extent(kind=kind, vertices=vertices, arcs=arcs, bytes=size)
        hosts = []
        for share in (3.0, 1.0, 0.8):
            machine = Machine("cuda", 2, 1 << 40, int(share * (8 * (vertices + 1) + 4 * arcs)))
            need = STAGE.estimate(asked("closeness"), {"input": (graph,)}, machine)
            assert need.device_bytes <= machine.device_memory
            hosts.append(need.host_bytes)
        assert hosts[0] <= hosts[1] <= hosts[2]
        little = Machine("cuda", 2, hosts[2] - arcs, machine.device_memory)
        read_in_parts = STAGE.estimate(asked("closeness"), {"input": (graph,)}, little)
        assert read_in_parts.device_bytes <= machine.device_memory
        partition = Extent(kind="Partition", vertices=vertices, arcs=arcs, bytes=size, normal_arcs=9, ranks=4)
        need = STAGE.estimate(asked("closeness"), {"input": (partition,)}, machine)
        assert need.host_bytes > hosts[0]
