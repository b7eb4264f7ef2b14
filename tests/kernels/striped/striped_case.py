"""What tests of striped searches on GPUs compare, emulated or not: labels, and what each level counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.kernels.striped import StripedOptions, StripedSearch, stripe
from tests.kernels.conformance import fetch
from tests.trees import check_tree


def same(found: Any, wanted: Any, whole: Any, source: int, *, exact: bool) -> None:
    distance, predecessor = fetch(found.distance), fetch(found.predecessor)
    assert numpy.array_equal(distance, wanted.distance)
    assert found.directions == wanted.directions
    if exact:
        assert numpy.array_equal(predecessor, wanted.predecessor)
    else:
        check_tree(whole, source, distance, predecessor)


def same_levels(labels: Any, on_cpu: Any, options: StripedOptions) -> None:
    for mine, theirs in zip(labels, on_cpu, strict=True):
        for one, other in zip(mine.levels, theirs.levels, strict=True):
            assert (one.frontier, one.arcs, one.claimed) == (other.frontier, other.arcs, other.claimed)
            assert one.arcs == one.duplicates + one.masked + sum(one.sent)
            assert min(one.expand_milliseconds, one.barrier_milliseconds, one.contract_milliseconds) >= 0
            if options.bitmask or not options.local_duplicates:
                assert (one.sent, one.sent_bytes) == (other.sent, other.sent_bytes)


def check(
    graph: tuple[Any, Any],
    sources: list[int],
    ranks: int,
    options: StripedOptions | None = None,
    **constants: Any,
) -> None:
    from gravel.kernels.striped.cuda import CudaStripedSearch

    options, whole = options or StripedOptions(), stripe(*graph, ranks=ranks)
    on_cpu = StripedSearch(whole, options=options)
    search = CudaStripedSearch(whole, options=replace(options, barrier_seconds=60.0), **constants)
    for source in sources:
        wanted, found = on_cpu.run(source), search.run(source)
        same(found, wanted, whole, source, exact=not options.bitmask)
        same_levels(search.labels, on_cpu.labels, options)
