"""Python broken on purpose, one place at a time, and found by the tests that call it.

    python -m tests.drills.broken_python SEED [--rooms ROOM ...] [--from N] [--count N] [--seconds N]
        [--folder FOLDER]

The seed draws 300 places of these rooms, or of all in `places.ROOMS`; `--from` and `--count` say which
are tried.
The folder keeps which tests call what, found first, and the outcome of each place: parts add up. A place has
a minute of tests: those that enter its function (or, where Numba compiled it, its file or room), in turns
from the files with the nearest names, the shortest first. A place lives if all of them pass; with more
`--seconds` it is tried again. `equivalent.json` lists places that change no answer, statement or promise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.drills.broken_python.places import ROOMS, Place, drawn
from tests.kernels.tree_copy import PACKAGES, ROOT, TreeCopy

PLACES = 300
LIMIT = 400
"""Seconds after which tests of a place, which may have to be compiled anew, count as hung."""
FILES = 20
"""Of tests for each place: collecting a file takes as long as some tests."""

FOLDERS = ("kernels", "emulation", "stages", "gravel", "pipeline")
SOURCES = {"test_fingerprint.py", "test_broken_places.py", "test_tuned.py", "test_mirrored_constants.py"}
"""Tests that compare sources, which find any change."""

Calls = dict[str, dict[str, Any]]


class Drill:
    """Copies of the tree, one a process, and what they share: calls, compiled kernels, outcomes."""

    def __init__(self, folder: Path, processes: int) -> None:
        self.folder = folder
        self.processes = processes
        self._trees: list[TreeCopy] = []
        self._lock = threading.Lock()
        self._results = folder / "outcomes.json"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("calls", "compiled"):
            (folder / name).mkdir(mode=0o700, exist_ok=True)

    def outcomes(self) -> dict[str, dict[str, Any]]:
        return json.loads(self._results.read_text()) if self._results.exists() else {}

    def calls(self, folders: Sequence[str]) -> Calls:
        """Return the tests that pass, their seconds and what they call; found once for the folder."""
        files = sorted(
            path.relative_to(ROOT).as_posix()
            for name in folders
            for path in (ROOT / "tests" / name).rglob("test_*.py")
            if path.name not in SOURCES and "gpu" not in path.name.split("_")
        )
        left = [file for file in files if not self._calls_of(file).exists()]
        with ThreadPoolExecutor(self.processes) as pool:
            for file, _ in zip(left, pool.map(self._find_calls, left), strict=True):
                print(f"calls of {file}", flush=True)
        found = {}
        for file in files:
            if self._calls_of(file).exists():
                found.update(json.loads(self._calls_of(file).read_text()))
        return found

    def try_place(self, place: Place, tests: Sequence[str], given: float) -> None:
        """Run the tests of these seconds with a place broken and keep the outcome."""
        start = time.monotonic()
        tree = self._take()
        path = tree.folder / place.file
        text = path.read_text(encoding="utf-8")
        try:
            path.write_text(place.broken(text), encoding="utf-8")
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
            outcome, by = self._run(tree, tests)
        finally:
            path.write_text(text, encoding="utf-8")
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
            self._give_back(tree)
        seconds = round(time.monotonic() - start, 1)
        print(f"{outcome} in {seconds} s: {place}", flush=True)
        with self._lock:
            kept = self.outcomes() | {
                str(place): {"outcome": outcome, "by": by, "given": given, "seconds": seconds}
            }
            self._results.write_text(json.dumps(kept, indent=1))

    def _run(self, tree: TreeCopy, tests: Sequence[str]) -> tuple[str, str]:
        if not tests:
            return "lived", ""
        names = tree.folder / "tests.txt"
        names.write_text("\n".join(tests))
        done = self._pytest(tree, ["-x", "--timeout=100", f"@{names}"], LIMIT)
        if done is None:
            return "hung", ""
        status, output = done
        by = next(
            (line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))), output[-300:]
        )
        return ("lived" if status == 0 else "found"), by[:300]

    def _find_calls(self, file: str) -> None:
        tree = self._take()
        written = tree.folder / "calls.json"
        written.unlink(missing_ok=True)
        self._pytest(tree, ["-p", "tests.drills.broken_python.calls", file], 500, GRAVEL_CALLS=str(written))
        if written.exists():
            shutil.copy(written, self._calls_of(file))
        self._give_back(tree)

    def _calls_of(self, file: str) -> Path:
        return self.folder / "calls" / f"{file.replace('/', '.')}.json"

    def _pytest(
        self, tree: TreeCopy, words: Sequence[str], limit: float, **variables: str
    ) -> tuple[int, str] | None:
        """Run pytest on a copy; its status and output, or None if it took too long."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GRAVEL_", "PYTEST_"))
        }
        path = os.pathsep.join([str(tree.folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)[:-1]])
        common = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *common, f"--basetemp={tree.folder.parent / 'base'}", *words],
            cwd=tree.folder,
            env=kept
            | {
                "GRAVEL_COMPILED": str(self.folder / "compiled"),
                "PYTHONPATH": path,
                "CUDA_VISIBLE_DEVICES": "",
            }
            | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        os.sched_setaffinity(process.pid, self._processors(tree))
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None
        return process.returncode, output

    def _processors(self, tree: TreeCopy) -> set[int]:
        """Return two processors for each process: tests at once would wait for one another's threads."""
        own = sorted(os.sched_getaffinity(0))
        first = 2 * int(tree.folder.parent.name.removeprefix("tree"))
        return {own[(first + each) % len(own)] for each in range(2)}

    def _take(self) -> TreeCopy:
        with self._lock:
            if self._trees:
                return self._trees.pop()
            number = len(list(self.folder.glob("tree*")))
            folder = self.folder / f"tree{number}"
            folder.mkdir()
        tree = TreeCopy(folder, [*PACKAGES, "tests", "workflows", "docs"])
        for path in (ROOT / "gravel").iterdir():
            if path.is_dir() and not path.is_symlink() and path.name != "__pycache__":
                shutil.copytree(path, tree.folder / "gravel" / path.name)
        shutil.copy(ROOT / "pyproject.toml", tree.folder)
        return tree

    def _give_back(self, tree: TreeCopy) -> None:
        with self._lock:
            self._trees.append(tree)


class Selection:
    """Tests by the functions, files and rooms that they enter."""

    def __init__(self, calls: Calls) -> None:
        self._seconds = {name: test["seconds"] for name, test in calls.items()}
        self._by: dict[str, set[str]] = defaultdict(set)
        for name, test in calls.items():
            for called in test["calls"]:
                file, _, _ = called.partition(":")
                self._by[called].add(name)
                self._by[file].add(name)

    def of(self, place: Place, seconds: float) -> list[str]:
        """Return tests of a place that take at most so long, in the order in which they are run."""
        found = self._by.get(f"{place.file}:{place.function}") or self._by.get(place.file)
        if not found:
            found = {
                test for file, tests in self._by.items() if file.startswith(place.room) for test in tests
            }
        files = defaultdict(list)
        for test in sorted(found, key=lambda name: (self._seconds[name], name)):
            files[test.partition("::")[0]].append(test)
        nearest = sorted(files, key=lambda file: (-_likeness(file, place.file), file))[:FILES]
        chosen, left = [], seconds
        for test in _in_turns([files[file] for file in nearest]):
            left -= self._seconds[test]
            if left < 0:
                break
            chosen.append(test)
        return sorted(chosen, key=lambda name: nearest.index(name.partition("::")[0]))


def _likeness(test: str, source: str) -> float:
    return SequenceMatcher(None, test.removeprefix("tests/").replace("test_", ""), source).ratio()


def _in_turns(lists: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in zip_longest(*lists):
        yield from (each for each in row if each is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=PLACES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=Path("broken-python"))
    asked = parser.parse_args()
    places = drawn(asked.seed, PLACES, asked.rooms)
    drill = Drill(asked.folder.resolve(), asked.processes)
    only_pipeline = all(room.startswith("pipeline/") for room in asked.rooms)
    selection = Selection(drill.calls(("pipeline",) if only_pipeline else FOLDERS))
    done = drill.outcomes()
    tried = [
        place
        for place in places[asked.first :][: asked.count]
        if (known := done.get(str(place))) is None
        or (known["outcome"] == "lived" and known["given"] < asked.seconds)
    ]
    with ThreadPoolExecutor(asked.processes) as pool:
        for place in tried:
            pool.submit(drill.try_place, place, selection.of(place, asked.seconds), asked.seconds)
    _summary(places, drill.outcomes())


def _summary(places: Sequence[Place], outcomes: dict[str, dict[str, Any]]) -> None:
    listed = json.loads((Path(__file__).parent / "equivalent.json").read_text())
    reasons = {(each["file"], each["function"], each["old"], each["new"]): each["reason"] for each in listed}
    tried = [place for place in places if str(place) in outcomes]
    lived = [place for place in tried if outcomes[str(place)]["outcome"] == "lived"]
    same = [place for place in lived if (place.file, place.function, place.old, place.new) in reasons]
    print(f"{len(tried)} of {len(places)} places tried, {len(tried) - len(lived)} found,", end=" ")
    print(f"{len(lived)} lived, {len(same)} of them equivalent:")
    for place in lived:
        reason = reasons.get((place.file, place.function, place.old, place.new), "")
        print(f"  {place}{f' (equivalent: {reason})' if reason else ''}")


if __name__ == "__main__":
    main()
