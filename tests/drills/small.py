"""A workflow on forty vertices with a bit of everything, and what it must answer."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from tests.drills.gravel import PROGRAM, Gravel, call_inside, make_old
from tests.drills.outcomes import Hang, Tally, limited

WORKFLOW = """\
workflow: small
stages:
  edges:   {stage: ingest, file: edges.txt}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: degree}
  mixed:   {stage: reorder, input: graph, method: random, seed: 3}
  split:   {stage: partition, input: ordered, ranks: 2}
  packed:  {stage: compress, input: ordered, codec: varint}
  bfs:     {stage: traverse, input: packed, sources: {random: 3, seed: 7}}
  other:   {stage: traverse, input: mixed, sources: {random: 3, seed: 8}}
  ranks:   {stage: traverse, input: split, sources: {random: 2, seed: 9}}
  parts:   {stage: traverse, input: graph, algorithm: components}
  second:  {stage: ingest, file: second.txt}
  turned:  {stage: symmetrize, input: second}
  far:     {stage: traverse, input: turned, sources: {random: 2, seed: 7}}
  check:   {stage: verify, graph: graph, traversal: bfs}
"""

STAGES = [line.partition(":")[0].strip() for line in WORKFLOW.splitlines()[2:]]
SEARCHES = ("bfs", "other", "ranks", "parts", "far")
"""What is exported and compared."""


def edges(seed: int) -> str:
    """Write forty vertices under large ids, in two components, as a SNAP file."""
    dice = random.Random(seed)
    ids = [dice.randrange(10**9) for _ in range(40)]
    pairs = {(dice.randrange(30), dice.randrange(30)) for _ in range(60)}
    pairs |= {(dice.randrange(30, 40), dice.randrange(30, 40)) for _ in range(15)}
    return "".join(f"{ids[one]}\t{ids[other]}\n" for one, other in sorted(pairs))


@dataclass(frozen=True)
class Small:
    """The files, a cache of a finished run, and its exports."""

    folder: Path
    answers: dict[str, bytes]
    workflow: str = "small.yaml"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def gravel(self, cache: Path) -> Gravel:
        return Gravel(cache, self.folder / self.workflow, inside=True)


def answered(small: Small, stages: tuple[str, ...]) -> Small:
    """Run the workflow, and export what these stages answer."""
    gravel = small.gravel(small.cache)
    gravel.run("--quiet")
    for stage in stages:
        target = small.folder / f"{stage}.csv"
        gravel.export(stage, target)
        small.answers[stage] = target.read_bytes()
    return small


def prepare(folder: Path) -> Small:
    """Run the workflow in a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.yaml").write_text(WORKFLOW)
    for name, seed in (("edges.txt", 1), ("second.txt", 2)):
        (folder / name).write_text(edges(seed))
        make_old(folder / name)
    return answered(Small(folder, {}), SEARCHES)


def copies(small: Small, folder: Path) -> Iterator[Path]:
    """Yield a fresh copy of the finished cache again and again."""
    while True:
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(small.cache, place, symlinks=True)
        yield place


class Trial:
    """Commands on one damaged cache, each judged by how it ends and by what it answers."""

    def __init__(self, small: Small, cache: Path, tally: Tally, harm: str) -> None:
        self.small, self.cache, self.tally, self.harm = small, cache, tally, harm
        self.place = ["--cache", str(cache)]
        self.file = str(small.folder / small.workflow)

    def do(self, *words: str) -> CompletedProcess[str] | None:
        """Run a command here; None if it hung."""
        try:
            with limited():
                return call_inside([*PROGRAM, *words, *self.place])
        except Hang as error:
            self.tally.fail(f"{' '.join(words[:2])}: {error}", self.harm)
            return None

    def ask(self, *words: str) -> bool:
        """Run a command and judge how it ends; returns whether it succeeded."""
        done = self.do(*words)
        return done is not None and self.tally.check(done, " ".join(words[:2]), self.harm)

    def run(self, *words: str) -> bool:
        return self.ask("run", self.file, "--cluster", "inline", "--quiet", *words)

    def compare(self, stages: tuple[str, ...] = SEARCHES) -> bool:
        """Export and compare; returns whether all were exported."""
        good = True
        for stage in stages:
            target = self.cache.parent / "answer.csv"
            target.unlink(missing_ok=True)
            if not self.ask("export", self.file, stage, "--to", str(target), "--cluster", "inline"):
                good = False
            elif target.read_bytes() != self.small.answers[stage]:
                good = False
                self.tally.fail(f"WRONG ANSWER of {stage}", self.harm)
        return good
