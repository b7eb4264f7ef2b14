"""Passes of Afforest over columns and encoded rows: the kernels, on CPU threads, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.components import components
from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import strict_cupy
from tests.emulation.test_components import hubs_apart
from tests.kernels.cuda_case import ZOO, fast_csr
from tests.parameters import slow_among
from tests.zoo import scipy_components

pytestmark = pytest.mark.usefixtures("on_cpu")

DECODERS = [(layout, "warp") for layout in LAYOUTS] + [("varint", "one_lane")]


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
                rows = strict_cupy.encoded(layout, csr)
                search = prepare(rows, symmetric=symmetric, strategy=name, prune=prune, decoder=decoder)
                for _ in range(2):
                    check(search.run(), expected, name, f"{graph.name} {symmetric} {prune}")


def test_one_lane_reads_varint_rows_alone() -> None:
    rows = strict_cupy.encoded("blocks", fast_csr(hubs_apart(), symmetric=True))
    with pytest.raises(ValueError, match="reads varint rows; these are blocks"):
        prepare(rows, symmetric=True, strategy="afforest_single_pass", decoder="one_lane")
