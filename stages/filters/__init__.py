"""Filters of rows: `kind == 'paid' and amount > 0`, a small language of its own.

    filter     = all {"or" all}            all = test {"and" test}
    test       = "not" test | "(" filter ")" | comparison
    comparison = COLUMN ("==" | "!=" | "<" | "<=" | ">" | ">=") LITERAL, or the other way round
               | COLUMN ["not"] "in" "(" LITERAL {"," LITERAL} ")" | COLUMN "is" ["not"] "null"

A column is a plain name, or anything in double quotes or backticks. A literal is a number, a text in single
quotes (a quote in it is doubled), `true` or `false`. A row is kept where the filter is true: a condition on
an empty field is neither true nor false, so that `not` of it leaves the row out, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gravel.stages.filters.literals import Form, Literal, UnsuitableValue, kind_of, written

__all__ = ["Filter", "UnsuitableValue", "parse"]

MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 100
MAX_DIGITS = 76

NO_MORE = "; there is no arithmetic, and a name with other characters stands in double quotes"
KEYWORDS = ("and", "or", "not", "in", "is", "null", "true", "false")
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<column>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    |(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<word>[^\W\d]\w*)|(?P<sign>==|!=|<=|>=|<>|[<>(),])|(?P<end>$)|(?P<other>['"`].*|\w[\w.]*|.))""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Filter:
    """A parsed filter; two spellings of one have the same `form`."""

    form: Form

    def __str__(self) -> str:
        """Write the filter so that parsing it gives this one."""
        return _written(self.form)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it uses."""
        return tuple(sorted(self.kinds))

    def places(self, labels: Sequence[Hashable]) -> dict[str, int]:
        """Return where its columns are among labels; raises ColumnsError for one that is not there."""
        from gravel.stages.filters.conditions import place_of

        return {column: place_of(column, labels) for column in self.columns}

    @property
    def kinds(self) -> dict[str, str]:
        """What the literals say that each column holds: number, time, time with a zone, truth or text.

        Raises ValueError for a column whose literals disagree.
        """
        found: dict[str, set[str]] = {}
        for column, literals in _leaves(self.form):
            found.setdefault(column, set()).update(map(kind_of, literals))
        return {column: _agreed(column, kinds) for column, kinds in found.items()}

    def expression(self, schema: Any, constants: Mapping[str, str] | None = None) -> Any:
        """Return an expression of Arrow that says which parts of a file with typed columns to read.

        `constants` are columns of one text. Raises ColumnsError for a column that is not there, and
        ValueError for a literal that its column cannot be compared with.
        """
        from pyarrow import compute

        from gravel.stages.filters.conditions import condition, joined
        from gravel.stages.filters.texts import truth_of

        fixed, kinds = constants or {}, self.kinds
        labels = [*schema.names, *fixed]
        names = {column: labels[place] for column, place in self.places(labels).items()}

        def of(form: Form) -> Any:
            name = names[form[1]]
            if name in fixed:
                return compute.scalar(truth_of(form, kinds[form[1]], fixed[name]))
            return condition(form, compute.field(name), schema.field(name).type)

        return joined(self.form, of)

    def holds(self, batch: Any, constants: Mapping[str, str] | None = None) -> Any:
        """Say of each row of a batch or table of typed columns whether it is kept; raises as `expression`."""
        return self._kept(batch, constants or {}, typed=True)

    def kept(self, batch: Any, constants: Mapping[str, str] | None = None) -> Any:
        """Say of each row of a batch or table of texts whether it is kept, as an array without nulls.

        What the literals of a column are decides what its texts are read as, so that all files are read
        alike; an empty field is null. Raises ColumnsError for a column that is not there, and
        `UnsuitableValue` with the row for a text that cannot be read.
        """
        return self._kept(batch, constants or {}, typed=False)

    def _kept(self, batch: Any, constants: Mapping[str, str], *, typed: bool) -> Any:
        from pyarrow import ChunkedArray, compute

        from gravel.stages.filters.conditions import joined
        from gravel.stages.filters.texts import holds, parts_of

        kinds, labels = self.kinds, [*batch.schema.names, *constants]
        names = {column: labels[place] for column, place in self.places(labels).items()}
        parts = {
            column: parts_of(batch, name, kinds[column], constants, typed) for column, name in names.items()
        }
        matching = compute.fill_null(joined(self.form, lambda form: holds(form, parts[form[1]])), False)
        return matching.combine_chunks() if isinstance(matching, ChunkedArray) else matching


def parse(text: str) -> Filter:
    """Parse a filter; raises ValueError with the position, what was found and what is expected."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a filter has at most {MAX_CHARACTERS:,} characters; found {len(text):,}")
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise ValueError("the filter is not in Unicode")
    parser = _Parser(text)
    form = parser.either(0)
    if parser.token.kind != "end":
        raise parser.expected("`and`, `or` or the end")
    made = Filter(form)
    _ = made.kinds  # those that disagree are refused
    return made


def _agreed(column: str, kinds: set[str]) -> str:
    if len(kinds) > 1 and kinds <= {"text", "time", "time with a zone"} and "text" in kinds:
        return "text"
    if len(kinds) > 1:
        listed = " and a ".join(sorted(kinds))
        raise ValueError(f"column {column!r} is compared with a {listed}; it can hold only one of them")
    return kinds.pop() if kinds else "text"


def _leaves(form: Form) -> Iterator[tuple[str, tuple[Literal, ...]]]:
    match form:
        case ("null", column):
            yield column, ()
        case ("and" | "or" | "not", *inner):
            for each in inner:
                yield from _leaves(each)
        case ("in", column, literals):
            yield column, literals
        case (_, column, literal):
            yield column, (literal,)


class _Token(NamedTuple):
    kind: str
    value: str
    begin: int
    end: int


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.token = self._after(0)

    def _after(self, end: int) -> _Token:
        found = _TOKEN.match(self.text, end)
        assert found is not None
        kind = found.lastgroup or ""
        if kind == "word" and found[kind].lower() in KEYWORDS:
            return _Token("keyword", found[kind].lower(), *found.span(kind))
        return _Token(kind, found[kind], *found.span(kind))

    def expected(self, what: str) -> ValueError:
        """Return the error that something else was found."""
        kind, found, begin, _ = self.token
        hint = ""
        if kind == "other":
            open_quote = found[0] in "'\"`"
            hint = "; this quote is not closed" if open_quote else NO_MORE
        elif kind in ("word", "column") and "literal" in what:
            hint = f"; a text stands in single quotes: '{found.strip(chr(34))}'"
        elif found == "null":
            hint = "; for empty fields there is `is null`"
        shown = "the end" if kind == "end" else found if len(found) <= 40 else found[:39] + "…"
        return ValueError(f"position {begin + 1} of the filter: found {shown}; expected {what}{hint}")

    def take(self, *values: str) -> str | None:
        """Take a sign or keyword if it comes next."""
        if self.token.kind in ("sign", "keyword") and self.token.value in values:
            return self.next()
        return None

    def next(self) -> str:
        taken = self.token.value
        self.token = self._after(self.token.end)
        return taken

    def demand(self, *values: str) -> str:
        taken = self.take(*values)
        if taken is None:
            raise self.expected(" or ".join(values))
        return taken

    def either(self, depth: int) -> Form:
        return self._joined("or", depth, lambda: self._joined("and", depth, lambda: self.test(depth)))

    def _joined(self, word: str, depth: int, part: Callable[[], Form]) -> Form:
        parts = [part()]
        while self.take(word):
            parts.append(part())
        flat = [inner for each in parts for inner in (each[1:] if each[0] == word else (each,))]
        different = {_written(each): each for each in flat}
        ordered = [different[key] for key in sorted(different)]
        return ordered[0] if len(ordered) == 1 else (word, *ordered)

    def test(self, depth: int) -> Form:
        if depth > MAX_DEPTH:
            raise self.expected(f"at most {MAX_DEPTH} conditions within each other")
        if self.take("not"):
            return _negated(self.test(depth + 1))
        if self.take("("):
            inner = self.either(depth + 1)
            self.demand(")")
            return inner
        if self.token.kind in ("text", "number") or self.token.value in ("true", "false"):
            literal = self.literal()
            operator = MIRRORED[self.demand(*MIRRORED)]
            return self.compared(operator, self.column(), literal)
        column = self.column()
        operator = self.demand(*MIRRORED, "in", "not", "is")
        if operator in MIRRORED:
            return self.compared(operator, column, self.literal())
        if operator == "is":
            negated = self.take("not")
            self.demand("null")
            return ("not", ("null", column)) if negated else ("null", column)
        if operator == "not":
            self.demand("in")
        listed = self.listed(column)
        return ("not", listed) if operator == "not" else listed

    def compared(self, operator: str, column: str, literal: Literal) -> Form:
        if isinstance(literal, bool) and operator not in ("==", "!="):
            raise ValueError(f"column {column!r}: true and false are compared by == and != alone")
        return ("not", ("==", column, literal)) if operator == "!=" else (operator, column, literal)

    def listed(self, column: str) -> Form:
        self.demand("(")
        literals = [self.literal()]
        while self.take(","):
            literals.append(self.literal())
        self.demand(")")
        ordered = tuple(value for _, value in sorted({written(each): each for each in literals}.items()))
        return ("==", column, ordered[0]) if len(ordered) == 1 else ("in", column, ordered)

    def column(self) -> str:
        kind = self.token.kind
        if kind not in ("word", "column"):
            raise self.expected("the name of a column")
        value = self.next()
        return value if kind == "word" else value[1:-1].replace(value[0] * 2, value[0])

    def literal(self) -> Literal:
        kind, found, *_ = self.token
        if kind == "number":
            number = _number(found)
            if number is None:
                raise self.expected("a smaller number")
            self.next()
            return number
        if kind == "text":
            return self.next()[1:-1].replace("''", "'")
        if found in ("true", "false") and kind == "keyword":
            return self.next() == "true"
        raise self.expected("a literal: a number, a 'text', true or false")


def _number(text: str) -> int | float | None:
    whole = text.lstrip("+-").isdigit()
    if whole and len(text) > MAX_DIGITS:
        return None
    value = int(text) if whole else float(text)
    return None if value - value else int(value) if abs(value) < 1 << 53 and value == int(value) else value


def _negated(form: Form) -> Form:
    inner: Form = form[1] if form[0] == "not" else ("not", form)
    return inner


def _written(form: Form) -> str:
    match form:
        case ("null", column):
            return f"{_quoted(column)} is null"
        case ("not", inner):
            return f"not ({_written(inner)})"
        case ("and" | "or" as word, *parts):
            texts = [f"({_written(each)})" if each[0] in ("and", "or") else _written(each) for each in parts]
            return f" {word} ".join(texts)
        case ("in", column, literals):
            return f"{_quoted(column)} in ({', '.join(map(written, literals))})"
        case (operator, column, literal):
            return f"{_quoted(column)} {operator} {written(literal)}"
    raise AssertionError(form)


def _quoted(column: str) -> str:
    if re.fullmatch(r"[^\W\d]\w*", column) and column.lower() not in KEYWORDS:
        return column
    return '"' + column.replace('"', '""') + '"'
