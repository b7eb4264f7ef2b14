"""Tables of Arrow's types, in Parquet, Feather and streams: columns, filters, and what cannot be an edge."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest
from pyarrow import ipc, parquet

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.filters import parse
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.parsing.head import Head
from gravel.stages.readers import Reading, all_readers
from gravel.stages.streams import open_stream
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from tests.stages.ingest_files import PACK, complains, read, refused


def write(path: Path, table: Any) -> Path:
    """Write a table in the format that the name says, in batches of two rows."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=2)
        return path
    opened = ipc.new_file if path.suffix in (".feather", ".arrow") else ipc.new_stream
    options = ipc.IpcWriteOptions(compression="lz4" if path.suffix == ".feather" else None)
    with opened(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


NAMES = ("g.parquet", "g.feather", "g.arrow", "g.ipc")


@pytest.fixture(params=NAMES)
def made(request, tmp_path):
    """Return a function that writes columns as a file of each format, and gives its path."""

    def make(**columns: Any) -> Path:
        return write(tmp_path / request.param, pyarrow.table(columns))

    return make


@pytest.mark.parametrize(
    "pair",
    [
        ("source", "target"),
        ("src", "dst"),
        ("From", "TO"),
        ("u", "v"),
        ("subject", "object"),
        ("from", "target"),
    ],
)
def test_known_names(made, pair):
    got = read(made(id=[90, 80, 70], **{pair[0]: [1, 2, 3], pair[1]: [2, 3, 1]}, cost=[1, 2, 3]))
    assert (got.pairs, got.weights) == ([(1, 2), (2, 3), (3, 1)], [1.0, 2.0, 3.0])
    kind = next(line for line in got.log if line.startswith("read g."))
    assert kind.endswith(f"; source {pair[0]}, target {pair[1]}, weight cost; left out: id")


def test_two_columns_are_the_ends(made):
    assert read(made(payer=[4, 5, 6], payee=[5, 6, 4])).pairs == [(4, 5), (5, 6), (6, 4)]


@pytest.mark.parametrize(
    ("options", "columns", "words", "hint"),
    [
        ({}, "xyz", ["no two columns are known", "x, y, z", "the first row is 1, 1, 1"], "--columns source="),
        ({}, "xuy", ["no column is known as the target", "the first row is 1, 1, 1"], "--columns"),
        ({}, ["src", "dst", "from", "to"], ["may be columns src and dst or src and to"], "--columns"),
        ({}, ["u", "v", "cost", "length"], ["the weight may be column cost or length"], "weights: false"),
        ({"columns": {"source": "p"}}, "uvq", ["there is no column p; the columns are u, v, q"], "name one"),
        (
            {"columns": {"source": 1, "target": 2}},
            "uv",
            ["column 1 is asked for", "are named: u, v"],
            "positions",
        ),
        (
            {"columns": {"source": "u", "target": "u"}},
            "uv",
            ["cannot be two of source, target and weight"],
            "",
        ),
        ({"filter": "w > 0"}, "uv", ["there is no column w for the filter; the columns are u, v"], "correct"),
        ({"filter": "u == 'a'"}, "uv", ["'u' holds int64, which is not compared with 'a'"], ""),
        ({"filter": "u > 7"}, "uv", ["the filter u > 7 leaves no row: no edge was found"], "remove `filter`"),
        ({"delimiter": ","}, "uv", ["which has no use for `delimiter`"], "leave it out"),
        ({"header": True}, "uv", ["which has no use for `header`"], "leave it out"),
        ({"comment": "!"}, "uv", ["which has no use for `comment`"], "leave it out"),
    ],
)
def test_what_is_not_clear_is_refused(tmp_path, options, columns, words, hint):
    for name in NAMES:
        data = write(tmp_path / name, pyarrow.table({each: [1, 2] for each in columns})).read_bytes()
        error = refused(tmp_path, name, data, **options)
        complains(error, None, *words)
        assert hint in (error.hint or "")


def test_names_that_occur_twice_are_refused_only_where_they_are_used(tmp_path):
    arrays = [pyarrow.array([1, 2]), pyarrow.array([2, 3]), pyarrow.array([7, 7]), pyarrow.array([8, 8])]
    for name in ("g.arrow", "g.ipc"):
        path = write(tmp_path / name, pyarrow.Table.from_arrays(arrays, ["u", "v", "x", "x"]))
        assert read(path).pairs == [(1, 2), (2, 3)]
        with pytest.raises(StageError, match="2 columns are called x"):
            read(path, columns={"weight": "x"})
        with pytest.raises(StageError, match="there are 2 columns x for the filter"):
            read(path, filter="x > 1")


def test_columns_that_are_asked_for(made):
    path = made(when=["a", "b", "c"], payer=[1, 2, 3], payee=[2, 3, 1], amount=[0.5, 1.5, 2.5])
    columns = {"source": "payer", "target": "payee", "weight": "amount"}
    got = read(path, columns=columns)
    assert (got.pairs, got.weights) == ([(1, 2), (2, 3), (3, 1)], [0.5, 1.5, 2.5])
    assert read(path, columns={"source": "payee", "target": "payer"}).pairs[0] == (2, 1)
    with pytest.raises(StageError, match="the weight is column amount, and weights are false"):
        read(path, columns=columns, weights=False)


def test_filters_leave_rows_out(made):
    path = made(
        u=[1, 2, 3, 4],
        v=[2, 3, 4, 5],
        kind=pyarrow.array(["paid", None, "paid", "due"]).dictionary_encode(),
        amount=pyarrow.array([decimal.Decimal("0.10"), decimal.Decimal(5), None, decimal.Decimal(7)]),
    )
    for text, kept in (
        ("kind == 'paid'", [1, 3]),
        ("kind != 'paid'", [4]),
        ("not (amount > 1)", [1]),
        ("amount is null or kind in ('due')", [3, 4]),
        ("U > 1 and `v` < 5", [2, 3]),
    ):
        got = read(path, filter=text, weights=False)
        assert [source for source, _ in got.pairs] == kept, text


def test_ids_that_are_texts_are_filtered(tmp_path):
    for name in NAMES:
        for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
            ends = pyarrow.array(["a", "b", "c"], kind), pyarrow.array(["b", "c", "a"], kind)
            path = write(tmp_path / name, pyarrow.table({"from": ends[0], "to": ends[1], "n": [1, 2, 3]}))
            context = PlainContext()
            edges, ids = ingest(context, IngestParameters(file=str(path), filter="n > 1"))
            assert bytes(numpy.asarray(ids.text)) == b"abc"
            assert len(edges.source) == 2


def test_a_stream_and_a_file_are_told_apart_by_their_content(tmp_path):
    path = write(tmp_path / "g.ipc", pyarrow.table({"u": [1, 2], "v": [2, 3]}))
    for name in ("h.arrow", "h.feather", "h", "h.arrow.gz"):
        (tmp_path / name).write_bytes(PACK[".gz" if name.endswith(".gz") else ""](path.read_bytes()))
        assert read(tmp_path / name).pairs == [(1, 2), (2, 3)]
    assert read(path, format="feather").pairs == [(1, 2), (2, 3)]


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_one_sentence(tmp_path, name):
    ends = numpy.arange(1000)
    data = write(tmp_path / name, pyarrow.table({"source": ends, "target": ends})).read_bytes()
    for bad in (data[: len(data) // 2], data[:40], data[:30] + b"\xff" * 400 + data[430:]):
        complains(refused(tmp_path, name, bad), None, "cannot be read")


def test_ends_of_which_none_is_the_source(made):
    path = made(head=[1, 2], tail=[2, 3])
    edges, _ = ingest(PlainContext(), IngestParameters(file=str(path)))
    assert edges.ends_unordered
    assert symmetrize(PlainContext(), SymmetrizeParameters(), input=edges).arc_count == 4
    for direction in ("as_given", "reverse"):
        with pytest.raises(StageError, match="do not say which of them it is"):
            symmetrize(PlainContext(), SymmetrizeParameters(direction=direction), input=edges)
    columns = {"source": "head", "target": "tail"}
    edges, _ = ingest(PlainContext(), IngestParameters(file=str(path), columns=columns))
    directed = symmetrize(PlainContext(), SymmetrizeParameters(direction="as_given"), input=edges)
    assert numpy.asarray(directed.row_offsets).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_one_text(tmp_path, name):
    path = write(tmp_path / name, pyarrow.table({"u": [1, 2], "v": [2, 3]}))
    context = PlainContext()

    def edges(constants: dict[str, str], **asked: Any) -> list[Any]:
        parameters = IngestParameters(file=str(path), **asked)
        with open_stream(str(path)) as stream:
            reading = Reading(
                stream,
                tmp_path,
                1,
                1 << 20,
                True,
                context.log,
                context.remark,
                context.note,
                columns=parameters.asked_columns,
                constants=constants,
                filter=None if parameters.filter is None else parse(parameters.filter),
            )
            reader = all_readers()["parquet" if name == "g.parquet" else "arrow"]
            chunks = list(reader.read(reading)[1])
            return [tuple(None if each is None else each.tolist() for each in chunk[:3]) for chunk in chunks]

    days = {"day": "2026-01-02", "shop": "7"}
    assert edges(days, filter="day > '2026-01-01' and u > 1") == [([2], [3], None)]
    assert edges(days, columns={"source": "u", "target": "shop"}) == [([1, 2], [7, 7], None)]
    assert edges(days, columns={"weight": "shop"}) == [([1, 2], [2, 3], [7.0, 7.0])]
    with pytest.raises(StageError, match="leaves no row"):
        edges(days, filter="day > '2026-01-03'")
    with pytest.raises(StageError, match="column day holds a text; expected whole numbers"):
        edges(days, columns={"source": "u", "target": "day"})
    with pytest.raises(StageError, match="holds 'x', and the filter compares it with a time"):
        edges({"day": "x"}, filter="day > '2026-01-01'")
    # Known names are looked for among the columns of the file.
    assert edges({"weight": "3", "from": "9"}) == [([1, 2], [2, 3], None)]


def test_planning_knows_at_most_how_many_edges_come(tmp_path):
    for name in NAMES:
        path = write(tmp_path / name, pyarrow.table({"u": range(5), "v": range(1, 6)}))
        reader = all_readers()["parquet" if name == "g.parquet" else "arrow"]
        with open_stream(str(path)) as stream:
            counts = reader.counts(Head(stream.peek(4096), whole=True), str(path))
        assert counts is not None
        assert counts.edges is not None
        assert counts.edges >= 5
