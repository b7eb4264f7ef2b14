"""Components of encoded rows in parts: the kernels, on CPU threads, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.components import prepare_rows as prepare
from tests.emulation import strict_cupy
from tests.kernels.cuda_case import fast_csr, rmat
from tests.zoo import scipy_components, zoo

pytestmark = pytest.mark.usefixtures("on_cpu")


def labels(csr: Any, layout: str, symmetric: bool, **constants: Any) -> Any:
    placed = strict_cupy.encoded(layout, csr, on_host=True)
    search = prepare(placed, symmetric=symmetric, strategy="streamed", **constants)
    search.run()
    return search.run().component


@pytest.mark.parametrize("layout", ["varint", "blocks", "elias_fano"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_labels(layout: str, symmetric: bool) -> None:
    for graph in [*zoo(), rmat(9, 2)]:
        for index in (numpy.uint32, numpy.uint64):
            if index is numpy.uint64 and graph.name != "skewed_random":
                continue
            csr = fast_csr(graph, symmetric=symmetric, index=index)
            for constants in ({"buffer_bytes": 4096, "buffers": 2}, {}):
                numpy.testing.assert_array_equal(
                    labels(csr, layout, symmetric, **constants), scipy_components(*csr), err_msg=graph.name
                )
