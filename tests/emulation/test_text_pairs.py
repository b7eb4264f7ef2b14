"""Text to edges on emulated devices: the rows, ids and faults that the parser of the CPU finds."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest

from gravel.kernels.text import FINE
from gravel.kernels.text.kinds import byte_kinds
from gravel.kernels.text.pairs import parse_pairs
from gravel.kernels.text.pairs_cuda import PairParser
from tests.emulation.strict_cupy import on_device

pytestmark = pytest.mark.usefixtures("on_cpu")

LIST = {
    "columns": 2,
    "source_column": 0,
    "target_column": 1,
    "weight_column": -1,
    "prefix": -1,
    "delimiter": "",
    "comments": "#%",
    "low": 0,
    "high": (1 << 63) - 1,
}
GRAMMARS: dict[str, dict[str, Any]] = {
    "list": LIST,
    "weighted": {**LIST, "columns": 3, "weight_column": 2},
    "comma": {**LIST, "delimiter": ","},
    "turned": {
        **LIST,
        "columns": 4,
        "source_column": 3,
        "target_column": 1,
        "weight_column": 0,
        "delimiter": ";",
    },
    "unread": {**LIST, "columns": 4},
    "dimacs": {
        **LIST,
        "columns": 3,
        "weight_column": 2,
        "prefix": ord("a"),
        "comments": "c",
        "low": 1,
        "high": 99,
    },
    "pace": {**LIST, "comments": "c", "low": 1, "high": 12},
    "lightgraphs": {**LIST, "comments": "", "delimiter": ",", "low": 1, "high": 5_000_000_000},
}


def on_host(data: bytes, grammar: dict[str, Any]) -> tuple[Any, ...]:
    """What `parse_pairs` makes of it: code, lines and the columns."""
    most = data.count(b"\n")
    source, target = numpy.empty(most, numpy.int64), numpy.empty(most, numpy.int64)
    weight = numpy.empty(most if grammar["weight_column"] >= 0 else 0)
    names = ("prefix", "columns", "source_column", "target_column", "weight_column", "low", "high")
    rows, lines, code, _ = parse_pairs(
        numpy.frombuffer(data, numpy.uint8),
        byte_kinds(grammar["delimiter"], grammar["comments"]),
        *(grammar[name] for name in names),
        source,
        target,
        weight,
    )
    return code, lines, source[:rows], target[:rows], weight[:rows]


def on_gpu(data: bytes, grammar: dict[str, Any], *, first: int = 0, block: int = 64) -> tuple[Any, Any, Any]:
    """Counts, and what is parsed as uint32 and as uint64."""
    end = first + len(data)
    # What lies around the piece must not be read as a part of it.
    text = numpy.full(-(-end // 16) * 16, ord("\n"), numpy.uint8)
    text[first:end] = numpy.frombuffer(data, numpy.uint8)
    parser = PairParser(**grammar, piece_bytes=len(text), block=block)
    counted = parser.count(on_device(text), first, end)
    return counted, parser.parse(numpy.uint32), parser.parse(numpy.uint64)


def compare(data: bytes, grammar: dict[str, Any], *, first: int = 0, block: int = 64) -> bool:
    """Check the emulated parser against the other; returns whether it parsed."""
    code, lines, source, target, weight = on_host(data, grammar)
    counted, narrow, wide = on_gpu(data, grammar, first=first, block=block)
    assert narrow.fine == wide.fine
    # What one multiplication does not round is left to the other.
    assert wide.fine <= (code == FINE), data
    assert wide.fine or code != FINE or grammar["weight_column"] >= 0, data
    assert counted.lines == data.count(b"\n")
    if not wide.fine:
        return False
    assert (counted.rows, counted.lines) == (len(source), lines), data
    numpy.testing.assert_array_equal(wide.source.get(), source.astype(numpy.uint64))
    numpy.testing.assert_array_equal(wide.target.get(), target.astype(numpy.uint64))
    if wide.weight is not None:
        assert wide.weight.get().tobytes() == weight.tobytes(), data
    if len(source):
        both = numpy.concatenate((source, target))
        assert (wide.least, wide.most) == (both.min(), both.max())
        if wide.most < 1 << 32:
            numpy.testing.assert_array_equal(narrow.source.get(), source.astype(numpy.uint32))
            numpy.testing.assert_array_equal(narrow.target.get(), target.astype(numpy.uint32))
    return True


CASES = [
    (b"1 2\n", "list", True),
    (b"1 2\r\n\r\n3\t4\r\n", "list", True),
    (b"\n\n \n#\n% 1 2 \xff\0\n 1  2 \n", "list", True),
    (b"0001 00000000000000000000000000000000000000000002\n", "list", True),
    (b"9223372036854775807 4294967296\n", "list", True),
    (b"9223372036854775808 1\n", "list", False),
    (b"1 99999999999999999999\n", "list", False),
    (b"+1 2\n", "list", False),
    (b"-1 2\n", "list", False),
    (b"1 2 3\n", "list", False),
    (b"1\n", "list", False),
    (b"1 2\0\n", "list", False),
    (b"1 \xc3\xa9\n", "list", False),
    (b"1,2\n1 , 2\n ,2\n", "comma", False),
    (b"1,2\n 1 , 2 \r\n", "comma", True),
    (b"1 2 x\xff y\n3 4 # %\n", "unread", True),
    (b"0.5;3; odd one ;4\n1e3;3;;4\n", "turned", True),
    (b"a 1 2 3\nc a\na 4 5 -.5e-3\n", "dimacs", True),
    (b"a 1 100 3\n", "dimacs", False),
    (b"b 1 2 3\n", "dimacs", False),
    (b"1 2 0.1\n1 2 12345678901234567\n", "weighted", False),
    (b"1 2 0.1\n1 2 1e22\n1 2 900719925474099\n1 2 1e-22\n1 2 -0\n", "weighted", True),
    (b"1 2 1e23\n", "weighted", False),
    (b"1 2 inf\n", "weighted", False),
]


@pytest.mark.parametrize(("data", "grammar", "parses"), CASES)
def test_lines_that_decide(data: bytes, grammar: str, parses: bool) -> None:
    assert compare(data, GRAMMARS[grammar]) == parses


@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("first", [0, 1, 15, 16, 4095, 4100])
def test_rows_span_shares_and_tiles(block: int, first: int) -> None:
    generator = random.Random(first)
    lines = [f"{generator.randrange(1 << generator.randrange(1, 40))} {i}\n" for i in range(900)]
    lines[5:5] = ["# " + "x" * 5000 + "\n", "\n" * 40, "   " * 20 + "7 7\n"]
    assert compare("".join(lines).encode(), GRAMMARS["list"], first=first, block=block)


ODD = [
    b"#",
    b"%",
    b"c",
    b"-",
    b"+",
    b".",
    b"e",
    b"\0",
    b"\xff",
    b"9223372036854775808",
    b",",
    b";",
    b"\r",
    b"\n",
    b" ",
]
NUMBERS = [b"1", b"2", b"7", b"12", b"007", b"4294967296", b"9223372036854775807"]
DECIMALS = [b"1", b"0.25", b"-3e2", b"+.5", b"1e-22", b"0.1234567890123456", b"1e99"]


def line(generator: random.Random, grammar: dict[str, Any]) -> bytes:
    """Make a line that the grammar mostly takes."""
    if not generator.randrange(8):
        return generator.choice([b"\n", b"\r\n", b" \n", b"# note\n", b"% 1 2\xc3\xa9\n", b"c 1\0\n"])
    fields = [generator.choice(NUMBERS[: generator.choice([4, 7])]) for _ in range(grammar["columns"])]
    if grammar["weight_column"] >= 0:
        fields[grammar["weight_column"]] = generator.choice(DECIMALS[: generator.choice([5, 7])])
    blank = generator.choice([b" ", b"  ", b"\t"])
    separator = (
        grammar["delimiter"].encode() + generator.choice([b"", b"", b" "]) if grammar["delimiter"] else blank
    )
    start = b"a " if grammar["prefix"] >= 0 else generator.choice([b"", b"", b"", b" "])
    return start + separator.join(fields) + generator.choice([b"\n", b"\n", b"\r\n", b" \n"])


def texts(seed: int, count: int) -> Any:
    """Make small texts, most of them near to what a grammar takes."""
    generator = random.Random(seed)
    for _ in range(count):
        name = generator.choice(list(GRAMMARS))
        data = b"".join(line(generator, GRAMMARS[name]) for _ in range(generator.randrange(1, 6)))
        for _ in range(generator.choice([0, 0, 1, 2])):
            place = generator.randrange(len(data))
            data = data[:place] + generator.choice(ODD) + data[place + generator.randrange(2) :]
        yield name, data + b"\n"


def test_texts_drawn_at_random() -> None:
    parsed = sum(compare(data, GRAMMARS[name]) for name, data in texts(1, 400))
    assert 100 < parsed < 300


@pytest.mark.slow
def test_many_texts_drawn_at_random() -> None:
    for name, data in texts(2, 10_000):
        compare(data, GRAMMARS[name])
