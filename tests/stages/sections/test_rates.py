"""Every rate says what it counts: distinct edges, stored arcs, or the edges of a list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

RATE = re.compile(r"\b[GM]?TEPS\b|\b(?:arcs|edges)/s\b|\b(?:arcs|edges) (?:a|per) second\b")

CONVENTION = re.compile(
    r"distinct|stored arcs|generated edges|generator's (?:list|edges)|input list|multiple edges"
    r"|edge of the searched component"
)

CODE = sorted(
    path
    for folder in ("stages", "pipeline")
    for path in (ROOT / folder).rglob("*.py")
    # The benchmark's own block has the names and the rule of the benchmark.
    if "graph500" not in path.relative_to(ROOT).with_suffix("").parts
)

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("workflows/*.yaml")})


def told(text: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that a reader may come to see: strings, joined, without docstrings."""
    tree = ast.parse(text)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node)} - {id(node)}
    for node in ast.walk(tree):
        if id(node) in documented or id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def without(text: str) -> list[str]:
    """List the texts of a module that name a rate and not what it counts."""
    return [
        f"{line}: {each}" for line, each in told(text) if RATE.search(each) and not CONVENTION.search(each)
    ]


def test_labels_and_sentences_of_the_code_say_what_a_rate_counts() -> None:
    found = {str(path.relative_to(ROOT)): without(path.read_text()) for path in CODE}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ('columns = ["run", "GTEPS"]', 1),
        ('columns = ["run", f"{kind}, G arcs/s"]', 1),
        ('about = ("Rates in " "GTEPS.")', 1),
        ('columns = ["run", "GTEPS (distinct edges)", "G stored arcs/s"]', 0),
        ('"""GTEPS in a docstring."""', 0),
    ],
)
def test_a_rate_without_its_convention_is_found(text: str, lacking: int) -> None:
    assert len(without(text)) == lacking


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_say_what_their_rates_count(page: Path) -> None:
    text = re.sub(r"\s+", " ", page.read_text())
    if RATE.search(text):
        assert CONVENTION.search(text), f"{page.name} names {RATE.search(text)} and not what it counts"
