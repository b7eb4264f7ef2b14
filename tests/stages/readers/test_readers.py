"""Any bytes at all: a graph comes out, or a StageError that names the file; nothing else, and never NULs."""

import io

import numpy
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from gravel.stages import detection
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.parsing.head import Head
from gravel.stages.readers import FORMATS, Reader, all_readers
from tests.stages.ingest_files import PACK
from tests.stages.test_ingest import SAMPLES

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{doubt}")
    for doubt in ("is read as an edge", "is left out", "look like", "begin with 0")
]


def _binary_samples():
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"source": [1, 2, 3], "target": [2, 3, 4]}), out)
    yield "parquet", out.getvalue()
    out = io.BytesIO()
    table = pyarrow.table({"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [1.0, 2.0, 3.0]})
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    yield "arrow", out.getvalue()
    out = io.BytesIO()
    numpy.savez_compressed(out, source=numpy.arange(9), target=numpy.arange(9))
    yield "numpy", out.getvalue()


VALID = {name: text.encode() for name, text in SAMPLES.items()} | dict(_binary_samples())
EDITS = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 4), st.integers(0, 255)), max_size=4)
INTERESTING = [
    b"-1",
    b"99999999999999999999",
    b"\0",
    b"\n",
    b"1e9",
    b" ",
    b"%",
    b"9223372036854775807",
    b",",
    b"c",
]


def attempt(path, data, form):
    path.write_bytes(data)
    refusal = None
    try:
        edges, ids = ingest(PlainContext(), IngestParameters(file=str(path), format=form, memory="16MiB"))
    except StageError as error:
        refusal = error
    if refusal is not None:
        assert refusal.file == str(path)
        assert refusal.message
        assert "\0" not in str(refusal)
        assert refusal.line is None or refusal.line >= 1
        return
    assert len(edges.source) == len(edges.target)
    assert edges.vertex_count == ids.vertex_count
    if len(edges.source):
        assert max(edges.source.max(), edges.target.max()) < edges.vertex_count


def mutate(data, edits):
    for place, kind, value in edits:
        place %= len(data) + 1
        if kind == 0:
            data = data[:place]
        elif kind == 1:
            data = data[:place] + bytes([value]) + data[place + 1 :]
        elif kind == 2:
            data = data[:place] + INTERESTING[value % len(INTERESTING)] + data[place:]
        elif kind == 3:
            data = data[:place] + data[place + value % 8 :]
        else:
            data = data[place:] + data[:place]
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["auto", *FORMATS]))
@example(b"\xff\xfe1\0", "auto")
@example(b"PK\x03\x04", "numpy")
@example(b"PAR1", "parquet")
@example(b"\x93NUMPY\x01\x00v\x00", "numpy")
def test_any_bytes(folder, data, form):
    attempt(folder / "any", data, form)


@settings(max_examples=60, deadline=None)
@given(st.text('0123456789 ,;\n\t\r-.eapc%#:"x', max_size=120), st.sampled_from(FORMATS), st.booleans())
def test_any_text(folder, text, form, forced):
    name = "any" if forced else f"any{all_readers()[form].suffixes[0]}"
    attempt(folder / name, text.encode(), form if forced else "auto")


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40, deadline=None)
@given(edits=EDITS, pack=st.sampled_from(list(PACK)), late=st.booleans(), named=st.booleans())
def test_mutated_files(folder, form, edits, pack, late, named):
    data = mutate(PACK[pack](VALID[form]), edits) if late else PACK[pack](mutate(VALID[form], edits))
    suffix = all_readers()[form].suffixes[0] if named else ""
    attempt(folder / f"mutated{suffix}{pack}", data, "auto")


def test_what_a_reader_declares_is_all_that_detection_needs(monkeypatch):
    def nothing(*given):
        raise AssertionError("nothing is read")

    marked = Reader("marked", "Marked", 1, (), lambda head: head.data.startswith(b"!"), nothing, nothing)
    later = Reader("later", "Later", 200, (), lambda head: True, nothing, nothing)
    readers = {"marked": marked, **all_readers(), "later": later}
    monkeypatch.setattr(detection, "all_readers", lambda: readers)
    chosen = detection.choose_reader("g.txt", Head(b"!\n1 2\n", whole=True), "g.txt")
    assert chosen.reader is marked
    assert chosen.reason == "its content fits; it would also fit Later"


def test_every_reader_has_a_rank_of_its_own():
    ranks = [reader.rank for reader in all_readers().values()]
    assert ranks == sorted(set(ranks))
