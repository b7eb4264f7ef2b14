"""Names and texts use the words of the field; what was called otherwise before does not come back.

`ROOTS` are the packages whose code is checked. To check another one, add it here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOTS = ("pipeline", "gravel", "stages", "kernels")

NAMES = {
    "settle": "resolve, finish, close",
    "settled": "done",
    "settler": "resolver",
    "settling": "resolution",
    "recall": "look up",
    "depart": "upload",
    "arrive": "download",
    "gang": "rank group",
    "gangs": "rank groups",
    "hub": "rendezvous",
    "telling": "messages",
    "told": "message, reported",
    "said": "reported",
    "judge": "record the outcome",
    "judged": "checked",
    "judging": "validation",
    "book": "job store",
    "keeper": "supervisor",
    "keepers": "supervisors",
    "surrounding": "environment",
    "surroundings": "environment",
    "held": "resident, in memory",
    "tied": "linked",
    "looker": "neighbour check",
    "meet": "synchronise",
    "meeting": "barrier",
    "plant": "barrier allocation",
    "deal": "redistribute",
    "dealt": "assigned round-robin",
    "flood": "push without a queue",
    "crew": "block group",
}
"""Parts of names that are retired, and what to say instead."""

OF_ROOMS = {
    "pipeline/workers": {"place": "worker slot", "places": "worker slots"},
    "pipeline/scheduler": {"placer": "placement", "setting": "environment", "places": "worker slots"},
}
"""Words that are retired in one room only: elsewhere a place is one in a workflow file."""

STAY = {"stages/sections": {"tied"}, "kernels": {"arrive", "hub", "meet", "plant"}}
"""Words that are the field's in one room: results are tied that differ by less than their spread; a hub has
many neighbours, messages arrive, ranks meet at a barrier, and trees are planted."""

OF_RANKS = {
    **{word: NAMES[word] for word in ("looker", "meet", "meeting", "plant", "deal", "dealt", "flood")},
    **dict.fromkeys(("settle", "settled", "settling"), "commit the frontier, write labels"),
    "fresh": "newly visited",
    "slot": "compact id",
    "slots": "compact ids",
    "busiest": "by degree",
}
"""What names of these rooms of kernels do not say, in Python or CUDA."""

RANK_ROOMS = ("kernels/partition",)

LENT = {
    ("stage", "place"): "a key of run.json",
    ("origin", "place"): "where an own stage comes from",
    ("layout", "place"): "a chunk's index in its shard",
    ("BadSetting",): "of gravel.kernels: a constant of a strategy",
    ("HUB_DEGREE",): "of generated graphs: a hub is a vertex there",
    ("HUB_SHARE",): "the same",
    ("place",): "a key of progress events and of run.json",
}
"""Names that belong to others, by themselves or as an attribute of something."""

PROSE = {
    r"\bgangs?\b": "rank group",
    r"\bkeepers?\b": "supervisor",
    r"\bsurroundings\b": "environment",
    r"\bplacer\b": "placement",
    r"\b(is|are|was|were) told\b": "is reported, is given",
    r"\b(is|are|was|were) said\b": "is reported, is written",
    r"\blooker\b": "neighbour check",
    r"\bheld results?\b": "results in memory",
}
"""What no comment, message or page says."""


def words_of(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def sources() -> list[Path]:
    found = [path for root in ROOTS for path in sorted((ROOT / root).rglob("*.py"))]
    return [path for path in found if "__pycache__" not in path.parts]


def pages() -> list[Path]:
    """Return the pages that people write; those of stages are made from the code of stages."""
    found = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path for path in found if "Made from the code" not in path.read_text(encoding="utf-8")[:200]]


def called(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def names_in(tree: ast.AST) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line of each name, and the name; an attribute, field or argument with what it belongs to."""
    owners: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, (node.name,)
        if isinstance(node, ast.ClassDef):
            owners |= {each.target: node.name for each in node.body if isinstance(each, ast.AnnAssign)}
        elif isinstance(node, ast.Call):
            owners |= dict.fromkeys(node.keywords, called(node.func))
        elif isinstance(node, ast.arg):
            yield node.lineno, (node.arg,)
        elif isinstance(node, ast.Name):
            yield node.lineno, (owners.get(node, ""), node.id)
        elif isinstance(node, ast.Attribute):
            yield node.lineno, (called(node.value), node.attr)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            yield node.value.lineno, (owners.get(node, ""), node.arg)
        elif isinstance(node, ast.alias):
            yield node.lineno, (node.asname or node.name.rpartition(".")[2],)


def retired_in(file: str, name: tuple[str, ...]) -> str | None:
    retired = {**NAMES}
    for room, words in OF_ROOMS.items():
        if file.startswith(room):
            retired |= words
    stay = {word for room, words in STAY.items() if file.startswith(room) for word in words}
    if name in LENT or name[-1:] in LENT:
        return None
    if name[-1].lstrip("_").startswith("MOST_"):
        return "MAX_"
    return next((retired[word] for word in words_of(name[-1]) if word in retired and word not in stay), None)


def prose_in(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def test_names_are_words_of_the_field():
    found = []
    for path in sources():
        file = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in names_in(tree):
            better = retired_in(file, name)
            if better is not None:
                found.append(f"{file}:{line}: {name[-1]!r}; say: {better}")
    assert not found, "\n".join(dict.fromkeys(found))


def identifiers_in(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for line, name in names_in(ast.parse(text)):
            yield line, name[-1]
        return
    for line, code in enumerate(text.splitlines(), 1):
        for name in re.findall(r"[A-Za-z_]\w*", re.sub(r"//.*|\"[^\"]*\"", "", code)):
            yield line, name


def test_kernels_of_ranks_use_words_of_the_field():
    found = []
    for room in RANK_ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".py", ".cu", ".cuh"):
                continue
            for line, name in identifiers_in(path):
                for word in words_of(name):
                    if word in OF_RANKS:
                        found.append(f"{path.relative_to(ROOT)}:{line}: {name!r}; say: {OF_RANKS[word]}")
    assert not found, "\n".join(dict.fromkeys(found))


def test_files_are_called_by_words_of_the_field():
    found = [path for path in sources() if any(word in NAMES for word in words_of(path.stem))]
    assert not found


@pytest.mark.parametrize("where", ["code", "docs"])
def test_texts_use_words_of_the_field(where: str):
    found = []
    for path in sources() if where == "code" else pages():
        for line, text in prose_in(path):
            for retired, better in PROSE.items():
                if re.search(retired, text, re.IGNORECASE):
                    found.append(f"{path.relative_to(ROOT)}:{line}: {text.strip()[:80]!r}; say: {better}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "words"),
    [("_settle_all", ["settle", "all"]), ("MOST_RUNS", ["most", "runs"]), ("GangBroken", ["gang", "broken"])],
)
def test_names_are_split_into_words(name: str, words: list[str]):
    assert words_of(name) == words
    assert retired_in("pipeline/core/x.py", (name,)) is not None
