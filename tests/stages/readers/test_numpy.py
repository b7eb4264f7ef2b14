"""NumPy files: (edges, 2) in either memory order, archives by name, never a pickle."""

import io
import os

import numpy
import pytest

from tests.stages.ingest_files import PACK, complains, read, refused

PAIRS = numpy.array([[5, 1], [1, 7], [7, 7]])


def saved(array, **options):
    out = io.BytesIO()
    numpy.save(out, array, **options)
    return out.getvalue()


def archived(save=numpy.savez, **arrays):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["<i8", ">i8", "uint32", "int16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, kind, order):
    path = tmp_path / "g.npy"
    path.write_bytes(saved(numpy.array(PAIRS, kind, order=order)))
    got = read(path)
    assert got.pairs == [tuple(pair) for pair in PAIRS.tolist()]
    assert got.ids == [1, 5, 7]


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_in_many_chunks(tmp_path, order):
    pairs = numpy.random.default_rng(1).integers(0, 1000, (50_000, 2))
    numpy.save(tmp_path / "g.npy", numpy.array(pairs, order=order))
    assert read(tmp_path / "g.npy", memory="16MiB").pairs == [tuple(pair) for pair in pairs.tolist()]


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_npz(tmp_path, save):
    path = tmp_path / "g.npz"
    path.write_bytes(archived(save, source=PAIRS[:, 0], target=PAIRS[:, 1], weight=[1, 2, 3], other=[1]))
    got = read(path)
    assert got.pairs == [tuple(pair) for pair in PAIRS.tolist()]
    assert got.weights == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("suffix", list(PACK))
def test_packed(tmp_path, suffix):
    path = tmp_path / f"g.npy{suffix}"
    path.write_bytes(PACK[suffix](saved(PAIRS)))
    assert len(read(path).pairs) == 3


class Evil:
    def __reduce__(self):
        return os.abort, ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (saved(PAIRS.astype(float)), ["whole numbers"]),
        (saved(PAIRS[:, 0]), ["(3,)", "(edges, 2)"]),
        (saved(numpy.array([[1, -2]])), ["-2", "row 0"]),
        (saved(numpy.empty((0, 2), int)), ["no rows"]),
        (saved(PAIRS)[:-1], ["last row"]),
        (saved(PAIRS)[:20], ["cannot be read"]),
        (saved(numpy.array([[Evil(), Evil()]]), allow_pickle=True), ["whole numbers"]),
        (saved(numpy.zeros(3, [("u", int), ("v", int)])), ["records"]),
        (saved(PAIRS).replace(b"(3, 2)", b"(9999999999999999999, 2)"), ["cannot be read"]),
    ],
)
def test_what_is_wrong_with_npy(tmp_path, data, words):
    complains(refused(tmp_path, "g.npy", data), None, *words)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (archived(source=[1]), ["source", "target"]),
        (archived(source=[1], target=[1, 2]), ["(2,)"]),
        (archived(source=[1.5], target=[1]), ["whole numbers"]),
        (archived(source=[1], target=[1], weight=["x"]), ["numbers"]),
        (archived(source=[1], target=[1])[:-30], ["cannot be read"]),
        (archived(source=numpy.array([Evil()]), target=[1]), ["whole numbers"]),
    ],
)
def test_what_is_wrong_with_npz(tmp_path, data, words):
    complains(refused(tmp_path, "g.npz", data), None, *words)


def test_a_damaged_member_is_told(tmp_path):
    data = bytearray(archived(source=numpy.arange(500), target=numpy.arange(500)))
    data[2000] ^= 0xFF
    complains(refused(tmp_path, "g.npz", bytes(data)), None, "cannot be read")
