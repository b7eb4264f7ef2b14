"""`gravel.graph` of arrays on an emulated GPU: ids are numbered there, and results stay there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.conversion import arrow, cupy, edges
from gravel.conversion.ids import Integers
from gravel.graphs.prepared import PreparedSearch
from gravel.stages.edge_columns import NOT_ASKED
from gravel.stages.vertex_ids.integers import number_integers
from tests.emulation.strict_cupy import Array, on_device

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize("dtype", [numpy.uint32, numpy.int64, numpy.uint64])
@pytest.mark.parametrize(("first", "step"), [(0, 1), (7, 1), (5, 3), (1 << 20, 1000)])
def test_ids_are_numbered_as_on_the_host(dtype: Any, first: int, step: int) -> None:
    random = numpy.random.default_rng(step)
    ends = [(random.integers(0, 300, 2000) * step + first).astype(dtype) for _ in range(2)]
    there = [on_device(each) for each in ends]
    converted = edges.from_arrays(tuple(there))
    expected = number_integers(ends)
    for found, wanted, given, kept in zip(
        (converted.source, converted.target), expected.columns, there, ends, strict=True
    ):
        assert isinstance(found, Array)
        numpy.testing.assert_array_equal(found.get(), wanted)
        numpy.testing.assert_array_equal(given.get(), kept)  # the caller's arrays stay as they are
    ids = converted.ids
    assert ids.count == expected.distinct
    every = numpy.arange(ids.count)
    assert ids.listed(every) == Integers(expected.distinct, expected.first, expected.ids).listed(every)


def test_a_cudf_table_of_integers_stays_there() -> None:
    class Table(dict[str, Any]):
        columns = ("src", "dst")

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise AssertionError("it would be copied to the host")

    Table.__module__ = "cudf.core.dataframe"
    ends = [on_device(numpy.array(each)) for each in ([10, 20], [20, 40])]
    columns = [SimpleNamespace(dtype=each.dtype, hasnans=False, values=each) for each in ends]
    table = Table(zip(Table.columns, columns, strict=True))
    converted = arrow.from_table(table, NOT_ASKED, weights=False, directed=False).edges
    assert isinstance(converted.source, Array)
    assert converted.target.get().tolist() == [1, 2]
    columns[0].hasnans = True
    with pytest.raises(AssertionError, match="to the host"):
        arrow.from_table(table, NOT_ASKED, weights=False, directed=False)


@pytest.mark.parametrize(
    ("high", "dtype"), [(9, numpy.uint32), (2**32 - 1, numpy.uint32), (2**32, numpy.uint64)]
)
def test_ids_are_copied_as_narrow_as_they_are(high: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    copy = cupy._unsigned_copy
    monkeypatch.setattr(cupy, "_unsigned_copy", lambda *given: copied.append(copy(*given)) or copied[-1])
    converted = edges.from_arrays((on_device(numpy.array([1, 2])), on_device(numpy.array([2, high]))))
    assert converted.ids.take(numpy.arange(3)).to_pylist() == [1, 2, high]
    assert [each.dtype for each in copied] == [dtype, dtype]


def test_what_is_no_edge_list_there() -> None:
    ends = on_device(numpy.array([1, 2]))
    with pytest.raises(ValueError, match="sources are not on the GPU"):
        edges.from_arrays((numpy.array([1, 2]), ends))
    with pytest.raises(TypeError, match="targets are float64"):
        edges.from_arrays((ends, on_device(numpy.array([1.0, 2.0]))))
    with pytest.raises(ValueError, match="vertex id -1 is negative"):
        edges.from_arrays((ends, on_device(numpy.array([1, -1]))))
    assert cupy.from_device(on_device(numpy.array([], int)), on_device(numpy.array([], int))).ids.count == 0


def test_results_stay_on_the_device() -> None:
    workspace = on_device(numpy.array([0, 1, -1, 2], numpy.int32))
    before = on_device(numpy.array([-1, 0, -1, 1], numpy.int32))
    result = SimpleNamespace(milliseconds=1.0, distance=workspace, predecessor=before)
    kernel = SimpleNamespace(run=lambda start: result, strategy="a strategy", reason="a reason")
    search = PreparedSearch(Integers(4, 10), kernel, None, []).run(10, 0)
    search._keep()
    workspace[:] = 9
    before[:] = 9
    assert isinstance(search.distance.array, Array)
    assert isinstance(search.predecessor.array, Array)
    assert search.distance.to_cupy() is search.distance.array
    assert search.levels == [1, 1, 1]
    assert search.reached == 3
    assert search.path_to(13) == [10, 11, 13]
    assert search.path_to(12) is None
    assert search.predecessor.to_numpy().tolist() == [-1, 10, -1, 11]
    assert search.to_cupy()["predecessor"].get().tolist() == [-1, 10, -1, 11]
