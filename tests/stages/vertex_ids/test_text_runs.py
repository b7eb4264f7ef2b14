"""Ids that are texts: what is read, under which ids, and what is refused with which words."""

from __future__ import annotations

import csv
import io
import random
import uuid
from itertools import pairwise
from pathlib import Path

import numpy
import pyarrow
import pytest
from pyarrow import parquet

from gravel.pipeline.plugins.conformance import broken_promises
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import STAGE, ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Machine
from gravel.stages.vertex_ids import text_runs


def read(path: Path, **options):
    """Return the edges under the file's ids, the weights, and all ids."""
    context = PlainContext(Machine(backend="cpu", threads=3, host_memory=1 << 32))
    edges, ids = ingest(context, IngestParameters(file=str(path), **options))
    if ids.text is None:
        names = [ids.first + vertex for vertex in range(ids.vertex_count)]
    else:
        assert not broken_promises(ids)
        assert not broken_promises(edges)
        text, offsets = numpy.asarray(ids.text).tobytes(), numpy.asarray(ids.offsets)
        names = [text[begin:end].decode() for begin, end in pairwise(offsets)]
    pairs = [(names[s], names[t]) for s, t in zip(edges.source, edges.target, strict=True)]
    return pairs, None if edges.weight is None else list(edges.weight), names


AB = [("alice", "bob"), ("bob", "carol")]


@pytest.mark.parametrize(
    ("name", "text", "options", "pairs", "weights"),
    [
        ("a.csv", "source,target\nalice,bob\nbob,carol\n", {}, AB, None),
        ("a.csv", "alice,bob\r\nbob,carol\r\n", {}, AB, None),
        ("a.csv", "alice,bob\nbob,carol", {}, AB, None),
        ("a.tsv", "# people\nalice\tbob\nbob\tcarol\n", {}, AB, None),
        ("a.tsv", "New York\tÅrhus, DK\n", {}, [("New York", "Århus, DK")], None),
        ("a.el", "alice   bob\n\n bob carol \n", {}, AB, None),
        ("a.csv", "\ufeffalice;bob\nbob;carol\n", {}, AB, None),
        ("a.csv", "dst,src,w\nbob,alice,1\ncarol,bob,2.5\n", {}, AB, [1, 2.5]),
        ("a.csv", "alice,bob,3\nbob,carol,4\n", {"weights": False}, AB, None),
        ("a.csv", "alice,bob,knows\nbob,carol,likes\n", {"columns": {"source": 1, "target": 2}}, AB, None),
        ("a.csv", 'source,target,weight\n"alice","bob","1"\n"bob","carol","2"\n', {}, AB, [1, 2]),
        ("a.csv", '"a,""b""", c d \n" e ",f\n', {}, [('a,"b"', "c d"), (" e ", "f")], None),
        ("a.csv", "alice,7\n8,bob\n", {"ids": "text"}, [("alice", "7"), ("8", "bob")], None),
        ("a.csv", "1,02\n02,3\n", {"ids": "text"}, [("1", "02"), ("02", "3")], None),
        ("a.csv", "alice,bob\nbob,carol\n", {"header": True}, AB[1:], None),
        ("a.csv", "src,dst\nbob,carol\n", {"header": False}, [("src", "dst"), AB[1]], None),
        ("a.txt", "alice,bob\nbob,carol\n", {"format": "csv"}, AB, None),
        ("a.txt", "alice bob\nbob carol\n", {}, AB, None),
        ("a", "source,target\nalice,bob\nbob,carol\n", {}, AB, None),
        ("a.csv", "who,whom\n1,2\n2,3\n", {}, [(1, 2), (2, 3)], None),
        ("a.csv", "1,2\n2,3\n", {"ids": "integer"}, [(1, 2), (2, 3)], None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as an edge")
def test_lists_of_edges(tmp_path, name, text, options, pairs, weights):
    path = tmp_path / name
    path.write_text(text, newline="")
    found = read(path, **options)
    assert found[:2] == (pairs, weights)
    assert found[2] == sorted({end for pair in pairs for end in pair})


def test_a_first_line_that_may_be_a_header_is_remarked_on(tmp_path):
    (tmp_path / "a.csv").write_text("person,friend\nalice,bob\nbob,alice\n")
    with pytest.warns(UserWarning, match="the first line, 'person,friend', is read as an edge.*header: true"):
        assert len(read(tmp_path / "a.csv")[0]) == 3


MANY = "alice,bob\n" * 3000


@pytest.mark.parametrize(
    ("text", "options", "line", "message", "hint"),
    [
        (b"alice,bob\n,carol\n", {}, 2, "found an empty id in ',carol'", "at least one character"),
        (b'alice,bob\n"",carol\n', {}, 2, "found an empty id", "at least one character"),
        (b"alice,bob\nalice\n", {"ids": "text"}, 2, "has too few columns", None),
        (MANY.encode() + b"alice\n", {}, 3001, "'alice', which has too few columns", None),
        (MANY.encode() + b"a,b,c\n", {}, 3001, "too many columns", None),
        (3 * MANY.encode() + b"a,b\0c\n", {}, 9001, "found a zero byte", None),
        (MANY.encode() + b"a,b\xff\n" + MANY.encode(), {}, 3001, "which is not UTF-8", "iconv"),
        (MANY.encode() + b"a,\xc3\n\xa9,b\n", {}, 3001, "which is not UTF-8", "iconv"),
        (MANY.encode() + b"#a,b\n", {}, 3001, "'#a,b' after the first edge", "put the id in quotes"),
        (MANY.encode() + b'a,"b\nc",d\n', {}, 3001, "whose quote does not end", "line breaks"),
        (MANY.encode() + b'a,"b"c\n', {}, 3001, "something follows a quote", "written twice"),
        (MANY.encode() + b"a," + b"b" * 65536 + b"\n", {}, 3001, "more than 65,535 bytes", "another"),
        (b"alice,bob,1\nbob,carol,x\n", {}, 2, "found 'x' where a weight belongs", "weights: false"),
        (b"1,2\n2,3x\n3,4\n", {}, 2, "found '3x' where a whole number belongs", "set `ids: text`"),
        (b"alice,1\nbob,2\n", {}, 1, "found 'alice' where a whole number belongs", "set `ids: text`"),
        (b"1,2\n" * 30000 + b"3,x\n", {}, 30001, "found 'x' where a whole number belongs", "`ids: text`"),
        (b"# Nodes: 3 Edges: 3\nalice\tbob\nbob\tcarol\n", {}, 3, "says 3 edges; 2 were found", "truncated"),
        (b"alice,bob\n", {"ids": "integer"}, 1, "found 'alice' where a whole number belongs", None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as an edge")
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, options, line, message, hint):
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    with pytest.raises(StageError) as caught:
        read(path, **options)
    assert caught.value.line == line
    assert message in caught.value.message
    assert hint is None or hint in caught.value.hint


@pytest.mark.parametrize(
    "text", ["hello world\n", "to be or\nnot to be, that\n", "one\ntwo\n", "a b c d\ne f g h\n"]
)
def test_prose_is_no_graph(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(StageError, match="the format is not recognised"):
        read(path)


def test_formats_with_numbers_never_have_texts(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\na b\n")
    with pytest.raises(StageError, match="where a whole number belongs"):
        read(path)
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    with pytest.raises(StageError, match="read as MatrixMarket, which has no use for `ids`"):
        read(path, ids="text")


UUIDS = [uuid.UUID(int=5), uuid.UUID(int=1 << 127)]
NAMES = ["00000000-0000-0000-0000-000000000005", "80000000-0000-0000-0000-000000000000"]
DAYS = ["2024-02-29", "1999-01-01"]


@pytest.mark.parametrize(
    ("source", "target", "pairs"),
    [
        (["alice", "bob"], ["bob", "carol"], AB),
        (pyarrow.array(["alice", "bob"]).dictionary_encode(), ["bob", "carol"], AB),
        ([b"alice", b"bob"], ["bob", "carol"], AB),
        (
            pyarrow.array(UUIDS, pyarrow.uuid()),
            [str(each) for each in UUIDS],
            [(str(each), str(each)) for each in UUIDS],
        ),
        (numpy.array(DAYS, "M8[D]"), DAYS, [(day, day) for day in DAYS]),
    ],
)
@pytest.mark.parametrize("names", [("source", "target"), ("Src", "dst")])
def test_parquet(tmp_path, source, target, pairs, names):
    columns = [
        each if hasattr(each, "dtype") or hasattr(each, "type") else list(each) for each in (source, target)
    ]
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({**dict(zip(names, columns, strict=True)), "weight": [1, 2]}), path)
    assert read(path)[:2] == (pairs, [1, 2])


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (["a", None], ["b", "c"], r"row 1 \(from 0\) has no 'source'"),
        (["a", "b"], ["b", ""], r"row 1 \(from 0\) of 'target' is empty"),
        (["a", "b\0"], ["b", "c"], r"row 1 \(from 0\) of 'source' has a zero byte"),
        ([b"a", b"\xff"], ["b", "c"], r"row 1 \(from 0\) of 'source' is .* not UTF-8"),
        (["a", "b" * 65536], ["b", "c"], r"row 1 .* has 65,536 bytes"),
        ([1, 2], ["b", "c"], "column target holds string; expected whole numbers"),
        ([1.5, 2], ["b", "c"], "column source holds double; expected whole numbers"),
    ],
)
def test_parquet_that_holds_no_ids(tmp_path, source, target, message):
    parquet.write_table(pyarrow.table({"source": source, "target": target}), tmp_path / "a.parquet")
    with pytest.raises(StageError, match=message):
        read(tmp_path / "a.parquet")


def test_a_chunk_without_edges_changes_nothing(tmp_path):
    table = pyarrow.table({"source": ["alice"], "target": ["bob"]})
    with parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0), table):
            writer.write_table(part)
    assert read(tmp_path / "a.parquet")[0] == [("alice", "bob")] * 2


def test_numpy(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.array(AB))
    assert read(tmp_path / "a.npy")[0] == AB
    source, target = zip(*AB, strict=True)
    numpy.savez(tmp_path / "a.npz", source=numpy.array(source), target=numpy.array(target), weight=[1, 2])
    assert read(tmp_path / "a.npz")[:2] == (AB, [1, 2])
    numpy.savez(tmp_path / "a.npz", source=numpy.array(source), target=numpy.arange(2))
    with pytest.raises(StageError, match="source holds '<U5'; expected whole numbers"):
        read(tmp_path / "a.npz")
    assert read(tmp_path / "a.npz", ids="text")[0] == [("alice", "0"), ("bob", "1")]
    with pytest.raises(StageError, match="expected whole numbers"):
        read(tmp_path / "a.npy", ids="integer")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore:.*is read as an edge")
def test_what_is_read_is_what_pythons_csv_reads(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    letters, count = chance.choice(["ab", 'aé𝔘", ;', "xyz#%"]), chance.choice([2, 40, 3000])
    quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    names = ["".join(chance.choices(letters, k=1 + n % 31)) for n in range(count)]
    if quoting == csv.QUOTE_MINIMAL:  # blanks around an id and a comment's mark are meant only within quotes
        names = [f"x{name}x" for name in names]
    rows = [(chance.choice(names), chance.choice(names)) for _ in range(chance.choice([1, 50, 20_000]))]
    out = io.StringIO()
    end, delimiter = chance.choice(["\n", "\r\n"]), chance.choice(",;\t")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("source", "target"), *rows])
    path = tmp_path / "a.csv"
    path.write_text(out.getvalue(), newline="")
    # Sets of texts that are too small for the file are written as runs, and merged.
    limit = chance.choice([1, 1 << 20, None])
    if limit is not None:
        make = text_runs.TextRuns.__init__

        def small(self, folder, memory):
            make(self, folder, memory)
            self._limit = limit

        monkeypatch.setattr(text_runs.TextRuns, "__init__", small)
    assert read(path, memory="16MiB", ids="text")[0] == rows


def test_runs_are_merged_in_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_runs, "LEAST_BLOCK", 200)
    runs = text_runs.TextRuns(tmp_path, 2)
    chance = random.Random(1)
    rows, found = [], []
    for _ in range(12):
        part = [f"{chance.randrange(500):x}".encode() for _ in range(60)]
        offsets = numpy.cumsum([0, *map(len, part)]).astype(numpy.int64)
        texts = text_runs.Texts(numpy.frombuffer(b"".join(part), numpy.uint8), offsets)
        number, codes = runs.add(texts)
        runs.added(number)
        rows.append(part)
        found.append((number, codes))
    runs.finish()
    table = [block.item(place) for block in runs.blocks() for place in range(block.size)]
    assert table == sorted({each for part in rows for each in part})
    assert len({number for number, _ in found}) == 12
    for part, (number, codes) in zip(rows, found, strict=True):
        assert [table[rank] for rank in runs.ranks(number)[codes]] == part
    runs.close()


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy"])
def test_a_plan_says_that_the_cpu_reads_texts(tmp_path, name):
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("source,target\n" + MANY)
    elif name == "a.npy":
        numpy.save(path, numpy.array(AB))
    else:
        parquet.write_table(pyarrow.table({"source": ["alice"], "target": ["bob"]}), path)
    machine = Machine("cuda", 2, 1 << 34, 1 << 34)
    need = STAGE.estimate(IngestParameters(file=str(path)), {}, machine)
    assert (need.device_bytes, need.note) == (0, "ids are texts, which the CPU reads")
    assert need.host_bytes < 1 << 30
