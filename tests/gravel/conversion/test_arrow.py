"""Tables in memory and files of tables: which columns are taken, what is filtered, and what is refused."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import networkx
import numpy
import pandas
import pyarrow
import pytest
from pyarrow import feather, parquet
from scipy import sparse

import gravel
from gravel.pipeline.core.errors import RequestError

PAYMENTS = {
    "when": ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"],
    "payer": ["a", "b", "c", "d"],
    "payee": ["b", "c", "d", "a"],
    "kind": ["paid", "due", None, "paid"],
    "amount": [1.5, 2.0, 3.0, 0.25],
}


def of_polars(columns: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def of_duckdb(columns: Any) -> Any:
    duckdb = pytest.importorskip("duckdb")
    table = pyarrow.table(columns)
    return duckdb.from_arrow(table)


def of_stream(columns: Any) -> Any:
    return pyarrow.table(columns).to_reader(max_chunksize=2)


MAKERS = {
    "pandas": pandas.DataFrame,
    "polars": of_polars,
    "duckdb": of_duckdb,
    "arrow": pyarrow.table,
    "stream": of_stream,
}


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


def ids(graph: gravel.Graph) -> list[Any]:
    return list(graph.vertices.to_pylist())


def distances(graph: gravel.Graph, source: Any) -> list[float]:
    return list(graph.shortest_paths(source).distance.to_numpy().tolist())


@pytest.mark.parametrize(
    "pair",
    [("source", "target"), ("Src", "DST"), ("from", "to"), ("subject", "object"), ("i", "j"), ("u", "end")],
)
def test_known_names(make, pair):
    columns = {"id": [9, 8], pair[1]: [2, 3], pair[0]: [1, 2]}
    assert gravel.graph(make(columns), directed=True).bfs(1).levels == [1, 1, 1]


def test_columns_that_are_not_clear(make):
    with pytest.raises(
        ValueError, match=r"no two columns are known.*kind, amount; the first row is 2026-01-01, a, b"
    ):
        gravel.graph(make(PAYMENTS))
    with pytest.raises(ValueError, match="may be columns u and v or u and to"):
        gravel.graph(make({"u": [1], "v": [2], "to": [3]}))
    with pytest.raises(ValueError, match="no column is known as the target of edges"):
        gravel.graph(make({"u": [1], "a": [2], "b": [3]}))
    with pytest.raises(KeyError, match="there is no column buyer; the columns are when, payer"):
        gravel.graph(make(PAYMENTS), source="buyer", target="payee")


def test_columns_that_are_named(make):
    graph = gravel.graph(make(PAYMENTS), source="payer", target="payee", weights="amount", directed=True)
    assert distances(graph, "a") == [0, 1.5, 3.5, 6.5]
    turned = gravel.graph(make(PAYMENTS), source="payee", target="Payer", directed=True)
    assert turned.bfs("a").path_to("d") == ["a", "d"]


def test_weights_are_looked_at_only_where_they_are_asked_for(make):
    columns = {"u": [1, 2], "v": [2, 3], "cost": [5, 6], "length": [1, 1]}
    assert ids(gravel.graph(make(columns))) == ids(gravel.graph(make(columns), weights=False)) == [1, 2, 3]
    with pytest.raises(ValueError, match="the weight may be column cost or length"):
        gravel.graph(make(columns), weights=True)
    assert distances(gravel.graph(make(columns), weights="cost"), 1) == [0, 5, 11]
    assert distances(gravel.graph(make({**columns, "weight": [2, 2]}), weights=True), 1) == [0, 2, 4]
    with pytest.raises(KeyError, match=r"no column is known as the weight.* the columns are u, v"):
        gravel.graph(make({"u": [1], "v": [2]}), weights=True)
    with pytest.raises(TypeError, match=r"column 'w' holds .*string.*, which is no weight"):
        gravel.graph(make({"u": [1], "v": [2], "w": ["x"]}), weights=True)
    with pytest.raises(ValueError, match=r"the edge \(2, 3\) has the weight nan"):
        gravel.graph(make({"u": [1, 2], "v": [2, 3], "w": [1, None]}), weights=True)


def test_filters(make):
    def kept(text: str, **asked: Any) -> gravel.Graph:
        return gravel.graph(make(PAYMENTS), source="payer", target="payee", filter=text, **asked)

    assert ids(kept("kind == 'paid'")) == ["a", "b", "d"]
    assert ids(kept("kind != 'paid'")) == ["b", "c"]
    assert ids(kept("not (kind == 'paid') or amount < 1")) == ["a", "b", "c", "d"]
    assert ids(kept("when >= '2026-01-02' and amount > 1")) == ["b", "c", "d"]
    assert distances(kept("amount > 1", weights="amount"), "b") == [1.5, 0, 2, 5]
    assert distances(kept("amount > 1", weights=numpy.array([9, 1, 1, 9])), "b") == [9, 0, 1, 2]
    with pytest.raises(ValueError, match="the filter amount > 100 leaves no row of 4"):
        kept("amount > 100")
    with pytest.raises(ValueError, match="there are 1 weights and 4 rows"):
        kept("amount > 1", weights=[1.0])
    with pytest.raises(KeyError, match="there is no column sum for the filter; the columns are when"):
        kept("sum > 1")
    with pytest.raises(ValueError, match="'amount' holds double, which is not compared with 'x'"):
        kept("amount > 'x'")
    with pytest.raises(ValueError, match="position 8 of the filter: found =; expected =="):
        kept("amount = 1")


def test_whole_numbers_are_labels_of_tables():
    frame = pandas.DataFrame([[1, 2, 4.0], [2, 3, 5.0]])
    for number in (int, numpy.int64):
        labels = {"source": number(0), "target": number(1), "weights": number(2)}
        assert distances(gravel.graph(frame, **labels), 1) == [0, 4, 9]
    with pytest.raises(KeyError, match="there is no column 3; the columns are 0, 1, 2"):
        gravel.graph(frame, source=0, target=3)
    with pytest.raises(KeyError, match="there is no column 0; the columns are u, v"):
        gravel.graph(pyarrow.table({"u": [1], "v": [2]}), source=0, target=1)
    pairs = pandas.MultiIndex.from_tuples([("ends", "s"), ("ends", "t"), ("x", "w")])
    several = pandas.DataFrame([[1, 2, 3.0]], columns=pairs)
    named = {"source": ("ends", "s"), "target": ("ends", "t"), "weights": ("x", "w")}
    assert distances(gravel.graph(several, **named), 1) == [0, 3]


def test_names_that_occur_twice_are_refused_where_they_are_used():
    frame = pandas.DataFrame([[1, 2, 3, 4]], columns=["u", "v", "x", "x"])
    assert ids(gravel.graph(frame)) == [1, 2]
    with pytest.raises(ValueError, match="2 columns are called x"):
        gravel.graph(frame, weights="x")
    with pytest.raises(ValueError, match="there are 2 columns x for the filter"):
        gravel.graph(frame, filter="x > 1")


def test_head_and_tail_are_a_pair_without_a_direction(make):
    columns = {"head": [1, 2], "tail": [2, 3], "note": ["x", "y"]}
    assert ids(gravel.graph(make(columns))) == [1, 2, 3]
    with pytest.raises(ValueError, match="do not say which of them is the source: give source= and target="):
        gravel.graph(make(columns), directed=True)
    assert gravel.graph(make(columns), directed=True, source="head", target="tail").bfs(1).depth == 2
    assert gravel.graph(make(columns), directed=True, source="tail", target="head").bfs(3).depth == 2


SERIES = pandas.Series([4.0, 5.0], index=[7, 3])


@pytest.mark.parametrize("data", [pandas.DataFrame({"source": [1, 2], "target": [2, 3]}), ([1, 2], [2, 3])])
@pytest.mark.parametrize(
    "weights",
    [
        SERIES,
        SERIES.tolist(),
        SERIES.to_numpy(),
        pandas.Index(SERIES),
        pyarrow.array(SERIES),
        pyarrow.chunked_array([[4.0], [5.0]]),
        SERIES.to_numpy().astype("float16"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_weights_from_anywhere(data, weights):
    assert distances(gravel.graph(data, weights=weights), 1) == [0, 4, 9]


def test_decimals_are_weights(make):
    amounts = [decimal.Decimal("4.00"), decimal.Decimal("5.50")]
    columns = pyarrow.table({"u": [1, 2], "v": [2, 3], "w": amounts})
    assert distances(gravel.graph(columns, weights=True), 1) == [0, 4, 9.5]


def test_categories_of_polars():
    polars = pytest.importorskip("polars")
    for kind in (polars.Categorical, polars.Enum(["a", "b", "c"])):
        frame = polars.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "n": [1, 2]}).cast(
            {"source": kind, "target": kind}
        )
        assert ids(gravel.graph(frame)) == ["a", "b", "c"]
        assert ids(gravel.graph((frame["source"], frame["target"]))) == ["a", "b", "c"]
        assert ids(gravel.graph(frame, filter="n > 1 and source in ('b', 'a')")) == ["b", "c"]


@pytest.mark.parametrize(
    ("data", "asked", "message"),
    [
        ([(1, 2)], {"source": "a"}, "a list has no use for source="),
        ([(1, 2)], {"filter": "a > 1"}, "a list has no use for filter="),
        ([(1, 2)], {"format": "edge_list"}, "a list has no use for format="),
        ([(1, 2)], {"cache": "folder"}, "a list has no use for cache="),
        ([(1, 2)], {"weights": 1}, "the weights of edges in arrays are an array"),
        ([(1, 2)], {"weights": True}, "the weights of edges in arrays are an array"),
        ([(1, 2)], {"duplicates": "sum"}, "no weights are asked for"),
        (networkx.path_graph(3), {"target": "a"}, "a Graph has no use for target="),
        (networkx.path_graph(3), {"filter": "a > 1"}, "a Graph has no use for filter="),
        (sparse.eye_array(3), {"source": 0}, "a dia_array has no use for source="),
        (sparse.eye_array(3), {"weights": "a"}, "the weights of a sparse matrix are its values"),
        (pandas.DataFrame({"u": [1], "v": [2]}), {"delimiter": ","}, "a DataFrame has no use for delimiter="),
        (pandas.DataFrame({"u": [1], "v": [2]}), {"header": True}, "a DataFrame has no use for header="),
        (pandas.DataFrame({"u": [1], "v": [2]}), {"comment": "#"}, "a DataFrame has no use for comment="),
        (pandas.DataFrame({"u": [1], "v": [2]}), {"ids": "text"}, "a DataFrame has no use for ids="),
        (
            pandas.DataFrame({"u": [1], "v": [2]}),
            {"source": ["u"]},
            r"source= is \['u'\], which names no column",
        ),
    ],
)
def test_arguments_that_data_cannot_use_are_refused(data, asked, message):
    with pytest.raises(TypeError, match=message):
        gravel.graph(data, **asked)


def test_arguments_of_a_graph_are_refused():
    graph = gravel.graph([(1, 2)])
    assert gravel.graph(graph) is gravel.graph(graph, weights=False) is graph
    for asked in ({"directed": True}, {"source": "a"}, {"weights": SERIES}, {"filter": "a > 1"}):
        with pytest.raises(TypeError, match="a Graph has no use for"):
            gravel.graph(graph, **asked)


def test_pairs_and_ends():
    for data in ([(1, 2), (3, 4)], [[1, 2], [3, 4], [1, 2]], [(1, 2), [3, 4], (1, 2)]):
        assert gravel.graph(data).components().of(1).to_pylist() == [1, 2]
    for data in (([1, 2], [3, 4]), ((1, 2), (3, 4)), [numpy.array([1, 2, 1]), numpy.array([3, 4, 3])]):
        assert gravel.graph(data).components().of(1).to_pylist() == [1, 3]
    for data in (
        [[1, 2], [3, 4]],
        [[1, 2, 3], [3, 4, 5]],
        [(1, 2), [3, 4]],
        [numpy.array([1, 2]), numpy.array([3, 4])],
    ):
        with pytest.raises(ValueError, match=r"may be two edges or both ends.*\[\(1, 2\), .*\(\[1, 3\], "):
            gravel.graph(data)


def test_a_text_alone_is_one_id():
    graph = gravel.graph([("a", "b"), ("b", "ab")])
    assert graph.harmonic("ab").to_pandas().vertex.tolist() == ["ab"]
    assert list(graph.paths("ab", "a")) == [["ab", "b", "a"]]
    assert gravel.graph([(1, 2)]).paths(1, iter([2])).lengths() == [1]
    with pytest.raises(ValueError, match="there are 2 sources and 1 targets"):
        graph.paths(["a", "b"], "ab")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (
            lambda: sparse.coo_array(numpy.array([1, 0])),
            ValueError,
            "a sparse array of 1 dimensions is no graph",
        ),
        (lambda: sparse.coo_array(numpy.ones((2, 2, 2))), ValueError, "a sparse array of 3 dimensions"),
        (lambda: (numpy.array([1, 2], "float16"), [2, 3]), TypeError, "cast them to int64"),
        (lambda: (["a\ud800"], ["b"]), ValueError, "which is no text in Unicode"),
        (
            lambda: pandas.DataFrame({"u": pandas.period_range("2024-01", periods=1, freq="M"), "v": ["x"]}),
            TypeError,
            "column 'u' is of type extension<pandas.period.*, which has no vertex ids",
        ),
        (
            lambda: pandas.DataFrame({"u": pandas.interval_range(0, 1), "v": ["x"]}),
            TypeError,
            "column 'u' is of type extension",
        ),
    ],
)
def test_what_no_graph_can_hold_is_one_sentence(data, kind, message):
    with pytest.raises(kind, match=message):
        gravel.graph(data())


def test_a_type_that_arrow_does_not_have():
    polars = pytest.importorskip("polars")
    wide = polars.Series([1], dtype=polars.Int128)
    for data in (polars.DataFrame({"u": wide, "v": wide}), (wide, wide)):
        with pytest.raises(TypeError, match="_pli128"):
            gravel.graph(data)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    table = pyarrow.table({**PAYMENTS, "payer": [1, 2, 3, 4], "payee": [2, 3, 4, 1]})
    parquet.write_table(table, "p.parquet")
    feather.write_feather(table, "p.feather")
    return tmp_path


@pytest.mark.parametrize("cache", [None, False])
@pytest.mark.parametrize("file", ["p.parquet", "p.feather"])
def test_files_of_tables(folder, file, cache):
    ends = {"source": "payer", "target": "payee", "cache": cache}
    assert ids(gravel.graph(file, **ends, filter="kind == 'paid'")) == [1, 2, 4]
    assert distances(gravel.graph(file, **ends, weights="amount", filter="amount > 1"), 1) == [
        0,
        1.5,
        3.5,
        6.5,
    ]
    with pytest.raises(
        ValueError, match="columns are when, payer, payee, kind, amount; the first row is 2026-"
    ):
        gravel.graph(file, cache=cache)
    with pytest.raises(ValueError, match="column 1 is asked for, and the columns of a table are named: when"):
        gravel.graph(file, source=1, target=2, cache=cache)
    with pytest.raises(ValueError, match="the filter amount > 9 leaves no row"):
        gravel.graph(file, **ends, filter="amount > 9")
    with pytest.raises(ValueError, match="has no use for `delimiter`"):
        gravel.graph(file, **ends, delimiter=",")


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({"filter": "a = 1"}, ValueError, "filter: position 3 of the filter: found ="),
        ({"delimiter": "ab"}, ValueError, "delimiter: a delimiter is one character"),
        ({"format": "xls"}, ValueError, "format: unknown format 'xls'"),
        ({"source": 0, "target": 1}, ValueError, "the source is column 0; positions in a file count from 1"),
        ({"source": 1.5}, TypeError, "source= is 1.5, which names no column"),
        ({"weights": [1.0]}, TypeError, "the weights of a file are a column"),
    ],
)
@pytest.mark.parametrize("cache", [None, False])
def test_what_is_asked_of_a_file_is_checked_first(folder, asked, kind, message, cache):
    with pytest.raises(kind, match=message):
        gravel.graph("p.parquet", cache=cache, **asked)


def test_a_graph_that_was_saved_has_no_columns(folder):
    gravel.graph([(1, 2)]).save("saved")
    with pytest.raises(TypeError, match="'saved' is a graph that was saved"):
        gravel.graph("saved", source="a")


def test_a_workflow_and_python_share_what_they_read(folder):
    Path("w.yaml").write_text(
        "workflow: w\nstages:\n  edges:\n    stage: ingest\n    file: p.parquet\n"
        "    columns: {source: payer, target: payee, weight: amount}\n"
        "    filter: kind == 'paid' and 0.2 < amount\n"
        "  graph: {stage: symmetrize, input: edges, weights: minimum}\n"
    )
    asked = {"source": "payer", "target": "payee", "weights": "amount"}
    gravel.graph("p.parquet", **asked, filter="(amount > .2) AND `kind` == 'paid'")
    run = gravel.run("w.yaml", cluster="inline")
    assert {each["state"] for each in run.record["stages"]} == {"cached"}


def test_a_wrong_filter_of_a_workflow_is_an_error_with_its_line(folder):
    Path("w.yaml").write_text(
        "workflow: w\nstages:\n  edges:\n    stage: ingest\n    file: p.parquet\n"
        "    filter: amount = 3\n  graph: {stage: symmetrize, input: edges}\n"
    )
    with pytest.raises(RequestError, match="position 8 of the filter: found =; expected ==") as caught:
        gravel.run("w.yaml", cluster="inline")
    (problem,) = caught.value.problems
    assert problem.location is not None
    assert problem.location.line == 6


@pytest.mark.parametrize("cache", [False, None])
def test_what_is_doubtful_about_a_file_is_a_warning(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "g.csv"
    path.write_text("payer,payee\nalice,bob\n")
    for _ in range(2):  # the second time from the cache
        with pytest.warns(UserWarning, match="is read as an edge") as caught:
            gravel.graph(path, cache=cache)
        assert caught[0].filename == __file__
    assert gravel.graph(path, cache=cache, header=True).vertices.to_pylist() == ["alice", "bob"]
