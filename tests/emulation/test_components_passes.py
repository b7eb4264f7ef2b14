"""Passes of Afforest over columns and encoded rows: the kernels, on CPU threads, against SciPy."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy
import pytest

from gravel.kernels.components import components
from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import grid_kernels, strict_cupy
from tests.emulation.test_components import hubs_apart
from tests.emulation.test_components_rows import placed
from tests.kernels.cuda_case import ZOO, fast_csr
from tests.parameters import slow_among
from tests.zoo import scipy_components

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++")

DECODERS = [(layout, "warp") for layout in LAYOUTS] + [("varint", "one_lane")]


def blocks_for(items: int, block: int, **_: Any) -> int:
    return grid_kernels.BLOCKS


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = strict_cupy.module()
    cupy.ascontiguousarray = lambda array: array
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr("gravel.kernels.components.cuda.passes.load", strict_cupy.load)
    monkeypatch.setattr("gravel.kernels.components.cuda.passes.blocks_for", blocks_for)
    monkeypatch.setattr("gravel.kernels.cuda.load", strict_cupy.load)  # which checkpoints are found with
    monkeypatch.setattr(
        "gravel.kernels.components.cuda.passes.event_milliseconds", lambda work: work() or 1.0
    )


def check(found: Any, expected: numpy.ndarray, name: str, about: str) -> None:
    """A pass that says that it has converged has all components, any other has parts of them alone."""
    assert (found.passes == 1) if name == "afforest_single_pass" else found.converged
    labels = numpy.asarray(found.component)
    if found.converged:
        numpy.testing.assert_array_equal(labels, expected, err_msg=about)
    else:
        assert (labels[labels] == labels).all(), about
        assert (expected[labels] == expected).all(), about


@pytest.mark.parametrize("name", ["afforest_single_pass", "afforest_multi_pass"])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_columns(name: str, index: Any) -> None:
    for graph in [*ZOO, hubs_apart()]:
        csr = fast_csr(graph, symmetric=True, index=index)
        expected = scipy_components(*csr)
        for prune in (True, False):
            given = [strict_cupy.on_device(array) for array in csr]
            found = components(*given, symmetric=True, strategy=name, prune=prune)
            check(found, expected, name, f"{graph.name} {prune}")


@pytest.mark.parametrize("name", ["afforest_single_pass", "afforest_multi_pass"])
@pytest.mark.parametrize("given", slow_among(DECODERS, set(DECODERS[1:])), ids="-".join)
def test_encoded_rows(name: str, given: tuple[str, str]) -> None:
    layout, decoder = given
    for graph in [*ZOO, hubs_apart()]:
        for symmetric in (True, False):
            csr = fast_csr(graph, symmetric=symmetric)
            expected = scipy_components(*csr)
            for prune in (True, False):
                rows = placed(csr, layout)
                search = prepare(rows, symmetric=symmetric, strategy=name, prune=prune, decoder=decoder)
                for _ in range(2):
                    check(search.run(), expected, name, f"{graph.name} {symmetric} {prune}")


def test_one_lane_reads_varint_rows_alone() -> None:
    rows = placed(fast_csr(hubs_apart(), symmetric=True), "blocks")
    with pytest.raises(ValueError, match="reads varint rows; these are blocks"):
        prepare(rows, symmetric=True, strategy="afforest_single_pass", decoder="one_lane")
