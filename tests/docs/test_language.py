"""README and docs are in plain language: short sentences and the words of the field.

Code and tables are left out. A span of code counts as one word. The lists of retired words are those of
`tests/test_words.py` and `RETIRED`, which are retired in texts for readers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT
from tests.docs.sentences import Sentence, sentences_of
from tests.test_words import PROSE

MAX_WORDS = 30

RETIRED = {
    r"\blets? go of\b": "delete",
    r"\b(is|are) dealt\b|\bdealt (out|to)\b": "assigned round-robin, distributed",
    r"\bmeetings?\b": "barrier",
    r"\bbusiest first\b|\bbusiest vertices\b": "by descending degree",
    r"\bfar rows\b": "deferred rows",
    r"\bplants?\b": "barrier allocation",
    r"\bfloods?\b|\bflooded\b": "push without a queue",
    r"\bmust be settled\b|\bsettles?\b": "commit, resolve",
    r"\bfresh vertices\b|\bopen vertices\b": "newly visited, unvisited",
    r"\bwide search(es)?\b": "bit-parallel",
    r"\bvouched by\b": "signed by",
    r"\bsaid so\b|\bwhat was said\b": "reported",
    r"\brests? on\b|\brested on\b": "depends on",
    r"\ba look\b|\blooks back\b|\bfurther looks\b": "neighbour check, bottom-up visit",
    r"\bin a piece\b|\bin one piece\b": "whole",
}
"""What a page for readers does not say beside `PROSE`, and what it says instead."""


def problems_in(text: str) -> Iterator[str]:
    """Yield what is wrong with a page, each with its line."""
    for sentence in sentences_of(text):
        if sentence.words > MAX_WORDS:
            yield f"{sentence.line}: {sentence.words} words: {sentence.text[:100]}"
        for retired, better in {**PROSE, **RETIRED}.items():
            if re.search(retired, sentence.text, re.IGNORECASE):
                yield f"{sentence.line}: {retired}: say {better!r}: {sentence.text[:100]}"


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_pages_are_in_plain_language(page: Path) -> None:
    found = [f"{page.relative_to(ROOT)}:{each}" for each in problems_in(page.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_sentences_are_split_as_a_reader_does() -> None:
    page = """\
# A heading of many words is not a sentence. Really

<!-- Not this. -->
One [link](a.md) says `code that. Has dots`, e.g. here. gravel is
a word. The limit is 2^20. Then more
follows!

- an item; not the next. It has two.
  And a third.
- another (see `x`)

| a table. | Is not. |
|---|---|

```sh
echo "No. Not this."
```

![A picture. No.](p.png)
It grew by 1.05. Why? Nobody knows.
"""
    assert [each.text for each in sentences_of(page)] == [
        "One link says `code`, e.g. here.",
        "gravel is a word.",
        "The limit is 2^20.",
        "Then more follows!",
        "an item; not the next.",
        "It has two.",
        "And a third.",
        "another (see `code`)",
        "It grew by 1.05.",
        "Why?",
        "Nobody knows.",
    ]
    assert [each.line for each in sentences_of(page)][:2] == [4, 4]


def test_words_are_counted_as_a_reader_does() -> None:
    assert Sentence(1, "One `code` - two well-known words, 3 in all.").words == 8


@pytest.mark.parametrize(
    "old",
    [
        "A rank that searches sorts what its part of the frontier reaches by owner, and drops neighbours "
        "that were gathered a moment before (a hashed history of 1,024) or that it has sent or found before, "
        "a bit for every vertex of the graph.",
        "`--force` runs a stage again, `--from` also all that rests on it.",
        "`--older-than 30d` lets go of old runs.",
        "A file that no longer matches is said.",
        "It shows what ran, what runs, what was said.",
        "Sampled rows in each order then tell how often a look goes on.",
        "The ranks of a rank group wait in meetings.",
    ],
)
def test_the_old_language_is_found(old: str) -> None:
    assert list(problems_in(old))
