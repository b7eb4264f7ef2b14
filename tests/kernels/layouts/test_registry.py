"""A layout that one file adds: every search, placement and verification on the CPU runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.components import prepare_rows as prepare_components
from gravel.kernels.cuda.source import declared_variants, read_source
from gravel.kernels.layouts import decode, encode
from gravel.kernels.layouts.readers import readable
from gravel.kernels.layouts.registry import layouts, register
from gravel.kernels.partition import SearchOptions, partition
from gravel.kernels.strategy import ENCODED, Strategy, strategies_in
from gravel.stages.advice import OrderAdviceParameters
from gravel.stages.compress import CompressParameters
from gravel.stages.context import PlainContext
from gravel.stages.rows.decoding import decompress
from gravel.stages.stage import Machine
from gravel.stages.verify import STAGE as VERIFY
from gravel.stages.verify import VerifyParameters
from tests.kernels.conformance import check, csr_of, fetch, place, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.layouts.backwards import BACKWARDS, registered
from tests.kernels.partition.test_encoded import check as check_ranks
from tests.stages.traversal.placement_case import packed, run, stored
from tests.stages.traverse_case import as_graph, partitioned
from tests.zoo import scipy_components

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates")
BFS, COMPONENTS = (strategies_in(f"gravel.kernels.{room}", ENCODED) for room in ("bfs", "components"))


@pytest.fixture(autouse=True)
def layout() -> Iterator[str]:
    with registered() as name:
        yield name


def graphs() -> Iterator[Any]:
    yield from (csr_of(name, True, numpy.uint32) for name in SMALL)
    yield fast_csr(rmat(9, 8), symmetric=True)


@pytest.mark.parametrize("side", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_rows_come_back(layout: str, side: str) -> None:
    for offsets, columns in (*graphs(), fast_csr(rmat(7, 8), symmetric=True, index=numpy.uint64)):
        rows = encode(layout, *place(side, offsets, columns))
        for found, given in zip(decode(rows), (offsets, columns), strict=True):
            assert numpy.array_equal(fetch(found), given)
        if len(columns) > 1:
            stream = fetch(rows.arrays["stream"])[: columns.nbytes]
            assert not numpy.array_equal(stream, columns.view(numpy.uint8))


def test_damaged_rows_are_refused(layout: str) -> None:
    offsets, columns = csr_of("star_300", True, numpy.uint32)
    rows = encode(layout, offsets, columns)
    rows.arrays["byte_offsets"][1] += 1
    with pytest.raises(ValueError, match="row 0 of the compressed graph is damaged"):
        readable(rows)


def on_each(strategies: dict[str, Strategy]) -> Any:
    """Every strategy on every backend that has code for it."""
    sides = {"cpu": (), "cuda": (pytest.mark.gpu,)}
    given = [
        pytest.param(name, side, marks=marks, id=f"{name}-{side}")
        for name, each in strategies.items()
        for side, marks in sides.items()
        if each.target(side)
    ]
    return pytest.mark.parametrize(("name", "side"), given)


@on_each(BFS)
@pytest.mark.parametrize("output", ["both", "distance"])
def test_every_search(layout: str, name: str, side: str, output: str) -> None:
    for csr in graphs():
        rows = encode(layout, *place(side, *csr))
        made = prepare(rows, strategy=name, symmetric=True, output=output)
        for source in sources_of(len(csr[0]) - 1, 2):
            check(made.run(source), csr, source, output)


@on_each(COMPONENTS)
def test_components(layout: str, name: str, side: str) -> None:
    for csr in graphs():
        rows = encode(layout, *place(side, *csr))
        found = prepare_components(rows, strategy=name, symmetric=True).run()
        if name != "afforest_single_pass":  # which may leave parts of components
            assert numpy.array_equal(fetch(found.component), scipy_components(*csr))


def test_ranks(layout: str) -> None:
    offsets, columns = fast_csr(rmat(9), symmetric=True)
    source = int(numpy.argmax(numpy.diff(offsets)))
    for ranks, threshold in ((1, 20), (3, 20), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        check_ranks(whole, layout, [source], symmetric=True, options=SearchOptions())


@pytest.mark.parametrize("algorithm", ["bfs", "components"])
def test_stages_in_memory_stored_and_over_ranks(layout: str, algorithm: str, tmp_path: Path) -> None:
    graph = as_graph(*fast_csr(rmat(9, 8), symmetric=True))
    small = packed(graph, layout)
    assert small.codec == layout
    back = decompress(small)
    assert numpy.array_equal(back.column_indices, graph.column_indices)
    verifier = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 32))
    wanted = run(graph, algorithm=algorithm)[0]
    ways = {
        "host": (small, {}),
        "streamed": (stored(tmp_path, small), {"placement": "streamed"}),
        "ranks": (packed(partitioned(graph), layout), {}),
    }
    for way, (given, asked) in ways.items():
        found, measurement, _ = run(given, algorithm=algorithm, **asked)
        if way != "ranks" or algorithm == "bfs":
            assert not any("decoded before" in note for note in measurement.notes), way
        for name in ("distance", "component"):
            before, after = getattr(wanted, name), getattr(found, name)
            assert before is None or numpy.array_equal(before, after), way
        checked = VERIFY.run(verifier, VerifyParameters(), graph=graph, traversal=found)
        assert all(check["passed"] for check in checked.checks), way


def test_it_is_named_where_layouts_are_named(layout: str) -> None:
    assert [*layouts()] == ["csr", "varint", "blocks", "elias_fano", layout]
    assert CompressParameters(codec=layout).codec == layout
    assert OrderAdviceParameters(layout=layout).layouts() == (layout,)
    assert layout in CompressParameters.model_json_schema()["properties"]["codec"]["enum"]
    searches = read_source("kernels/layouts/counting.cu")
    assert set(declared_variants(searches)["LAYOUT"]) == {*layouts()}
    with pytest.raises(ValidationError, match="'elias_fano', 'backwards' or 'auto'"):
        CompressParameters(codec="forwards")
    with pytest.raises(ValueError, match="there is a layout 'backwards' already"):
        register(BACKWARDS)
