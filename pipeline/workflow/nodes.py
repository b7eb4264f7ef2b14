"""YAML as a tree in which every node knows its line and column.

The tree is built from ruamel's parse events, so limits apply while reading and no tag is ever acted upon.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.stages.artifact import Json

MAX_DEPTH = 32  # an entry's parameters nest four or five deep
MAX_NODES = 50_000  # counted with every alias written out; a file of 2,000 entries has 20,000
MAX_PROBLEMS = 20  # reported at once; more than a screen helps nobody

_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML readers count lines


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar: its text, and its value by YAML 1.2 (the text itself where it was quoted)."""

    line: int
    column: int
    text: str
    value: Json
    size: int = 1


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence; `size` counts its nodes with aliases written out."""

    line: int
    column: int
    items: tuple[Node, ...]
    size: int


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping; `keys` holds the nodes of the keys."""

    line: int
    column: int
    items: dict[str, Node]
    keys: dict[str, ScalarNode]
    size: int


Node: TypeAlias = ScalarNode | ListNode | MapNode


def is_null(node: Node) -> bool:
    """Say whether a key has no value."""
    return isinstance(node, ScalarNode) and node.value is None


def inner(node: Node) -> Iterable[Node]:
    """Return the values of a mapping or the items of a sequence; a scalar has none."""
    if isinstance(node, MapNode):
        return node.items.values()
    return node.items if isinstance(node, ListNode) else ()


def scalars(node: Node) -> Iterator[ScalarNode]:
    """Yield every scalar of a tree, in the order of the file; keys are none."""
    if isinstance(node, ScalarNode):
        yield node
    for item in inner(node):
        yield from scalars(item)


@dataclass(frozen=True)
class Text:
    """A YAML text and what it is called in messages."""

    name: str
    text: str

    def at(self, node: Node) -> Location:
        """Return the place of a node."""
        return self.place(node.line, node.column)

    def place(self, line: int, column: int) -> Location:
        """Return a place; lines and columns count from 1."""
        lines = self._lines
        return Location(self.name, line, column, lines[line - 1] if 0 < line <= len(lines) else "")

    @cached_property
    def _lines(self) -> list[str]:
        return _LINE_END.split(self.text)


def parse(source: Text) -> tuple[Node | None, list[Problem]]:
    """Read a text as one YAML document.

    Returns the tree (None for an empty text) and faults that leave it readable: repeated keys, tags, keys
    that are not plain words. Raises WorkflowError for what cannot be read.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    builder = _Builder(source)
    try:
        return builder.document(YAML(typ="safe", pure=True).parse(source.text)), builder.problems
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = source.place(mark.line + 1, mark.column + 1) if mark is not None else None
        raise WorkflowError([_syntax_problem(error, place), *builder.problems]) from None
    except ReaderError as error:
        before = source.text[: error.position]
        place = source.place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        code = error.character
        name = f"U+{code:04X}" if isinstance(code, int) else repr(code)
        message = f"character {name} cannot stand in a workflow file"
        raise WorkflowError([Problem(message, "remove it, or write it as an escape", place)]) from None
    except (YAMLError, ValueError, IndexError, AttributeError, TypeError, AssertionError) as error:
        # ruamel's scanner has corners where malformed text trips it; the text is at fault all the same.
        place = source.place(builder.line, builder.column)
        raise WorkflowError([Problem(f"this is not YAML: {error}", None, place)]) from None


def _syntax_problem(error: Any, place: Location | None) -> Problem:
    problem = str(error.problem or "malformed")
    context = f" {error.context}" if error.context else ""
    hint = None
    if "'\\t'" in problem:
        problem, context, hint = "a tab where only spaces are allowed", "", "indent with spaces"
    elif "mapping values are not allowed" in problem:
        hint = "quote a text that contains ': ', or check the indentation"
    elif "<stream end>" in problem or "end of stream" in problem:
        hint = "a bracket or quote that was opened is not closed"
    elif "expected <block end>" in problem:
        hint = "check the indentation of this line"
    return Problem(f"this is not YAML: {problem}{context}", hint, place)


class _Builder:
    """Turns events into nodes and keeps to the limits."""

    def __init__(self, source: Text) -> None:
        from ruamel.yaml import events

        self.kinds: Any = events
        self.source = source
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}  # None while the anchored node is still open
        self.line = self.column = 1
        self.count = 0

    def fail(self, message: str, hint: str | None = None) -> WorkflowError:
        place = self.source.place(self.line, self.column)
        return WorkflowError([*self.problems, Problem(message, hint, place)])

    def found(self, message: str, hint: str | None, line: int, column: int) -> None:
        self.problems.append(Problem(message, hint, self.source.place(line, column)))
        if len(self.problems) >= MAX_PROBLEMS:
            raise WorkflowError(self.problems)

    def document(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        for event in events:
            if isinstance(event, self.kinds.DocumentStartEvent):
                if root is not None:
                    self.line, self.column = event.start_mark.line + 1, 1
                    raise self.fail("a second document starts here", "keep one workflow per file")
                root = self.node(self.next(events), events, 1)
        return root

    def next(self, events: Iterator[Any]) -> Any:
        event = next(events)
        self.line, self.column = event.start_mark.line + 1, event.start_mark.column + 1
        return event

    def node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        line, column = self.line, self.column
        if isinstance(event, self.kinds.AliasEvent):
            if event.anchor not in self.anchors:
                raise self.fail(f"the alias *{event.anchor} has no anchor &{event.anchor} before it")
            if (meant := self.anchors[event.anchor]) is None:
                raise self.fail(f"the alias *{event.anchor} stands inside its own anchor")
            return meant
        self.count += 1
        if self.count > MAX_NODES:
            raise self.fail(f"the file has more than {MAX_NODES:,} values")
        if depth > MAX_DEPTH:
            raise self.fail(f"values are nested more than {MAX_DEPTH} deep")
        if event.tag is not None and event.tag != "!":
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            message = f"the tag {tag:.60} is not understood"
            self.found(message, "remove it; values have the types of YAML 1.2", line, column)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        node: Node
        if isinstance(event, self.kinds.ScalarEvent):
            try:
                value = plain_value(event.value) if event.implicit[0] else event.value
            except ValueError as error:
                raise self.fail(str(error)) from None
            node = ScalarNode(line, column, event.value, value)
        elif isinstance(event, self.kinds.MappingStartEvent):
            node = self.mapping(events, depth, line, column)
        else:
            items: list[Node] = []
            while not isinstance(each := self.next(events), self.kinds.SequenceEndEvent):
                items.append(self.node(each, events, depth + 1))
            node = ListNode(line, column, tuple(items), 1 + sum(item.size for item in items))
        if node.size > MAX_NODES:
            self.line, self.column = line, column
            raise self.fail(f"with its aliases written out this has more than {MAX_NODES:,} values")
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def mapping(self, events: Iterator[Any], depth: int, line: int, column: int) -> MapNode:
        items: dict[str, Node] = {}
        keys: dict[str, ScalarNode] = {}
        while not isinstance(event := self.next(events), self.kinds.MappingEndEvent):
            key_line, key_column = self.line, self.column
            key = self.node(event, events, depth + 1)
            value = self.node(self.next(events), events, depth + 1)
            if not isinstance(key, ScalarNode) or key.text == "":
                self.found("a key must be a word", None, key_line, key_column)
            elif key.text in items:
                message = f"the key {key.text!r} is repeated; it is already on line {keys[key.text].line}"
                self.found(message, "keep one of the two", key_line, key_column)
            else:
                items[key.text], keys[key.text] = value, ScalarNode(key_line, key_column, key.text, key.value)
        size = 1 + len(keys) + sum(item.size for item in items.values())
        return MapNode(line, column, items, keys, size)


class WrittenInteger(int):
    """A whole number that was written otherwise than Python writes it."""

    text: str


class WrittenFloat(float):
    """A number with a point or an exponent that was written otherwise."""

    text: str


class WrittenList(list[Any]):
    """A list with `words`: what was written where null, true and false stand in it, by position."""

    words: Mapping[int, str]


def written_list(values: Iterable[Any], words: Iterable[str | None]) -> list[Any]:
    """Return a list that remembers words, if there are any."""
    known = {place: word for place, word in enumerate(words) if word is not None}
    if not known:
        return list(values)
    found = WrittenList(values)
    found.words = known
    return found


_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_WHOLE = {10: re.compile(r"[-+]?[0-9]+"), 8: re.compile(r"0o[0-7]+"), 16: re.compile(r"0x[0-9a-fA-F]+")}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

MAX_DIGITS = 40  # longer than any id, seed or size; int() refuses much longer ones by itself


def plain_value(text: str) -> Json:
    """Return what an unquoted scalar means; raises ValueError for a number of absurd length.

    A number of which Python would write another text remembers its own.
    """
    value = _WORDS.get(text, float(text) if _FLOAT.fullmatch(text) else text)
    for base, pattern in _WHOLE.items():
        if pattern.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise ValueError(f"a number of {len(text)} digits; at most {MAX_DIGITS} are read")
            value = int(text, base)
    if isinstance(value, bool) or not isinstance(value, int | float) or str(value) == text:
        return value
    number = WrittenInteger(value) if isinstance(value, int) else WrittenFloat(value)
    number.text = text
    return number


def as_data(value: Json, *, written: bool = False) -> Json:
    """Return data of plain types: numbers, and what was written for those that JSON does not have.

    With `written` it stands for each number that is written otherwise than Python writes it.
    """
    if isinstance(value, WrittenInteger | WrittenFloat):
        number = int(value) if isinstance(value, int) else float(value)
        return number if math.isfinite(number) and not written else value.text
    if isinstance(value, list):
        return [as_data(each, written=written) for each in value]
    if isinstance(value, dict):
        return {key: as_data(each, written=written) for key, each in value.items()}
    return value


def to_text(value: Json) -> str:
    """Write a value as it stands in a workflow file, on one line; used in keys, messages and strings."""
    if isinstance(value, str):
        return value
    if isinstance(value, WrittenInteger | WrittenFloat):
        return value.text
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {to_text(item)}" for key, item in value.items()) + "}"
    return str(value)
