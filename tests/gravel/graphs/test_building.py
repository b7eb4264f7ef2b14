"""What a user can get wrong, and the exception that one expects in Python, with a sentence."""

from __future__ import annotations

import datetime
from dataclasses import replace

import networkx
import numpy
import pandas
import pyarrow
import pytest
import scipy.sparse

import gravel
from gravel.memory import demand_gpu
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import Device

NAN = float("nan")

CASES = {
    "mixed types": (([1, "1"], [2, 3]), TypeError, "mixes types: row 0 is of type int, row 1 of type str"),
    "1 and 1.0": (([1, 1.0], [2, 3]), TypeError, "row 1 of type float.*would 1, 1.0 and '1'"),
    "booleans among numbers": (([1, True], [2, 3]), TypeError, "mixes types"),
    "mixed in pandas": (
        pandas.DataFrame({"source": ["a", 1], "target": ["b", "c"]}),
        TypeError,
        "column 'source' mixes types",
    ),
    "ends of different types": ((["1"], [1]), TypeError, "'source' has strings and column 'target' has int"),
    "1 and 1.0 in two columns": (([1], [1.0]), TypeError, "floating-point numbers"),
    "whole floats": ((numpy.array([1.0]), numpy.array([2.0])), TypeError, "cast them to int64"),
    "booleans": ((numpy.array([True]), numpy.array([False])), TypeError, "of type bool"),
    "null": (([1, None], [2, 3]), ValueError, "'source' is null in row 1"),
    "null string": ((["a", "b", "c"], ["a", None, None]), ValueError, "'target' is null in row 1 and 1 oth"),
    "null in pandas": (
        pandas.DataFrame({"source": ["a", None], "target": ["b", "c"]}),
        ValueError,
        "is null in row 1",
    ),
    "NaN": ((numpy.array([1.0, NAN]), numpy.array([1, 2])), ValueError, "row 1"),
    "NaN in arrow": (pyarrow.table({"a": [NAN, 1.0], "b": [1, 2]}), ValueError, "'a' is NaN in row 0"),
    "nested": (pyarrow.table({"a": [[1]], "b": [[2]]}), TypeError, "of type list"),
    "complex": ((numpy.array([1j]), numpy.array([2j])), TypeError, "no vertex ids"),
    "three columns": (
        pyarrow.table([[1], [2], [3]], names=["a", "b", "c"]),
        ValueError,
        "the columns are a, b, c; the first row is 1, 2, 3. say which",
    ),
    "one column": (
        pyarrow.table({"a": [1]}),
        ValueError,
        "no two columns are known as the ends of edges; the columns are a",
    ),
    "duplicate columns": (
        pyarrow.table([[1], [2], [3]], names=["source", "target", "source"]),
        ValueError,
        "2 columns are called source",
    ),
    "duplicate columns in pandas": (
        pandas.DataFrame([[1, 2, 3]], columns=["source", "source", "target"]),
        ValueError,
        "2 columns are called source",
    ),
    "unequal lengths": (([1], [2, 3]), ValueError, "1 sources and 2 targets"),
    "three ends": ([(1, 2), (1, 2, 3)], ValueError, "edge 1 has 3 ends"),
    "three sequences": (([1], [2], [3]), ValueError, "a tuple of 3 makes no edges"),
    "not square": (scipy.sparse.eye_array(2, 3), ValueError, "2 x 3"),
    "too large": ((numpy.array([2**63], numpy.uint64), [1]), ValueError, "2\\^63 - 1"),
    "no graph": (5, TypeError, "cannot make a graph of int: give"),
    "a list of ids": ([1, 2, 3], ValueError, "a list of 3 makes no edges; give two sequences"),
    "one dimension": (numpy.arange(5), TypeError, r"ndarray of shape \(5,\): give"),
    "beyond 64 bits": ([(1, 2**70)], TypeError, "the targets have an id beyond the integers of 64 bits"),
    "no file": ("no_such_file.csv", FileNotFoundError, "no file 'no_such_file.csv'"),
    "two dimensions": ((numpy.zeros((2, 2), int), numpy.zeros((2, 2), int)), ValueError, "2 dimensions"),
}


@pytest.mark.parametrize("case", CASES)
def test_data(case):
    data, kind, message = CASES[case]
    with pytest.raises(kind, match=message):
        gravel.graph(data)


def test_wrong_arguments_of_measures():
    graph = gravel.graph([(1, 2), (2, 3)])
    with pytest.raises(TypeError, match="hops is 'a'; a whole number is expected"):
        graph.neighbourhood("a")
    for found in (graph.harmonic(), graph.edge_betweenness()):
        with pytest.raises(ValueError, match="count is -1; it must be 0 or more"):
            found.top(-1)


def test_numbers_of_one_are_singular():
    assert "2 vertices, 1 edge, undirected" in repr(gravel.graph([(1, 2)]))
    with pytest.raises(KeyError, match="the nearest is 'a'"):
        gravel.graph([("a", "a")]).bfs("b")


def test_weights_that_are_no_numbers():
    with pytest.raises(TypeError, match=r"weights are of type .* and shape \(1,\); one number for each edge"):
        gravel.graph([(1, 2)], weights=["far"])


def test_null_in_polars():
    frame = pytest.importorskip("polars").DataFrame({"a": [1, None], "b": [1, 2]})
    with pytest.raises(ValueError, match="'a' is null in row 1"):
        gravel.graph(frame)


def test_names_of_columns():
    table = pyarrow.table({"a": [1], "b": [2], "c": [3]})
    with pytest.raises(KeyError, match="there is no column d; the columns are a, b, c"):
        gravel.graph(table, source="d", target="a")
    with pytest.raises(
        ValueError, match="no column is known as the target of edges; the columns are a, b, c"
    ):
        gravel.graph(table, source="a")
    with pytest.raises(ValueError, match="column a cannot be two of source, target and weight"):
        gravel.graph(table, source="a", target="a")
    with pytest.raises(TypeError, match="a tuple has no use for source=: leave it out"):
        gravel.graph(([1], [2]), source="a", target="b")


def test_a_stream_that_fails_midway():
    def batches():
        yield pyarrow.record_batch({"a": [1, 2], "b": [3, 4]})
        raise OSError("the disk is gone")

    schema = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.int64())])
    reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(ValueError, match=r"failed after 2 rows.*the disk is gone"):
        gravel.graph(reader)


def test_too_many_strings(monkeypatch):
    from gravel.conversion import columns

    monkeypatch.setattr(columns, "MAX_TEXTS", 3)
    assert len(gravel.graph((["a", "b"], ["b", "c"]))) == 3
    with pytest.raises(ValueError, match="4 different ids; 3 fit one graph"):
        gravel.graph((["a", "b"], ["d", "c"]))


@pytest.mark.parametrize(
    ("capability", "fake", "cupy", "message"),
    [
        ((5, 2), False, True, "a GPU is asked for, and .* compute capability"),
        ((9, 0), True, True, "a GPU is asked for, and CuPy is not installed"),
        ((9, 0), False, False, "a GPU is asked for, and CuPy is not installed"),
        ((9, 0), False, True, None),
    ],
)
def test_a_gpu_that_cannot_be_used(capability, fake, cupy, message, monkeypatch):
    found = Device("0", "a GPU", 80 << 30, "GPU-0", capability, fake)
    monkeypatch.setattr("gravel.pipeline.core.hardware.find_devices", lambda: (found,))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: "there" if cupy else None)
    if message is None:
        demand_gpu()
    else:
        with pytest.raises(RequestError, match=message):
            demand_gpu()


def test_unknown_sources():
    numbers = gravel.graph(([10, 20, 30], [20, 30, 40]))
    with pytest.raises(KeyError, match=r"21 is no vertex.*nearest are .*20, 30"):
        numbers.bfs(21)
    with pytest.raises(gravel.UnknownVertex) as caught:
        numbers.bfs(21)
    assert 20 in caught.value.nearest
    for step in (1, 10):
        ids = numpy.arange(100, 100 + 9 * step, step)
        with pytest.raises(gravel.UnknownVertex) as caught:
            gravel.graph((ids[:-1], ids[1:]), directed=True).bfs(1000)
        assert list(caught.value.nearest) == ids[-3:].tolist()
    with pytest.raises(gravel.UnknownVertex) as caught:
        gravel.graph((ids[:-1], ids[1:])).bfs(131)
    assert list(caught.value.nearest) == [130, 140, 150]
    with pytest.raises(TypeError, match="ids are integers, such as 10"):
        numbers.bfs("10")
    with pytest.raises(TypeError, match="ids are integers"):
        numbers.bfs(10.0)
    with pytest.raises(KeyError):
        numbers.bfs(2**70)
    assert numbers.bfs(numpy.int32(10)).depth == 3
    texts = gravel.graph((["alice", "bob"], ["bob", "carol"]))
    with pytest.raises(KeyError, match=r"'alise' is no vertex.*'alice'"):
        texts.bfs("alise")
    with pytest.raises(TypeError, match="ids are strings"):
        texts.bfs(1)
    with pytest.raises(TypeError, match="not hashable"):
        texts.bfs(["alice"])
    dates = gravel.graph(([datetime.date(2026, 1, 1)], [datetime.date(2026, 1, 2)]))
    with pytest.raises(KeyError):
        dates.bfs(datetime.date(2027, 1, 1))
    nodes = gravel.graph(networkx.path_graph(["a", ("b", 1)]))
    with pytest.raises(KeyError, match="Python objects"):
        nodes.bfs("b")


def test_unknown_names():
    graph = gravel.graph(([1, 2], [2, 3]))
    with pytest.raises(ValueError, match="bfs strategy 'fast'"):
        graph.bfs(1, strategy="fast")
    with pytest.raises(ValueError, match="output is 'all'"):
        graph.bfs(1, output="all")
    with pytest.raises(ValueError, match="direction is 'up'"):
        graph.bfs(1, direction="up")
    with pytest.raises(ValueError, match="unknown order 'best'"):
        graph.reorder("best")
    with pytest.raises(ValueError, match="unknown layout 'zip'"):
        graph.compress("zip")
    with pytest.raises(ValueError, match="no placement"):
        graph.place("cloud")
    with pytest.raises(ValueError, match="compressed already"):
        graph.compress().compress()
    with pytest.raises(ValueError, match="is compressed"):
        graph.compress().reorder("degree")
    with pytest.raises(ValueError, match="components strategy 'fast'"):
        graph.components(strategy="fast")
    with pytest.raises(ValueError, match="max_depth is -1; it should be greater than or equal to 0"):
        graph.bfs(1, max_depth=-1)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("gravel.pipeline.core.hardware.find_devices", lambda: ())
    graph = gravel.graph(([1], [2]))
    for ask in (lambda: graph.place("pinned"), lambda: gravel.graph(([1], [2]), backend="cuda")):
        with pytest.raises(RequestError, match="a GPU is asked for"):
            ask()


def test_what_cannot_fit_is_refused_with_numbers(monkeypatch):
    ends = numpy.arange(1_000_000), numpy.arange(1, 1_000_001)
    with pytest.raises(gravel.NotEnoughMemory, match=r"1,000,000 edges needs .* MiB .* there are 977 KiB"):
        gravel.graph(ends, host_memory="1MB")
    with pytest.raises(MemoryError):
        gravel.graph(ends, host_memory="100MB")
    graph = gravel.graph(ends)
    monkeypatch.setattr("gravel.memory.available_bytes", lambda: 20 << 20)
    with pytest.raises(RequestError, match=r"a search of 1,000,001 vertices needs .* there are 20 MiB"):
        graph.bfs(0)
    with pytest.raises(MemoryError, match="order degree needs"):
        graph.reorder("degree")


def test_nothing_is_found_from_no_sources():
    graph = gravel.graph([(1, 2), (2, 3)])
    assert len(graph.closeness([])) == len(graph.paths([], [])) == 0
    assert graph.distances([], [1, 2]).array.shape == (0, 2)


def test_pairs_may_be_listed_twice_and_vertices_may_not():
    graph = gravel.graph([(1, 2), (2, 3)])
    assert graph.paths([1, 1], [3, 3]).lengths() == [2, 2]
    for ask in (graph.closeness, lambda some: graph.distances(some, [3])):
        with pytest.raises(ValueError, match="vertex 1 is listed twice"):
            ask([1, 1])


def test_depths_beyond_the_diameter():
    graph = gravel.graph([(1, 2), (2, 3)])
    assert graph.neighbourhood(10**30).values.tolist() == [3, 3, 3]
    assert graph.bfs(1, max_depth=(1 << 31) - 1).reached == 3
    with pytest.raises(
        ValueError, match=r"max_depth is 2147483648; it should be less than or equal to 2147483647"
    ):
        graph.bfs(1, max_depth=1 << 31)
    with pytest.raises(ValueError, match=r"max_depth is -1; it should be greater than or equal to 0"):
        graph.bfs(1, max_depth=-1)
    with pytest.raises(ValueError, match=r"hops is 2.5; it must be a whole number, 0 or more"):
        graph.neighbourhood(2.5)


@pytest.mark.parametrize("weight", [-1, -0.5, float("nan"), float("inf")])
def test_weights_that_no_search_takes(weight):
    with pytest.raises(
        ValueError, match=rf"the edge \(7, 9\) has the weight {weight}; weights must be finite"
    ):
        gravel.graph([(1, 2), (7, 9)], weights=[1, weight])


def test_masked_weights_are_refused_as_masked_ids_are():
    masked = numpy.ma.masked_array([1, 5, 2], [False, True, False])
    with pytest.raises(ValueError, match="column 'source' is null in row 1"):
        gravel.graph((masked, [2, 3, 4]))
    for kind in (int, float, numpy.uint32):
        with pytest.raises(ValueError, match="the weights are null in row 1; an edge needs its weight"):
            gravel.graph(([1, 2, 3], [2, 3, 4]), weights=masked.astype(kind))
    nothing = numpy.ma.masked_array([1, 5, 2], [False, False, False])
    assert gravel.graph(([1, 2, 3], [2, 3, 4]), weights=nothing).distance(1, 4) == 8


def test_weights_that_overflow():
    with pytest.raises(ValueError, match=r"the weight 1e\+39 of edge 1 is beyond what float32 holds"):
        gravel.graph([(1, 2), (7, 9)], weights=[1, 1e39])
    with pytest.raises(ValueError, match="add up to more than uint32 holds, 4294967295"):
        gravel.graph([(1, 2), (1, 2)], weights=[(1 << 32) - 1, 1], duplicates="sum")


def test_a_direction_that_does_not_fit_is_refused_with_the_numbers(monkeypatch):
    graph = gravel.graph([(1, 2), (2, 3)], directed=True)
    monkeypatch.setattr(graph._rows, "host_memory", "50B")
    monkeypatch.setattr(graph._rows, "machine", replace(graph._rows.machine, host_memory=50))
    with pytest.raises(gravel.NotEnoughMemory, match=r"direction in of 2 arcs needs .* there are 50 B"):
        graph.harmonic(direction="in")
