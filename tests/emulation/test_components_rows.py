"""Components of rows that the device keeps in part: the kernels, on CPU threads, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.components import prepare_rows as prepare
from gravel.kernels.components.cuda.kept import MAX_KEPT, keep_first, most_kept
from gravel.kernels.layouts import LAYOUTS
from tests.emulation import strict_cupy
from tests.emulation.test_components import hubs_apart
from tests.kernels.cuda_case import ZOO, fast_csr
from tests.parameters import slow_among
from tests.zoo import scipy_components

pytestmark = pytest.mark.usefixtures("on_cpu")

BLOCK = 64


def budget(csr: Any, most: int) -> int:
    """Bytes in which the first `most` neighbours of every row fit, and no more."""
    kept = int(numpy.minimum(numpy.diff(csr[0]), most).sum())
    return kept * csr[1].itemsize + 8 * len(csr[0])


EVERY = [(layout, symmetric) for layout in LAYOUTS for symmetric in (True, False)]
FEW = {("csr", True), ("varint", True), ("blocks", False)}


@pytest.mark.parametrize("given", slow_among(EVERY, set(EVERY) - FEW), ids=str)
def test_labels_whatever_is_kept(given: tuple[str, bool]) -> None:
    layout, symmetric = given
    for graph in [*ZOO, hubs_apart()]:
        csr = fast_csr(graph, symmetric=symmetric)
        expected = scipy_components(*csr)
        keeps = [None, 0, *((budget(csr, most) for most in (3, 40, MAX_KEPT)) if layout == "csr" else ())]
        for keep in keeps:
            for constants in ({"rounds": 1}, {"rounds": 4, "giant": "first"}, {"prune": False}):
                if (layout, keep, constants) == ("csr", None, {"rounds": 1}):
                    continue  # rows that are read from their start, as in test_components
                search = prepare(
                    strict_cupy.encoded(layout, csr), symmetric=symmetric, keep=keep, **constants
                )
                for _ in range(2):
                    found = search.run().component
                    numpy.testing.assert_array_equal(
                        found, expected, err_msg=f"{graph.name} {keep} {constants}"
                    )


def test_rows_that_the_device_knows_are_not_read() -> None:
    """Neighbours of rows that are kept whole are changed on the host, and nobody sees it."""
    csr = fast_csr(hubs_apart(), symmetric=True)
    expected = scipy_components(*csr)
    degrees = numpy.diff(csr[0])
    for layout, keep, known in (("csr", budget(csr, 3), 3), ("csr", 0, 2), ("blocks", 0, 2)):
        rows = strict_cupy.encoded(layout, csr)
        search: Any = prepare(rows, symmetric=True, keep=keep)
        assert search.kept.most == (known if keep else 0)
        assert (
            (search.kept.longer[:, None] >> numpy.arange(32) & 1).reshape(-1)[: len(degrees)]
            == (degrees > known)
        ).all()
        if layout == "csr":
            columns = rows.arrays["column_indices"]
            for row in numpy.flatnonzero(degrees <= known):
                columns[csr[0][row] : csr[0][row + 1]] = 0  # the first star's hub
        else:
            offsets = rows.arrays["byte_offsets"]
            for row in numpy.flatnonzero(degrees <= known):
                rows.arrays["stream"][offsets[row] : offsets[row + 1]] = 0
        numpy.testing.assert_array_equal(search.run().component, expected)


def test_as_much_is_kept_as_fits() -> None:
    csr = fast_csr(hubs_apart(), symmetric=True)
    offsets, columns = (strict_cupy.on_device(each) for each in csr)
    for most in (1, 2, 7):
        kept = keep_first(offsets, columns, budget(csr, most))
        assert kept is not None
        assert kept.most >= most
        assert kept.columns.nbytes + kept.offsets.nbytes <= budget(csr, most)
        for row in (0, 1, len(csr[0]) - 2):
            wanted = csr[1][csr[0][row] : csr[0][row + 1]][: kept.most]
            assert kept.columns[kept.offsets[row] : kept.offsets[row + 1]].tolist() == wanted.tolist()
    assert keep_first(offsets, columns, budget(csr, 2), least=3) is None
    assert keep_first(offsets, columns, 100) is None
    assert most_kept(lambda most: most <= 77) == 77
    assert most_kept(lambda most: True) == MAX_KEPT
    assert most_kept(lambda most: False) == 0
