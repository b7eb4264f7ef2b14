"""MatrixMarket: what is a graph is read, what is none is refused with its line."""

import numpy
import pytest
import scipy.io
import scipy.sparse

from tests.stages.ingest_files import complains, read, read_text, refused

HEAD = "%%MatrixMarket matrix coordinate "


@pytest.mark.parametrize(
    ("kind", "body", "weights"),
    [
        ("pattern general", "1 3\n3 2\n", None),
        ("real general", "1 3 0.5\n3 2 -2e3\n", [0.5, -2000.0]),
        ("integer general", "1 3 4\n3 2 0\n", [4.0, 0.0]),
        ("unsigned-integer general", "1 3 4\n3 2 18446744073709551615\n", [4.0, 2.0**64]),
        ("pattern symmetric", "1 3\n3 2\n", None),
        ("REAL Symmetric", "1 3 1\n3 2 2\n", [1.0, 2.0]),
    ],
)
def test_kinds(tmp_path, kind, body, weights):
    got = read_text(tmp_path, "m.mtx", f"{HEAD}{kind}\n% comment\n\n%%more\n4 4 2\n{body}")
    assert got.pairs == [(1, 3), (3, 2)]
    assert got.ids == [1, 2, 3, 4]
    assert got.weights == weights
    assert got.undirected == kind.lower().endswith("symmetric")


def test_no_entries(tmp_path):
    got = read_text(tmp_path, "m.mtx", HEAD + "pattern general\n3 3 0\n")
    assert (got.pairs, got.ids) == ([], [1, 2, 3])


def test_weights_can_be_left(tmp_path):
    assert read_text(tmp_path, "m.mtx", HEAD + "real general\n2 2 1\n1 2 x\n", weights=False).weights is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HEAD + "complex general\n2 2 1\n1 2 1 0\n", 1, ["complex"]),
        (HEAD + "complex hermitian\n2 2 1\n1 2 1 0\n", 1, ["complex"]),
        (HEAD + "pattern hermitian\n2 2 1\n1 2\n", 1, ["hermitian"]),
        (HEAD + "real skew-symmetric\n2 2 1\n2 1 1\n", 1, ["skew-symmetric"]),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", 1, ["dense"]),
        ("%%MatrixMarket vector coordinate real general\n2 2 1\n1 1 1\n", 1, ["vector"]),
        ("%%MatrixMarket matrix coordinate real\n2 2 1\n", 1, ["4 words"]),
        (HEAD + "real general\n% c\n3 4 1\n1 1 1\n", 3, ["3 rows", "4 columns"]),
        (HEAD + "real general\n3 3\n1 1 1\n", 2, ["size line"]),
        (HEAD + "real general\n", 1, ["ends before its size line"]),
        (HEAD + "pattern general\n3 3 2\n1 1\n", 3, ["2 entries", "1 were found"]),
        (HEAD + "pattern general\n3 3 1\n1 1\n2 2\n", 4, ["1 entries", "more than"]),
        (HEAD + "pattern general\n3 3 1\n0 1\n", 3, ["'0'", "1 to 3"]),
        (HEAD + "pattern general\n3 3 2\n1 1\n1 4\n", 4, ["'4'", "1 to 3"]),
        (HEAD + "pattern general\n3 3 1\n1 -1\n", 3, ["negative"]),
        (HEAD + "real general\n3 3 1\n1 1\n", 3, ["too few"]),
        (HEAD + "pattern general\n3 3 1\n1 1 1\n", 3, ["too many"]),
        (HEAD + "real general\n3 3 1\n1 1 pi\n", 3, ["'pi'"]),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    complains(refused(tmp_path, "m.mtx", text), line, *words)


@pytest.mark.parametrize("before", ["%", " %%", "", "% % ", "\ufeff %%", "\n%%", "%%%"])
@pytest.mark.parametrize("name", ["m.mtx", "m.txt"])
def test_a_banner_that_is_written_wrongly_is_told(tmp_path, before, name):
    text = f"{before}MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n"
    error = refused(tmp_path, name, text)
    complains(error, 1, "a MatrixMarket file starts with %%MatrixMarket")
    assert "two %" in (error.hint or "")


def test_unsigned_matrices_of_scipy(tmp_path):
    for dtype in (numpy.uint8, numpy.uint32, numpy.uint64):
        matrix = scipy.sparse.coo_array(numpy.array([[0, 3], [0, 0]], dtype))
        scipy.io.mmwrite(tmp_path / "m.mtx", matrix)
        assert read(tmp_path / "m.mtx").weights == [3]


def test_a_missing_banner_is_told(tmp_path):
    complains(refused(tmp_path, "m.mtx", "3 3 1\n1 1\n", format="mtx"), 1, "%%MatrixMarket")
