"""Searches of encoded rows that lie on the host, on CPU threads: streamed, and in parts of one launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.placement.pinned import PinnedRefused
from tests.emulation import strict_cupy
from tests.kernels.conformance import check, csr_of, sources_of
from tests.kernels.cuda_case import fast_csr, rmat
from tests.parameters import slow_among

STREAMS = ("varint", "blocks", "elias_fano")
SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "empty")


@pytest.fixture(autouse=True)
def rows_on_the_host(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.host_rows.in_host_memory", lambda array: True)


def search(csr: Any, layout: str, output: str, strategy: str, **constants: Any) -> Any:
    placed = strict_cupy.encoded(layout, csr, on_host=strategy == "streamed")
    made = prepare(placed, strategy=strategy, symmetric=True, output=output, **constants)
    for source in sources_of(len(csr[0]) - 1, 3):
        check(made.run(source), csr, source, output)
    return made


@pytest.mark.parametrize("layout", slow_among(STREAMS, {"blocks", "elias_fano"}))
def test_streamed_rows(layout: str) -> None:
    skewed = fast_csr(rmat(9, 8), symmetric=True)
    for csr in [*(csr_of(name, True) for name in SMALL), skewed]:
        for output in ("both", "distance"):
            for constants in ({}, {"buffer_bytes": 1024, "buffers": 2}):
                search(csr, layout, output, "streamed", **constants)


@pytest.mark.parametrize("layout", STREAMS)
def test_streamed_rows_of_wide_vertices_and_predecessors(
    monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    csr = fast_csr(rmat(7, 8), symmetric=True, index=numpy.uint64)
    search(csr, layout, "both", "streamed", buffer_bytes=2048)


EVERY = [(layout, strategy) for strategy in ("streamed", "host_rows") for layout in STREAMS]
FEW = {("blocks", "streamed"), ("varint", "host_rows")}


@pytest.mark.parametrize("given", slow_among(EVERY, set(EVERY) - FEW), ids=str)
def test_long_rows_are_shared(given: tuple[str, str]) -> None:
    layout, strategy = given
    """Rows of more than LONG_BYTES, several in a word of the frontier and one alone."""
    n, hubs = 40_000, (5, 6, 31, 32, 7000)
    random = numpy.random.default_rng(5)
    pairs = [(hub, leaf) for hub in hubs for leaf in random.choice(n, 9000, replace=False) if leaf != hub]
    both = numpy.array(pairs)
    both = numpy.unique(numpy.concatenate([both, both[:, ::-1]]), axis=0)
    offsets = numpy.searchsorted(both[:, 0], numpy.arange(n + 1)).astype(numpy.int64)
    csr = offsets, both[:, 1].astype(numpy.uint32)
    constants: dict[str, Any] = {"buffer_bytes": 1 << 15} if strategy == "streamed" else {"room": 1 << 15}
    made = search(csr, layout, "both", strategy, **constants)
    if strategy == "streamed":
        assert made._parts.count > 2


@pytest.mark.parametrize("layout", slow_among(STREAMS, {"varint", "elias_fano"}))
def test_rows_in_one_launch_are_decoded_from_parts(layout: str) -> None:
    for csr in (csr_of("star_300", True), fast_csr(rmat(8, 8), symmetric=True)):
        for constants in ({"room": 512}, {"heads": 3, "alpha": 1e18, "room": 1024}):
            search(csr, layout, "both", "host_rows", **constants)


def test_only_what_a_level_needs_is_copied() -> None:
    """A path: each level has one row, so each copies one part of many."""
    n = 4000
    chain = numpy.stack([numpy.arange(n - 1), numpy.arange(1, n)], axis=1)
    both = numpy.concatenate([chain, chain[:, ::-1]])
    both = both[numpy.lexsort((both[:, 1], both[:, 0]))]
    offsets = numpy.searchsorted(both[:, 0], numpy.arange(n + 1)).astype(numpy.int64)
    csr = offsets, both[:, 1].astype(numpy.uint32)
    placed = strict_cupy.encoded("varint", csr, on_host=True)
    made: Any = prepare(placed, strategy="streamed", symmetric=True, buffer_bytes=256, max_depth=10)
    told: list[tuple[int, int]] = []
    made.progress = lambda done, parts: told.append((done, parts))
    result = made.run(n // 2)
    assert max(parts for _, parts in told) <= 2
    assert 0 < result.link_bytes <= 20 * 256
    assert made.run(n // 2).link_bytes == result.link_bytes


def test_refused_pinned_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(array: Any, host: Any) -> Any:
        raise PinnedRefused("not today")

    monkeypatch.setattr("gravel.kernels.placement.copied.pin", refuse)
    made = search(csr_of("star_300", True), "blocks", "both", "streamed")
    assert "not today" in made.notes[0]


@pytest.mark.parametrize("layout", STREAMS)
def test_damaged_bytes_lead_nowhere_outside(layout: str) -> None:
    random = numpy.random.default_rng(7)
    rows = strict_cupy.encoded(layout, fast_csr(rmat(8, 8), symmetric=True), on_host=True)
    for _ in range(3):
        stream: Any = rows.arrays["stream"].copy()
        stream[random.integers(0, len(stream), 100)] = random.integers(0, 256, 100)
        placed = replace(rows, arrays={**rows.arrays, "stream": stream})
        result = prepare(placed, strategy="streamed", symmetric=True, buffer_bytes=2048).run(0)
        assert int(result.distance.max()) < 256
