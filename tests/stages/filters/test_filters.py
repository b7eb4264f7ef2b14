"""Filters of rows: the language, and what it keeps of typed columns and of texts."""

from __future__ import annotations

import datetime
import decimal
import random
import uuid
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy
import pyarrow
import pytest

from gravel.stages.edge_columns import ColumnsError
from gravel.stages.filters import UnsuitableValue, parse


def kept(text: str, **columns: Any) -> list[int]:
    """Return the rows of texts that a filter keeps."""
    batch = pyarrow.record_batch({name: pyarrow.array(values) for name, values in columns.items()})
    return [row for row, held in enumerate(parse(text).kept(batch).to_pylist()) if held]


def found(text: str, **columns: Any) -> list[int]:
    """Return the rows of typed columns that a filter keeps."""
    table = pyarrow.table({**columns, "row": list(range(len(next(iter(columns.values())))))})
    made = parse(text)
    rows: list[int] = table.filter(made.expression(table.schema))["row"].to_pylist()
    assert rows == [row for row, held in enumerate(made.kept(table, typed=True).to_pylist()) if held]
    return rows


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > 0", "0<a"),
        ("a > 0 and b == 'x'", "(b == 'x') AND (a > 0.0)"),
        ("a in (2, 1, 1)", "a IN (1.0, 2)"),
        ("a in (1)", "a == 1"),
        ("a != 1", "not a == 1"),
        ("a not in (1, 2)", "not (a in (1, 2))"),
        ("a is not null", "not `a` is null"),
        ("a > 0 or a > 0", "not not (a > 0)"),
        ("a == 1 or (b == 2 or c == 3)", "(c == 3 or b == 2) or a == 1"),
    ],
)
def test_two_spellings_of_one_filter_have_one_form(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert parse(str(parse(one))) == parse(one)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 1, "found the end; expected the name of a column"),
        ("a = 1", 3, "found =; expected =="),
        ('kind == "paid"', 9, "a text stands in single quotes: 'paid'"),
        ("kind == paid", 9, "a text stands in single quotes: 'paid'"),
        ("kind == 'paid", 9, "this quote is not closed"),
        ("a > 1 + 2", 7, "there is no arithmetic"),
        ("a.b > 1", 2, "a name with other characters stands in double quotes"),
        ("abs(a) > 1", 4, "found (; expected == or"),
        ("0 < a < 5", 7, "found <; expected `and`, `or` or the end"),
        ("a > null", 5, "there is `is null`"),
        ("a in ()", 7, "found ); expected a literal"),
        ("(a > 1", 7, "found the end; expected )"),
        ("a > 0x10", 5, "found 0x10; expected a literal"),
        ("a > 1e999", 5, "expected a smaller number"),
        ("(" * 200 + "a > 1", 102, "at most 100 conditions within each other"),
        ("not " * 200 + "a > 1", 405, "at most 100 conditions within each other"),
    ],
)
def test_what_is_wrong_is_named_with_its_position(text: str, position: int, says: str) -> None:
    with pytest.raises(ValueError, match=f"position {position} of the filter: found") as caught:
        parse(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a > 1 or a == 'x'", "'a' is compared with a number and a text"),
        ("a == true or a == 1", "'a' is compared with a number and a truth"),
        ("a > '2026-01-01' and a < '2026-01-01T00:00Z'", "a time and a time with a zone"),
        ("a == '\ud800'", "not in Unicode"),
        ("a > true", "true and false are compared by == and != alone"),
        ("a > 1 or " * 10_000 + "a > 2", "at most 65,536 characters"),
    ],
)
def test_literals_that_disagree_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


def test_texts_are_read_by_the_literals_of_their_column() -> None:
    values = ["1", "", "007", "+3", " 9007199254740993", "1.5", "1e2"]
    assert kept("n > 0", n=values) == [0, 2, 3, 4, 5, 6]
    assert kept("not (n > 0)", n=values) == []
    assert kept("n is null", n=values) == [1]
    assert kept("n == 9007199254740993", n=values) == [4]
    assert kept("n > 9007199254740992 and n < 9007199254740994", n=values) == [4]
    assert kept("n in (7, 1.5)", n=values) == [2, 5]
    assert kept("n not in (7, 1.5)", n=values) == [0, 3, 4, 6]
    assert kept("n == '007'", n=values) == [2]
    assert kept("f != true", f=["True", "false", ""]) == [1]
    assert kept("w >= '2026-01-01'", w=["2026-01-01", "2025-12-31T23:59:59.999", "9999-12-31", ""]) == [0, 2]
    assert kept("w > '2026-01-01'", w=["2026-01-01 00:00:00", "2026-01-01 00:00:00.000000001"]) == [1]
    zoned = ["2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z"]
    assert kept("w >= '2026-01-01T00:00:00Z'", w=zoned) == [1]
    assert kept("w >= 'b'", w=["a", "b", "2026-01-01"]) == [1]


def test_what_a_text_is_read_as_does_not_rest_on_the_texts_beside_it() -> None:
    values = [str((1 << 53) + 1), "9" * 30, "1.5", "-0.1", "7", "1" + "0" * 100]
    literals = ["9007199254740992", "9007199254740993", "1.5", "7", "9" * 30, "-0.1", "1e100"]
    for literal in literals:
        for operator in ("==", "<", ">="):
            text = f"n {operator} {literal}"
            alone = [row for row, value in enumerate(values) if kept(text, n=[value])]
            assert kept(text, n=values) == alone


@pytest.mark.parametrize(
    ("text", "values", "row", "says"),
    [
        ("n > 0", ["1", "2.5", "NA"], 2, "column n holds 'NA', and the filter compares it with a number"),
        ("n > 0", ["0x1F"], 0, "holds '0x1F'"),
        ("n > 0", ["1", "nan"], 1, "holds 'nan'"),
        ("n > 0", ["inf", "1"], 0, "holds 'inf'"),
        ("n == true", ["true", "yes"], 1, "a truth"),
        ("n > '2026-01-01'", ["2026-01-01", "2026-01-01T00:00:00Z"], 1, "compares it with a time"),
        ("n > '2026-01-01'", ["2026-02-30"], 0, "compares it with a time"),
    ],
)
def test_a_text_that_does_not_fit_is_named(text: str, values: list[str], row: int, says: str) -> None:
    with pytest.raises(UnsuitableValue) as caught:
        kept(text, n=values)
    assert caught.value.row == row
    assert says in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ColumnsError, match="there is no column c for the filter; the columns are a, b"):
        kept("c > 0", a=["1"], b=["2"])
    with pytest.raises(ColumnsError, match="there is no column c for the filter; the columns are a, b, row"):
        found("c > 0", a=["1"], b=["2"])


def test_columns_of_one_text_are_filtered_as_texts_are() -> None:
    batch = pyarrow.record_batch({"a": ["1", "2"]})
    made = parse("day >= '2026-01-02' and a > 1")
    assert made.kept(batch, {"day": "2026-01-02"}).to_pylist() == [False, True]
    assert made.kept(batch, {"day": "2026-01-01"}).to_pylist() == [False, False]
    table = pyarrow.table({"a": [1, 2]})
    assert table.filter(made.expression(table.schema, {"day": "2026-01-03"})).num_rows == 1
    assert table.filter(made.expression(table.schema, {"day": "2026-01-01"})).num_rows == 0
    assert table.filter(made.expression(table.schema, {"day": ""})).num_rows == 0
    with pytest.raises(UnsuitableValue, match="holds 'x'"):
        made.expression(table.schema, {"day": "x"})


WHOLE = [None, 0, 1, -1, 127, -128, 7, 100]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
LITERALS = ["0", "1", "0.5", "-0.5", "127", "128", "-129", "300", "99999999999999999999", "1e300", "-1e300"]


@pytest.mark.parametrize(
    ("kind", "values", "literals"),
    [
        (pyarrow.int8(), WHOLE, LITERALS),
        (pyarrow.int64(), [*WHOLE, (1 << 53) + 1, (1 << 63) - 1], [*LITERALS, "9007199254740993"]),
        (pyarrow.uint64(), [None, 0, 1, (1 << 64) - 1], [*LITERALS, str((1 << 64) - 1), str(1 << 64)]),
        (pyarrow.float64(), [None, 0.0, -0.5, 2.0**53, 1e300, float("inf")], [*LITERALS, "9007199254740993"]),
        (pyarrow.float32(), [None, 0.0, -0.5, 2.0**24, float("-inf")], [*LITERALS, "16777217", "16777215"]),
        (
            pyarrow.decimal128(10, 2),
            [None, *map(decimal.Decimal, ("0.10", "-0.50", "1.00", "99999999.99"))],
            [*LITERALS, "0.1", "0.101", "99999999.99"],
        ),
    ],
)
def test_numbers_are_compared_exactly(kind: Any, values: list[Any], literals: list[str]) -> None:
    column = pyarrow.array(values, kind)
    for literal in literals:
        exact: Any = decimal.Decimal(literal)
        if pyarrow.types.is_floating(kind) and "e" in literal:
            exact = float(literal)
        for operator, holds in OPERATORS.items():
            expected = [row for row, v in enumerate(values) if v is not None and holds(v, exact)]
            assert found(f"a {operator} {literal}", a=column) == expected, (operator, literal)


def test_literals_are_of_the_type_of_their_column() -> None:
    moment = datetime.datetime(2026, 1, 1, 12)
    for unit in ("s", "ms", "us", "ns"):
        times = pyarrow.array([moment, None, moment.replace(day=2)], pyarrow.timestamp(unit))
        assert found("a > '2026-01-01'", a=times) == [0, 2]
        assert found("a <= '2026-01-01T12:00:00.000000001'", a=times) == [0]
        assert found("a in ('2026-01-01T12:00', '2026-01-03', '2300-01-01', '0001-01-01')", a=times) == [0]
        zoned = times.cast(pyarrow.timestamp(unit, "UTC"))
        assert found("a > '2026-01-01T13:00:00+00:30'", a=zoned) == [2]
        assert found("a > '2026-01-01T12:00:00+00:30'", a=zoned) == [0, 2]
    days = pyarrow.array([moment.date(), None])
    assert found("a < '2026-01-01T00:00:01'", a=days) == [0]
    assert found("a == '2026-01-01'", a=days.cast(pyarrow.date64())) == [0]
    assert found("a >= '09:30'", a=pyarrow.array([datetime.time(9, 30), datetime.time(9)])) == [0]
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.binary()):
        assert found("a != 'x'", a=pyarrow.array(["x", "y", None], kind)) == [1]
    assert found("a in ('x', 'z')", a=pyarrow.array(["x", "y", None]).dictionary_encode()) == [0]
    assert found("a not in ('x', 'z')", a=pyarrow.array(["x", "y", None]).dictionary_encode()) == [1]
    ids = [uuid.UUID(int=1 << 90), uuid.UUID(int=7), None]
    assert found(f"a == '{ids[1]}'", a=pyarrow.array(ids, pyarrow.uuid())) == [1]
    assert found(f"a > '{ids[1]}'", a=pyarrow.array(ids, pyarrow.uuid())) == [0]
    assert found("a == true", a=pyarrow.array([True, False, None])) == [0]
    table = pyarrow.table({"a": [1.0, float("nan"), None]})
    assert parse("not (a > 5)").kept(table, typed=True).to_pylist() == [True, False, False]
    assert parse("a is null").kept(table, typed=True).to_pylist() == [False, False, True]
    halves = pyarrow.table({"a": pyarrow.array(numpy.array([0.5, 2.0], "float16"))})
    assert parse("a > 1").kept(halves, typed=True).to_pylist() == [False, True]
    assert found("a > 1 or a is null", a=pyarrow.nulls(2)) == [0, 1]
    assert found("not (a > 1)", a=pyarrow.nulls(2)) == []


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("a > 'x'", pyarrow.int64(), "'a' holds int64, which is not compared with 'x' (a text)"),
        ("a > 5", pyarrow.string(), "'a' holds string, which is not compared with 5 (a number)"),
        ("a == true", pyarrow.int8(), "not compared with true (a truth)"),
        ("a > 'noon'", pyarrow.timestamp("s"), "not compared with 'noon' (a text)"),
        ("a > '2026-01-01'", pyarrow.timestamp("s", "UTC"), "write it as in '2026-01-01T00:00:00Z'"),
        ("a > '2026-01-01T00:00Z'", pyarrow.timestamp("s"), "write it without its zone"),
        ("a == 'x'", pyarrow.list_(pyarrow.string()), "'a' holds list"),
    ],
)
def test_a_literal_of_another_type_is_refused_with_both_named(text: str, kind: Any, says: str) -> None:
    with pytest.raises(ValueError, match="write") as caught:
        found(text, a=pyarrow.array([], kind))
    assert says in str(caught.value)


def _value(form: Any, row: dict[str, Any]) -> bool | None:
    """The logic of three values, written down once more."""
    match form:
        case ("and" | "or" as word, *parts):
            values = [_value(each, row) for each in parts]
            decided = word == "or"
            return decided if decided in values else None if None in values else not decided
        case ("not", inner):
            held = _value(inner, row)
            return None if held is None else not held
        case ("null", column):
            return row[column] is None
    operator, column, literal = form
    value = row[column]
    if value is None:
        return None
    if operator == "in":
        return value in literal
    return bool(OPERATORS[operator](value, literal))


def test_drawn_filters_keep_what_three_valued_logic_does() -> None:
    draw = random.Random(7)

    def condition() -> str:
        if draw.random() < 0.2:
            return draw.choice(["a is null", "b is not null", "a in (1, 3)", "b not in ('x', 'y')"])
        column, literals = draw.choice([("a", ["0", "1", "2.5"]), ("b", ["'x'", "'y'"])])
        return f"{column} {draw.choice(['==', '!=', '<', '<=', '>', '>='])} {draw.choice(literals)}"

    def drawn(depth: int) -> str:
        if depth == 0 or draw.random() < 0.3:
            return condition()
        inner = f"({drawn(depth - 1)} {draw.choice(['and', 'or'])} {drawn(depth - 1)})"
        return f"not {inner}" if draw.random() < 0.3 else inner

    rows = [{"a": a, "b": b} for a in (None, 0, 1, 2, 3) for b in (None, "x", "z")]
    typed = {name: pyarrow.array([row[name] for row in rows]) for name in "ab"}
    texts = {name: ["" if row[name] is None else str(row[name]) for row in rows] for name in "ab"}
    for _ in range(300):
        text = drawn(3)
        expected = [place for place, row in enumerate(rows) if _value(parse(text).form, row)]
        assert found(text, **typed) == expected, text
        assert kept(text, **texts) == expected, text
        assert parse(str(parse(text))) == parse(text)
