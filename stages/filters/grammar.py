"""The language of filters: forms, the literals in them, and the parser that makes them of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

Literal = bool | int | float | str
Form = tuple[Any, ...]
"""`("and" or "or", form, form, ...)`, `("not", form)`, `("null", column)`, `("in", column, literals)`, or
`(operator, column, literal)` with one of == < <= > >=."""

SECOND = 1_000_000_000

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)

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


class UnsuitableValue(ValueError):
    """A text that is not what a filter compares its column with; `row` is its place in the batch."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class Moment(NamedTuple):
    """Nanoseconds since 1970-01-01, in UTC if `zoned`, else on the clock that the text is of."""

    nanoseconds: int
    zoned: bool


def moment(text: str) -> Moment | None:
    """Read a date, or a date and a time of day; None for what is neither."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    offset = "+00:00" if zone in (None, "Z") else zone if len(zone) > 3 else f"{zone}:00"
    try:
        start = datetime.fromisoformat(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}{offset}")
        seconds = start - datetime(1970, 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    whole = seconds.days * 86_400 + seconds.seconds
    return Moment(whole * SECOND + int((fraction or "").ljust(9, "0")), zone is not None)


def time_of_day(text: str) -> int | None:
    """Read a time of day as nanoseconds since midnight; None for what is none."""
    found = moment(f"1970-01-01T{text}") if text[2:3] == ":" else None
    return None if found is None or found.zoned or found.nanoseconds >= 86_400 * SECOND else found.nanoseconds


def kind_of(literal: Literal) -> str:
    """Return what a column holds that is compared with a literal."""
    if isinstance(literal, bool):
        return "truth"
    if not isinstance(literal, str):
        return "number"
    found = moment(literal)
    return "text" if found is None else "time with a zone" if found.zoned else "time"


def written(literal: Literal) -> str:
    """Write a literal as it stands in a filter."""
    if isinstance(literal, bool):
        return str(literal).lower()
    return "'" + literal.replace("'", "''") + "'" if isinstance(literal, str) else repr(literal)


def parse_form(text: str) -> Form:
    """Parse a filter; raises ValueError with the position, what was found and what is expected."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a filter has at most {MAX_CHARACTERS:,} characters; found {len(text):,}")
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise ValueError("the filter is not in Unicode")
    parser = _Parser(text)
    form = parser.either(0)
    if parser.token.kind != "end":
        raise parser.expected("`and`, `or` or the end")
    return form


def leaves(form: Form) -> Iterator[tuple[str, tuple[Literal, ...]]]:
    """Yield the column of each condition, and the literals that it is compared with."""
    match form:
        case ("null", column):
            yield column, ()
        case ("and" | "or" | "not", *inner):
            for each in inner:
                yield from leaves(each)
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
        different = {form_text(each): each for each in flat}
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


def form_text(form: Form) -> str:
    """Write a form as it stands in a filter."""
    match form:
        case ("null", column):
            return f"{_quoted(column)} is null"
        case ("not", inner):
            return f"not ({form_text(inner)})"
        case ("and" | "or" as word, *parts):
            texts = [
                f"({form_text(each)})" if each[0] in ("and", "or") else form_text(each) for each in parts
            ]
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
