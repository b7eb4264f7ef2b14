"""Inner chunks of one size that change places: each is whole by itself, and only its place is wrong."""

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
    """Where an inner chunk lies in its shard; see the sharding codec of Zarr 3."""

    file: Path
    offset: int
    size: int

    def read(self) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)

    def write(self, data: bytes) -> None:
        with self.file.open("r+b") as file:
            file.seek(self.offset)
            file.write(data)


def chunks(array: Path) -> Iterator[Chunk]:
    """Yield the inner chunks of a sharded array whose index lies at the end."""
    metadata = json.loads((array / "zarr.json").read_text())
    inner = metadata["codecs"][0]["configuration"]["chunk_shape"]
    outer = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    count = math.prod(big // small for big, small in zip(outer, inner, strict=True))
    for file in sorted((array / "c").rglob("*")):
        if file.is_file():
            index = file.read_bytes()[-count * INDEX_ENTRY - CHECKSUM : -CHECKSUM]
            for offset, size in numpy.frombuffer(index, "<u8").reshape(-1, 2).tolist():
                if offset != MISSING:
                    yield Chunk(file, offset, size)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A graph of 2^18 vertices and arrays of one to sixteen chunks of a MiB."""
    folder = tmp_path_factory.mktemp("chunks")
    (folder / "chunks.yaml").write_text(WORKFLOW)
    dice = numpy.random.default_rng(1)
    numpy.save(folder / "edges.npy", dice.integers(0, 1 << 18, (1 << 20, 2)).astype(numpy.uint32))
    gravel = Gravel(folder / "cache", folder / "chunks.yaml", inside=True)
    gravel.run("--quiet")
    answers = {}
    for stage in SEARCHES:
        gravel.export(stage, folder / f"{stage}.csv")
        answers[stage] = (folder / f"{stage}.csv").read_bytes()
    return Small(folder, answers, "chunks.yaml")


def pairs(dice: random.Random, cache: Path) -> tuple[Chunk, Chunk] | None:
    """Choose two chunks of one size and different content, of one array half of the time."""
    found: dict[tuple[str, int], list[Chunk]] = defaultdict(list)
    within = dice.random() < 0.5
    for metadata in sorted(cache.glob("data/*/**/zarr.json")):
        if (metadata.parent / "c").is_dir():
            for chunk in chunks(metadata.parent):
                found[str(metadata) if within else "", chunk.size].append(chunk)
    several = [each for each in found.values() if len(each) > 1]
    for _ in range(50):
        one, other = dice.sample(dice.choice(several), 2) if several else (None, None)
        if one and other and one.read() != other.read():
            return one, other
    return None


def test_exchanged_chunks(large: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """One exchange, then one of three: the stage that reads is forced, a search exported, or all verified."""
    dice, tally = random.Random(f"chunks {seed}"), Tally()
    cache = tmp_path / "cache"
    shutil.copytree(large.cache, cache)
    for _ in range(tries("chunks")):
        chosen = pairs(dice, cache)
        assert chosen is not None, "there are no chunks of one size"
        one, other = chosen
        first, second = one.read(), other.read()
        one.write(second)
        other.write(first)
        tally.counts["exchanges"] += 1
        told = [f"{chunk.file.relative_to(cache)} at {chunk.offset}" for chunk in (one, other)]
        trial = Trial(large, cache, tally, f"exchange {told[0]} and {told[1]} of {one.size} bytes")
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
