"""Pieces of arrays that change places: each is whole by itself, and only its place is wrong."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from tests.drills.outcomes import Tally
from tests.drills.small import Small, Trial, answered

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

WORKFLOW = """\
workflow: pieces
stages:
  edges:   {stage: ingest, file: edges.npy}
  graph:   {stage: symmetrize, input: edges}
  mixed:   {stage: reorder, input: graph, method: random, seed: 3}
  bfs:     {stage: traverse, input: graph, sources: {random: 2, seed: 7}}
  other:   {stage: traverse, input: mixed, sources: {random: 2, seed: 7}}
"""
READERS = {"edges": "graph", "graph": "bfs", "mixed": "other"}
SEARCHES = ("bfs", "other")
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """A piece of an array that is checked by itself, by its place in the file."""

    file: Path
    place: int
    size: int

    def read(self) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.place * PIECE_BYTES)
            return file.read(self.size)

    def write(self, data: bytes) -> None:
        with self.file.open("r+b") as file:
            file.seek(self.place * PIECE_BYTES)
            file.write(data)


def pieces(array: Path) -> Iterator[Piece]:
    """Yield the pieces of an array."""
    metadata = json.loads((array / "zarr.json").read_text())
    size = math.prod(metadata["shape"]) * numpy.dtype(metadata["data_type"]).itemsize
    for file in sorted(path for path in (array / "c").rglob("*") if path.is_file()):
        for start in range(0, size, PIECE_BYTES):
            yield Piece(file, start // PIECE_BYTES, min(PIECE_BYTES, size - start))


def exchange(one: Piece, other: Piece) -> None:
    first, second = one.read(), other.read()
    one.write(second)
    other.write(first)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A graph of 2^17 vertices, so that there are arrays of one to four pieces of a MiB."""
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "pieces.yaml").write_text(WORKFLOW)
    dice = numpy.random.default_rng(1)
    numpy.save(folder / "edges.npy", dice.integers(0, 1 << 17, (1 << 19, 2)).astype(numpy.uint32))
    return answered(Small(folder, {}, "pieces.yaml"), SEARCHES)


def pairs(dice: random.Random, cache: Path) -> tuple[Piece, Piece]:
    """Choose two pieces of one size that differ, of one array half of the time."""
    found: dict[tuple[object, ...], list[Piece]] = defaultdict(list)
    within = dice.random() < 0.5
    for metadata in sorted(cache.glob("data/*/**/zarr.json")):
        if (metadata.parent / "c").is_dir():
            for piece in pieces(metadata.parent):
                found[metadata if within else "", piece.size].append(piece)
    several = [each for each in found.values() if len(each) > 1]
    while True:
        one, other = dice.sample(dice.choice(several), 2)
        if one.read() != other.read():
            return one, other


def test_exchanged_pieces(large: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One exchange, then one of three: the stage that reads is forced, a search exported, or all verified."""
    dice, tally = random.Random(f"pieces {seed}"), Tally()
    cache, failures = tmp_path / "cache", -1
    for _ in range(tries("pieces")):
        if tally.failures.total() != failures:  # a wrong answer that was kept would count again
            failures = tally.failures.total()
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(large.cache, cache)
        one, other = pairs(dice, cache)
        exchange(one, other)
        tally.counts["exchanges"] += 1
        told = [f"{each.file.relative_to(cache)} piece {each.place}" for each in (one, other)]
        trial = Trial(large, cache, tally, f"exchange {told[0]} and {told[1]}")
        way = dice.choice(["force", "force", "export", "verify"])
        if way == "verify":
            trial.ask("cache", "verify")
        trial.run(*(word for stage in READERS.values() for word in ("--force", stage) if way == "force"))
        trial.compare(SEARCHES)
        trial.ask("cache", "verify")
        if not trial.run():
            tally.fail("the next run failed", trial.harm)
        trial.compare(SEARCHES)
        shutil.rmtree(cache / "quarantine", ignore_errors=True)
    tally.tell("exchanged pieces")
