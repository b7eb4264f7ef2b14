"""Many files that are one graph: the same as one file of all their lines, whatever their order."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.stages import many_files
from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.context import Part, PlainContext, digest_of
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import LEAST_MEMORY, IngestParameters
from gravel.stages.many_files import path_columns
from gravel.stages.sizes import Machine
from gravel.stages.vertex_ids import pieces
from tests.stages.ingest_files import PACK

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 32)


class Remarks(PlainContext):
    """Keeps remarks apart from the log."""

    def __init__(self) -> None:
        super().__init__(MACHINE)
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        self.remarks.append(message)


def read(context: PlainContext | None = None, **options: Any) -> tuple[EdgeList, VertexIds]:
    return ingest(context or Remarks(), IngestParameters(**options))


def edges_of(made: tuple[EdgeList, VertexIds]) -> list[tuple[Any, ...]]:
    """Return the edges by their ids, with weights, in order."""
    edges, vertices = made
    if vertices.text is not None and vertices.offsets is not None:
        text, ends = bytes(vertices.text), list(vertices.offsets)
        ids: list[Any] = [text[a:b].decode() for a, b in itertools.pairwise(ends)]
    elif vertices.ids is not None:
        ids = list(numpy.asarray(vertices.ids))
    else:
        ids = list(range(vertices.first, vertices.first + vertices.vertex_count))
    columns = [[ids[end] for end in edges.source], [ids[end] for end in edges.target]]
    if edges.weight is not None:
        columns.append(list(edges.weight))
    return sorted(zip(*columns, strict=True))


def parts(folder: Path, count: int, line: Any, *, lines: int = 50, suffix: str = "") -> list[str]:
    """Write part files, and one of all their lines; returns the names of the parts."""
    folder.mkdir(exist_ok=True)
    drawn, whole, names = random.Random(5), [], []
    for number in range(count):
        text = "".join(f"{line(drawn)}\n" for _ in range(lines))
        whole.append(text)
        names.append(str(folder / f"part-{number}.txt{suffix}"))
        Path(names[-1]).write_bytes(PACK[suffix](text.encode()))
    folder.with_suffix(".whole").write_text("".join(whole))
    return names


LINES = {
    "dense": lambda drawn: f"{drawn.randrange(90)} {drawn.randrange(90)}",
    "from anywhere": lambda drawn: f"{drawn.randrange(1 << 62)} {drawn.randrange(10)}",
    "texts": lambda drawn: f"user-{drawn.randrange(60)} ü{drawn.randrange(60)}",
    "weighted": lambda drawn: f"{drawn.randrange(9)} {drawn.randrange(9)} {drawn.randrange(99) / 8}",
}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("count", [2, 9])
def test_parts_are_the_graph_of_all_their_lines(tmp_path, kind, count):
    names = parts(tmp_path / "parts", count, LINES[kind])
    made = read(files=names)
    assert edges_of(made) == edges_of(read(file=str(tmp_path / "parts.whole")))
    assert len(made[0].source) == 50 * count


@pytest.mark.parametrize("kind", ["texts", "weighted"])
def test_the_order_of_files_changes_nothing(tmp_path, kind):
    names = parts(tmp_path / "parts", 9, LINES[kind])
    edges, ids = read(files=names)
    for order in (names[::-1], random.Random(1).sample(names, 9)):
        other, others = read(files=order)
        for name in ("source", "target", "weight"):
            assert numpy.array_equal(getattr(edges, name), getattr(other, name))
        assert ids.vertex_count == others.vertex_count


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_parts_may_be_compressed(tmp_path, suffix):
    made = read(files=parts(tmp_path / "parts", 3, LINES["dense"], suffix=suffix))
    assert edges_of(made) == edges_of(read(file=str(tmp_path / "parts.whole")))


def test_a_file_that_is_listed_twice_counts_twice_and_says_so(tmp_path):
    names = parts(tmp_path / "parts", 2, LINES["dense"])
    context = Remarks()
    twice = edges_of(read(context, files=[*names, names[0]]))
    once = edges_of(read(files=names))
    assert len(twice) == len(once) + 50
    assert set(twice) == set(once)
    assert context.remarks == [f"{names[0]} is listed 2 times, and its edges count as often"]


def test_copies_of_a_file_count_each(tmp_path):
    names = parts(tmp_path / "parts", 1, LINES["dense"])
    copy = tmp_path / "copy.txt"
    copy.write_bytes(Path(names[0]).read_bytes())
    assert len(read(files=[*names, str(copy)])[0].source) == 100


@pytest.mark.parametrize("kind", ["from anywhere", "texts"])
def test_what_does_not_fit_in_memory_waits_in_files(tmp_path, kind, monkeypatch):
    room = pieces._room
    monkeypatch.setattr(pieces, "_room", lambda *arguments: room(*arguments[:3], 0))
    wide = {
        "from anywhere": lambda drawn: f"{drawn.randrange(1 << 62)} {drawn.randrange(1 << 62)}",
        "texts": lambda drawn: f"{drawn.randrange(1 << 62):x}x {drawn.randrange(1 << 62):x}x",
    }[kind]
    names = parts(tmp_path / "parts", 4, wide, lines=60_000)
    made = read(files=names, memory=LEAST_MEMORY)
    whole = read(file=str(tmp_path / "parts.whole"), memory=LEAST_MEMORY)
    for name in ("ids", "text", "offsets"):
        assert numpy.array_equal(getattr(made[1], name), getattr(whole[1], name))
    for one, other in zip(_keys(made[0]), _keys(whole[0]), strict=True):
        assert one == other


def _keys(edges: EdgeList) -> list[int]:
    keys = numpy.asarray(edges.source, numpy.uint64) * edges.vertex_count + numpy.asarray(edges.target)
    return [int(key) for key in numpy.sort(keys)[:: 1 + len(keys) // 1000]]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_piece_is_sorted_however_small_the_memory(tmp_path, weighted):
    drawn = numpy.random.default_rng(3)
    source, target = drawn.integers(0, 50, (2, 5000)).astype(numpy.uint32)
    weight = drawn.random(5000) if weighted else None
    edges = EdgeList(source=source, target=target, weight=weight, vertex_count=50, undirected=False)
    made = [
        pieces.piece_of(PlainContext(MACHINE), edges, VertexIds(vertex_count=50), memory)
        for memory in (1 << 14, 1 << 30)
    ]
    order = numpy.lexsort((target, source) if weight is None else (weight, target, source))
    for piece in made:
        assert numpy.array_equal(piece.source, source[order])
        assert numpy.array_equal(piece.target, target[order])
        assert weight is None or numpy.array_equal(piece.weight, weight[order])
    assert digest_of(made[0]) == digest_of(made[1])


def test_files_without_edges_are_of_any_kind(tmp_path):
    names = parts(tmp_path / "parts", 3, LINES["texts"])
    for text in ("", "# nothing\n"):
        empty = tmp_path / "parts" / "part-9.txt"
        empty.write_text(text)
        made = read(files=[*names, str(empty)], format="edge_list")
        assert edges_of(made) == edges_of(read(files=names))


def test_files_of_two_kinds_of_ids_are_refused(tmp_path):
    names = parts(tmp_path / "parts", 8, LINES["dense"])
    Path(names[3]).write_text("anna berta\n")
    with pytest.raises(
        StageError, match="it has ids that are texts, and 7 others of the files have ids"
    ) as error:
        read(files=names, format="edge_list")
    assert error.value.file == names[3]
    assert "ids: text" in str(error.value.hint)
    assert len(read(files=names, format="edge_list", ids="text")[0].source) == 351
    context = Remarks()
    assert len(read(context, files=names, format="edge_list", skip_broken=True)[0].source) == 350
    assert [
        remark for remark in context.remarks if names[3] in remark and "is left out (skip_broken)" in remark
    ]


def test_files_with_and_without_weights_are_refused(tmp_path):
    names = parts(tmp_path / "parts", 3, LINES["weighted"])
    Path(names[0]).write_text("1 2\n")
    with pytest.raises(StageError, match=r"and 2 others of the files have the columns .* weight column 3"):
        read(files=names)


def test_files_of_other_columns_are_refused():
    taken = "read {} as: comma, header; source payer, target payee; left out: {}"
    found = [(name, _part(1, taken.format(name, "when, kind"))) for name in "abc"]
    found.append(("d", _part(1, taken.format("d", "kind, when"))))
    assert many_files._of_one_kind(Remarks(), found, skip=False) == found
    found.append(("e", _part(1, taken.format("e", "kind"))))
    with pytest.raises(
        StageError, match=r"e: it has the columns kind, source payer, target payee, and 4 others"
    ):
        many_files._of_one_kind(Remarks(), found, skip=False)


def _part(edges: int, remark: str) -> Part:
    ends = numpy.zeros(edges, numpy.uint32)
    piece = EdgePiece(source=ends, target=ends, vertex_count=edges)
    return Part(piece, (remark,), remark)


def test_a_broken_file_is_named_and_costs_itself_if_that_is_asked_for(tmp_path):
    names = parts(tmp_path / "parts", 3, LINES["dense"])
    Path(names[1]).write_text("1 2\n3\n")
    with pytest.raises(StageError, match="found") as error:
        read(files=names)
    assert (error.value.file, error.value.line) == (names[1], 2)
    assert "skip_broken: true" in str(error.value.hint)
    context = Remarks()
    assert len(read(context, files=names, skip_broken=True)[0].source) == 100
    assert f"{names[1]} is left out (skip_broken)" in context.remarks[0]


def test_where_all_are_broken_nothing_is_made(tmp_path):
    names = parts(tmp_path / "parts", 2, lambda drawn: "1")
    with pytest.raises(StageError, match="none of the files can be read"):
        read(files=names, skip_broken=True)


def test_a_file_that_states_its_vertices_is_no_part_of_a_graph(tmp_path):
    names = parts(tmp_path / "parts", 2, LINES["dense"])
    matrix = tmp_path / "parts" / "a.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n")
    with pytest.raises(StageError, match="it is no part of one") as error:
        read(files=[*names, str(matrix)])
    assert error.value.file == str(matrix)
    assert read(files=[str(matrix)])[0].vertex_count == 3


def test_one_file_is_read_as_it_is_alone(tmp_path):
    [name] = parts(tmp_path / "parts", 1, LINES["dense"])
    alone, listed = read(file=name)[0], read(files=[name])[0]
    assert numpy.array_equal(alone.source, listed.source)


@pytest.mark.parametrize(
    ("location", "columns"),
    [
        ("/data/year=2024/month=01/a.parquet", {"year": "2024", "month": "01"}),
        ("s3://bucket/day=2024-01-02/a.csv?versionId=x=1", {"day": "2024-01-02"}),
        ("/x=1/parts/a.csv", {}),
        ("/parts/name=a%2Fb/=3/k=1/a.csv", {"k": "1"}),
        ("/parts/name=a%2Fb/a=1.csv", {"name": "a/b"}),
    ],
)
def test_columns_of_a_path_are_those_of_the_folders_next_to_the_file(location, columns):
    assert path_columns(location) == columns
    assert list(path_columns(location)) == list(columns)


def test_a_folder_for_rows_without_a_value_is_refused(tmp_path):
    names = parts(tmp_path / "parts", 1, LINES["dense"])
    other = tmp_path / "year=__HIVE_DEFAULT_PARTITION__" / "a.txt"
    other.parent.mkdir()
    other.write_text("1 2\n")
    with pytest.raises(StageError, match="__HIVE_DEFAULT_PARTITION__"):
        read(files=[*names, str(other)])


@pytest.mark.parametrize(
    "options",
    [
        {"files": []},
        {"files": ["a"], "file": "a"},
        {"file": "a", "skip_broken": True},
        {"files": ["a"], "sha256": "0" * 64},
        {},
    ],
)
def test_options_that_cannot_go_together_are_refused(options):
    with pytest.raises(ValueError, match="files"):
        IngestParameters(**options)


def test_one_of_the_files_may_be_an_array_without_rows(tmp_path: Path) -> None:
    pairs = {"a": numpy.array([[1, 2], [2, 3]]), "b": numpy.empty((0, 2), int)}
    for name, array in pairs.items():
        numpy.save(tmp_path / f"{name}.npy", array)
    made = read(files=tuple(str(tmp_path / f"{name}.npy") for name in pairs))
    assert edges_of(made) == [(1, 2), (2, 3)]
    with pytest.raises(StageError, match="no rows"):
        read(file=str(tmp_path / "b.npy"))
