"""`${name}`: a scalar that is one reference takes the value with its type; inside a text it is written out.

`$${` stands for a literal `${`. Values are measured as they are filled in, because references can multiply
a small file as aliases can. `with: ${name}` in a mapping stands for the items of the mapping that it names.
`${env:NAME}` stays as it is, and may stand in URLs only: the variable is read when the URL is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gravel.pipeline.core.errors import Location, Problem, WorkflowError
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text
from gravel.pipeline.workflow.scalars import to_text, written_list
from gravel.stages.artifact import Json
from gravel.stages.urls import REFERENCE, is_url

__all__ = ["MERGE", "Filled", "Reference", "fill", "references"]

MERGE = "with"
"""The key of a mapping whose own mapping is put in. (YAML 1.1's `<<` may hold no text such as `${name}`.)"""

MAX_FILLED = 10_000  # values in one filled-in tree
MAX_TEXT = 10_000  # characters of one filled-in text
MAX_FILLED_DEPTH = 64

_MARK = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Reference:
    """One `${name}` and where it stands; `name` is None where the braces are not closed around a name."""

    name: str | None
    text: str
    location: Location


@dataclass(frozen=True)
class Filled:
    """A value with its size in nodes and its depth; `word` is what was written for null, true or false."""

    value: Json
    size: int = 1
    depth: int = 1
    word: str | None = None

    @property
    def text(self) -> str:
        """The value as it stands in a text."""
        return self.word or to_text(self.value)


def references(node: Node, source: Text) -> Iterator[Reference]:
    """Yield every reference in a tree, in the order of the file."""
    if isinstance(node, MapNode):
        for item in node.items.values():
            yield from references(item, source)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from references(item, source)
    elif isinstance(node.value, str) and "${" in node.value:
        start = node.column - 1
        place = source.at(node)
        for match in _MARK.finditer(node.value):
            if match[0] == "$${" or REFERENCE.fullmatch(match[0]):
                continue
            found = place.snippet.find(match[0], start)
            column = found + 1 if found >= 0 else node.column
            start = found + len(match[0]) if found >= 0 else start
            name = match[1].strip() if match[1] is not None else ""
            known = name if _NAME.fullmatch(name) else None
            yield Reference(known, match[0], Location(place.file, place.line, column, place.snippet))


def fill(node: Node, values: Mapping[str, Filled], source: Text) -> Filled:
    """Return a tree as plain data, every reference replaced; `values` holds all names that occur.

    Raises WorkflowError if the result passes the limits on size, depth or length.
    """
    if isinstance(node, ScalarNode):
        filled = _fill_scalar(node, values, source)
    else:
        items = node.items.values() if isinstance(node, MapNode) else node.items
        parts = [fill(item, values, source) for item in items]
        plain: Json = written_list((part.value for part in parts), (part.word for part in parts))
        if isinstance(node, MapNode):
            plain = _merged(dict(zip(node.items, plain, strict=True)), node, source)
        size = 1 + sum(part.size for part in parts)
        filled = Filled(plain, size, 1 + max((part.depth for part in parts), default=0))
    if filled.size > MAX_FILLED or filled.depth > MAX_FILLED_DEPTH:
        message = f"with its references filled in this has more than {MAX_FILLED:,} values"
        if filled.depth > MAX_FILLED_DEPTH:
            message = f"with its references filled in this is nested more than {MAX_FILLED_DEPTH} deep"
        raise WorkflowError([Problem(message, None, source.at(node))])
    return filled


def _merged(plain: dict[str, Json], node: MapNode, source: Text) -> dict[str, Json]:
    """Put the items of the mapping at `with` in; those that stand beside it win."""
    if MERGE not in plain:
        return plain
    more = plain.pop(MERGE)
    if not isinstance(more, dict):
        message = f"`{MERGE}` is {to_text(more)!r:.60}, and a mapping is expected"
        hint = "it stands for the items of the mapping that it names, like with: ${axis}"
        raise WorkflowError([Problem(message, hint, source.at(node.items[MERGE]))])
    return {**more, **plain}


def _fill_scalar(node: ScalarNode, values: Mapping[str, Filled], source: Text) -> Filled:
    if not isinstance(node.value, str) or "${" not in node.value:
        known = node.value is None or isinstance(node.value, bool)
        return Filled(node.value, word=node.text if known else None)
    whole = _MARK.fullmatch(node.value)
    if whole is not None and whole[1] is not None and not REFERENCE.fullmatch(whole[0]):
        return values[whole[1].strip()]
    parts: list[str] = []
    length = end = 0
    for match in _MARK.finditer(node.value):
        if REFERENCE.fullmatch(match[0]):
            written = match[0]
        else:
            written = "${" if match[1] is None else values[match[1].strip()].text
        parts += [node.value[end : match.start()], written]
        length += len(parts[-1]) + len(parts[-2])
        end = match.end()
        if length > MAX_TEXT:
            message = f"with its references filled in this text has more than {MAX_TEXT:,} characters"
            raise WorkflowError([Problem(message, None, source.at(node))])
    text = "".join(parts) + node.value[end:]
    named = REFERENCE.search(text)
    if named is not None and not is_url(text):
        message = f"{named[0]} stands for an environment variable, and may stand in URLs only"
        hint = "write the URL itself here, and ${env:NAME} for its password or the values of its query"
        raise WorkflowError([Problem(message, hint, source.at(node))])
    return Filled(text)
