"""Inner chunks that change places: each is whole by itself, and only its place is wrong."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
from google_crc32c import value as crc32c
from numpy.typing import NDArray

from tests.drills.gravel import Gravel
from tests.drills.outcomes import Tally
from tests.drills.small import Small, Trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

WORKFLOW = """\
workflow: chunks
stages:
  edges:   {stage: ingest, file: edges.npy}
  graph:   {stage: symmetrize, input: edges}
  mixed:   {stage: reorder, input: graph, method: random, seed: 3}
  bfs:     {stage: traverse, input: graph, sources: {random: 2, seed: 7}}
  other:   {stage: traverse, input: mixed, sources: {random: 2, seed: 7}}
"""
READERS = {"edges": "graph", "graph": "bfs", "mixed": "other"}
SEARCHES = ("bfs", "other")
INDEX_ENTRY, CHECKSUM, MISSING = 16, 4, 2**64 - 1


@dataclass(frozen=True)
class Chunk:
    """An inner chunk, by its place in the index at the end of its shard; see the sharding codec of Zarr 3."""

    file: Path
    place: int
    count: int  # of places in the index
    shape: tuple[object, ...]  # dtype and lengths, decoded

    def index(self) -> NDArray[Any]:
        stored = self.file.read_bytes()[-self.count * INDEX_ENTRY - CHECKSUM : -CHECKSUM]
        return numpy.frombuffer(stored, "<u8").reshape(-1, 2).copy()

    def write_index(self, index: NDArray[Any]) -> None:
        text = index.tobytes()
        self.write(self.file.stat().st_size - len(text) - CHECKSUM, text + crc32c(text).to_bytes(4, "little"))

    def write(self, offset: int, data: bytes) -> None:
        with self.file.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def read(self) -> bytes:
        offset, size = self.index()[self.place].tolist()
        return self.file.read_bytes()[offset : offset + size]

    def take(self, data: bytes) -> None:
        """Put another chunk, no longer than this one, in its place."""
        index = self.index()
        self.write(int(index[self.place, 0]), data)
        index[self.place, 1] = len(data)
        self.write_index(index)


def chunks(array: Path) -> Iterator[Chunk]:
    """Yield the inner chunks of a sharded array whose index lies at the end."""
    metadata = json.loads((array / "zarr.json").read_text())
    inner = metadata["codecs"][0]["configuration"]["chunk_shape"]
    outer = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    count = math.prod(big // small for big, small in zip(outer, inner, strict=True))
    for file in sorted((array / "c").rglob("*")):
        if file.is_file():
            for place in range(count):
                chunk = Chunk(file, place, count, (metadata["data_type"], *inner))
                if chunk.index()[place, 0] != MISSING:
                    yield chunk


def exchange(one: Chunk, other: Chunk) -> str:
    """Exchange two chunks; of two sizes in two files, put the smaller one in the place of both."""
    first, second = one.read(), other.read()
    if len(first) == len(second):
        one.take(second)
        other.take(first)
        return "exchange"
    if one.file == other.file:
        index = one.index()
        index[[one.place, other.place]] = index[[other.place, one.place]]
        one.write_index(index)
        return "exchange in the index"
    if len(first) < len(second):
        other.take(first)
    else:
        one.take(second)
    return "copy the smaller"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A graph of 2^17 vertices, so that there are arrays of one to four chunks of a MiB."""
    folder = tmp_path_factory.mktemp("chunks")
    (folder / "chunks.yaml").write_text(WORKFLOW)
    dice = numpy.random.default_rng(1)
    numpy.save(folder / "edges.npy", dice.integers(0, 1 << 17, (1 << 19, 2)).astype(numpy.uint32))
    gravel = Gravel(folder / "cache", folder / "chunks.yaml", inside=True)
    gravel.run("--quiet")
    answers = {}
    for stage in SEARCHES:
        gravel.export(stage, folder / f"{stage}.csv")
        answers[stage] = (folder / f"{stage}.csv").read_bytes()
    return Small(folder, answers, "chunks.yaml")


def pairs(dice: random.Random, cache: Path) -> tuple[Chunk, Chunk]:
    """Choose two chunks that decode to one size and differ, of one array half of the time."""
    found: dict[tuple[object, ...], list[Chunk]] = defaultdict(list)
    within = dice.random() < 0.5
    for metadata in sorted(cache.glob("data/*/**/zarr.json")):
        if (metadata.parent / "c").is_dir():
            for chunk in chunks(metadata.parent):
                found[metadata if within else "", *chunk.shape].append(chunk)
    several = [each for each in found.values() if len(each) > 1]
    while True:
        one, other = dice.sample(dice.choice(several), 2)
        if one.read() != other.read():
            return one, other


def test_exchanged_chunks(large: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One exchange, then one of three: the stage that reads is forced, a search exported, or all verified."""
    dice, tally = random.Random(f"chunks {seed}"), Tally()
    cache, failures = tmp_path / "cache", -1
    for _ in range(tries("chunks")):
        if tally.failures.total() != failures:  # a wrong answer that was kept would count again
            failures = tally.failures.total()
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(large.cache, cache)
        one, other = pairs(dice, cache)
        how = exchange(one, other)
        tally.counts[how] += 1
        told = [f"{each.file.relative_to(cache)} chunk {each.place}" for each in (one, other)]
        trial = Trial(large, cache, tally, f"{how} {told[0]} and {told[1]}")
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
    tally.tell("exchanged chunks")
