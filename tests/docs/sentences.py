"""The sentences of a page of Markdown: what a reader reads as text, without code, tables and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"(?<=[.!?])[)\"']*\s+(?=[\"'(]?(?:[A-Z0-9`*]|gravel\b))")
_WORD = re.compile(r"[^\s\-–/]*\w[^\s]*")


@dataclass(frozen=True)
class Sentence:
    """A sentence and the line on which its paragraph begins; a span of code counts as one word."""

    line: int
    text: str

    @property
    def words(self) -> int:
        """Return how many words the sentence has."""
        return len(_WORD.findall(self.text))


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """Take a pattern out of a text and keep its line breaks, so that lines keep their numbers."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


def paragraphs_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph or item of a list with the line where it begins."""
    text = _blanked(_COMMENT, _blanked(_FENCE, text))
    first, lines = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        alone = not line.strip() or line.lstrip().startswith(("|", "#"))
        if lines and (alone or _ITEM.match(line)):
            yield first, " ".join(lines)
            lines = []
        if not alone:
            first = first if lines else number
            lines.append(_ITEM.sub("", line, count=1) if not lines else line.strip())


def sentences_of(text: str) -> list[Sentence]:
    """Return the sentences of a page, in order."""
    found = []
    for line, paragraph in paragraphs_of(text):
        plain = _CODE.sub("`code`", _LINK.sub(r"\1", _IMAGE.sub("", paragraph)))
        found += [Sentence(line, each.strip()) for each in _END.split(plain) if _WORD.search(each)]
    return found
