"""Texts that a GPU and a CPU must read alike: small files of each kind, and the comparison."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Machine
from tests.zoo import DATA

ROOM = 1 << 30
"""Bytes of a device that has enough of them."""


def on_host(array: Any) -> numpy.ndarray:
    return array.get() if backend_of(array) == "cuda" else numpy.asarray(array)  # type: ignore[no-any-return]


class Context(PlainContext):
    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        self.remarks.append(message)


def outcome(path: Path, machine: Machine, *, keeps: bool = False, **options: Any) -> tuple[Any, list[str]]:
    """What comes of a file: all that the artifacts hold, or the error; and the log."""
    context = Context(machine)
    context.keeps_device_arrays = keeps
    try:
        edges, ids = ingest(context, IngestParameters(file=str(path), **options))
    except StageError as error:
        return (str(error), error.hint, error.line, context.remarks), context.messages
    arrays = [edges.source, edges.target, edges.weight, ids.ids]
    assert keeps or all(array is None or backend_of(array) == "cpu" for array in arrays)
    held = [None if array is None else (str(array.dtype), on_host(array).tobytes()) for array in arrays]
    attributes = edges.vertex_count, edges.undirected, ids.vertex_count, ids.first, context.remarks
    return (held, *attributes), context.messages


def compare(path: Path, *, room: int = ROOM, keeps: bool = False, **options: Any) -> list[str]:
    """Read a file with and without a device; returns the log of the device."""
    expected, _ = outcome(path, Machine("cpu", 2, 1 << 30), **options)
    found, log = outcome(path, Machine("cuda", 2, 1 << 30, room), keeps=keeps, **options)
    assert found == expected, path.read_bytes()[:400]
    return log


NUMBERS = "\n".join(f"{i * i % 977} {i}" for i in range(300))
FILES = {
    "empty": "",
    "blank": "\n\n \r\n",
    "comments": "# nothing\n% else\n",
    "one": "3 4",
    "no_end": "1 2\n3 4",
    "crlf": "1\t2\r\n\r\n3\t4\r\n5\t6\r\n",
    "comments_between": "# Nodes: 3 Edges: 2\n1 2\n# \xe9\0\n\n2 3\n% end",
    "dense": NUMBERS,
    "gaps": NUMBERS.replace(" ", " 7"),
    "sparse": "\n".join(f"{i * 92233720368547 % (1 << 63)} {i}" for i in range(300)),
    "wide_later": NUMBERS + "\n4294967296 5\n7 9223372036854775807\n",
    "too_large": NUMBERS + "\n1 9223372036854775808\n",
    "sign": NUMBERS + "\n+1 2\n",
    "negative": NUMBERS + "\n-1 2\n3 x\n",
    "nul": NUMBERS + "\n1 2\0\n",
    "non_ascii": NUMBERS + "\n1 \xb2\n",
    "zeros": "007 00008\n0000000000000000000000000000000001 2\n",
    "columns": NUMBERS + "\n1 2 3\n",
    "few": NUMBERS + "\n\n1\n",
    "csv": "source,target,weight\n" + "\n".join(f"{i}, {i + 1},{i / 8}" for i in range(99)),
    "weights": "\n".join(f"{i} {i + 1} {i / 10}" for i in range(99)),
    "hard_weights": "\n".join(f"{i} {i + 1} {(i / 10)!r}" for i in range(99))
    + "\n1 2 0.30000000000000004\n1 2 1e99",
    "bad_weight": "1 2 0.5\n2 3 nan\n",
    "time": "1 2 3 4\n2 3 4 x\n",
    "short": "# Nodes: 9 Edges: 5\n1 2\n2 3\n3",
    "stated_no_end": "# Nodes: 9 Edges: 3\n1 2\n2 3\n3 45",
}

OTHERS = {
    "road.gr": "c road\np sp 5 4\na 1 2 7\nc \xe9\na 2 3 0.5\n\na 3 5 1e3\r\na 5 1 2",
    "road_beyond.gr": "p sp 5 2\na 1 2 7\na 2 6 1\n",
    "road_start.gr": "p sp 5 2\na 1 2 7\nb 2 5 1\n",
    "road_more.gr": "p sp 5 1\na 1 2 7\na 2 5 1\n",
    "road_fewer.gr": "p sp 5 3\na 1 2 7\na 2 5 1\n",
    "tree.gr": "p tw 5 4\n1 2\n2 3\nc\n3 5\n5 1\n",
    "tree_zero.gr": "p tw 5 1\n0 1\n",
    "square.mtx": "%%MatrixMarket matrix coordinate real symmetric\n% \n4 4 3\n1 2 1.5\n2 3 -2\n4 4 1e-3\n",
    "pattern.mtx": "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n2 3\n",
    "pattern_cut.mtx": "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n4",
    "plain.graph": "% note\n5 4\n2 3\n1\n1 4\n3 5\r\n4\n",
    "blank.graph": "4 1\n\n 3\n2\n\n\n",
    "no_end.graph": "4 2\n2\n1 3\n2\n",
    "cut.graph": "4 3\n2\n1 3\n2 4\n3",
    "weighted.graph": "3 2 001\n2 0.5\n1 0.5 3 7\n2 7e0\n",
    "odd_weights.graph": "3 2 001\n2 0.1\n1 0.1 3 0.30000000000000004\n2 0.30000000000000004\n",
    "missing_weight.graph": "3 2 001\n2 5\n1 5 3\n2 7\n",
    "sizes.graph": "3 2 110 2\n9 8 7 2\n% between\n1 1 1 1 3\n4 4 4 2\n",
    "bad_size.graph": "3 2 100\n9 2\nx 1 3\n4 2\n",
    "few_sizes.graph": "3 1 110 2\n9 8 7 2\n1 1 1 1\n4\n",
    "beyond.graph": "3 2\n2\n1 4\n2\n",
    "zero.graph": "3 2\n2\n1 0\n2\n",
    "rows.graph": "3 2\n2\n1 3\n2\n\n1\n",
    "blank_end.graph": "3 2\n2\n1 3\n ",
    "blank_after.graph": "3 2\n2\n1 3\n2 ",
    "uneven.graph": "3 2\n2\n1 3\n1\n",
    "loops.graph": "3 3\n2 1\n1 3\n2\n",
    "comment.graph": "3 2\n2\n% 1 2 3\n1 3 % 2\n2\n",
    "long.graph": "40 39\n" + " ".join(map(str, range(2, 41))) + "\n" + "1\n" * 39,
    "web.graph-txt": "5\n1 2 4\n\n0\n 3  3\t0 \r\n",
    "web_blank_after.graph-txt": "3\n1 2\n\n0\t",
    "web_fewer.graph-txt": "5\n1 2 4\n\n0\n",
    "web_beyond.graph-txt": "5\n1 2 5\n\n0\n\n\n",
    "web_sign.graph-txt": "5\n1 2 4\n-1\n0\n\n\n",
    "web_comment.graph-txt": "5\n1 2 4\n# 1\n0\n\n\n",
    "list.lg": "5,4,u,name\n1,2\n2,3\n3,5\n5,1\n",
    "list_bad.lg": "5,4,d,name\n1,2\n2;3\n3,5\n5,1\n",
}


def drawn(seed: int, count: int) -> Iterator[tuple[str, bytes, int]]:
    """Make small files: samples of each format with a few edits, and sizes of pieces."""
    generator = random.Random(seed)
    samples = [(f"{name}.txt", text) for name, text in FILES.items()] + list(OTHERS.items())
    odd = [
        "-",
        "+",
        ".",
        "e",
        "\0",
        "\xff",
        " ",
        "\n",
        "\r",
        "\r\n",
        ",",
        ";",
        "#",
        "%",
        "c",
        "a",
        "9223372036854775808",
    ]
    for _ in range(count):
        name, text = generator.choice(samples)
        if len(text) > 200 and generator.randrange(4):
            first = generator.randrange(len(text) - 100)
            text = text[first : first + generator.randrange(100)]
        for _ in range(generator.choice([0, 1, 1, 2, 3])):
            place = generator.randrange(len(text) + 1)
            text = text[:place] + generator.choice(odd) + text[place + generator.randrange(3) :]
        yield name, text.encode("latin-1"), generator.choice([1, 3, 16, 50, 64, 1000])


def data_files() -> list[str]:
    if not DATA.is_dir():
        return []
    return sorted(
        str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.suffix != ".md"
    )
