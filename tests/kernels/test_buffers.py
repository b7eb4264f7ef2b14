"""Tables of arrays: what they take, and what is made from them."""

import numpy
import pytest

from gravel.kernels.bfs import buffers as bfs
from gravel.kernels.buffers import GRAIN, Buffer, make, total, vertex_type
from gravel.kernels.strategy import strategies_in


def test_arrays_are_those_of_the_table() -> None:
    table = (
        Buffer("labels", "i4", 5, fill=-1),
        Buffer("keys", "u8", 3, fill=(1 << 64) - 1),
        Buffer("counts", "u8", (2, 4), fill=0),
        Buffer("queue", "u4", 7),
    )
    made = make(table, numpy)
    assert list(made) == ["labels", "keys", "counts", "queue"]
    assert (made["labels"] == -1).all()
    assert (made["keys"] == numpy.uint64((1 << 64) - 1)).all()
    assert made["counts"].shape == (2, 4)
    assert not made["counts"].any()
    assert made["queue"].dtype == numpy.uint32
    assert [array.nbytes for array in made.values()] == [20, 24, 64, 28]


def test_a_table_takes_what_its_largest_phase_does() -> None:
    table = (
        Buffer("kept", "u1", 10 * GRAIN),
        Buffer("read", "u1", 7 * GRAIN, phases=("reading",)),
        Buffer("searched", "u1", 4 * GRAIN + 1, phases=("searching", "telling")),
        Buffer("told", "u1", 3 * GRAIN, phases=("telling",)),
        Buffer("here", "i8", 100, place="host", touched=25),
    )
    assert total(table) == (10 + 5 + 3) * GRAIN
    assert total(table, "host") == 200
    assert total(table, "pinned") == total((), "device") == 0


SEARCHES = strategies_in("gravel.kernels.bfs")


@pytest.mark.parametrize("name", [name for name, each in SEARCHES.items() if each.cuda])
def test_a_search_of_an_empty_graph_takes_little(name: str) -> None:
    assert total(bfs.on_device(name, bfs.Size(0, 0))) < 2 * bfs.BLOCK_QUEUE_BYTES


def test_a_search_of_rows_elsewhere_takes_labels_and_bitmaps() -> None:
    assert total(bfs.elsewhere(bfs.Size(0, 0, 32))) < 1 << 21
    assert 16 << 24 < total(bfs.elsewhere(bfs.Size(1 << 24, 1 << 29, 32))) < 20 << 24


def test_types_grow_with_the_vertices() -> None:
    assert [vertex_type(n) for n in (0, (1 << 32) - 1, 1 << 32)] == ["u4", "u4", "u8"]
    assert [bfs.predecessor_type(n) for n in (0, (1 << 31) - 1, 1 << 31)] == ["i4", "i4", "i8"]
