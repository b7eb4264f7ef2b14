"""Parameters of tables and texts are refused where a format, or a generator, has no use for them."""

from __future__ import annotations

import numpy
import pytest
from pydantic import ValidationError

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.readers import all_readers

PARAMETERS = {
    "columns": {"source": "a", "target": "b"},
    "filter": "a > 0",
    "delimiter": ",",
    "header": True,
    "comment": "!",
    "ids": "text",
}
FILES = {
    "metis": ("g.graph", b"2 1\n2\n1\n"),
    "matrix_market": ("g.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"),
    "dimacs": ("g.gr", b"p sp 2 1\na 1 2 1\n"),
    "pace": ("g.gr", b"p tw 2 1\n1 2\n"),
    "lightgraphs": ("g.lg", b"2,1,u,g,Int64,simplegraph\n1,2\n"),
    "webgraph": ("g.graph-txt", b"2\n1\n\n"),
}


def test_every_format_says_what_it_takes():
    takes = {reader.name: set(reader.takes) for reader in all_readers().values()}
    assert takes.pop("edge_list") == set(PARAMETERS)
    assert takes.pop("parquet") == takes.pop("arrow") == {"columns", "filter", "ids"}
    assert takes.pop("numpy") == {"ids"}
    assert takes == {name: set() for name in FILES}


@pytest.mark.parametrize("name", list(PARAMETERS))
@pytest.mark.parametrize("format", [*FILES, "numpy"])
def test_what_a_format_cannot_use_is_refused(tmp_path, format, name):  # noqa: A002
    if format == "numpy":
        path = tmp_path / "g.npy"
        numpy.save(path, numpy.array([[1, 2]]))
        if name == "ids":
            return
    else:
        path = tmp_path / FILES[format][0]
        path.write_bytes(FILES[format][1])
    asked = {"file": str(path), "format": format}
    assert len(ingest(PlainContext(), IngestParameters(**asked))[0].source)
    with pytest.raises(StageError, match=f"has no use for `{name}`") as caught:
        ingest(PlainContext(), IngestParameters(**asked, **{name: PARAMETERS[name]}))
    assert caught.value.file == str(path)


@pytest.mark.parametrize("name", list(PARAMETERS))
def test_what_a_generator_cannot_use_is_refused(name):
    with pytest.raises(ValidationError, match=f"`{name}` is of files"):
        IngestParameters(source={"rmat": {"scale": 4}}, **{name: PARAMETERS[name]})


def test_equal_filters_are_equal_parameters():
    one = IngestParameters(file="a", filter="kind=='paid' and 0 < amount")
    other = IngestParameters(file="a", filter="(amount > 0) AND (kind == 'paid')")
    assert one == other == IngestParameters(**one.model_dump())
    for wrong in ("amount >", "amount = 1", 5, ["amount", ">", 0]):
        with pytest.raises(ValidationError):
            IngestParameters(file="a", filter=wrong)
