"""What stages state that they take of a GPU, against an emulated one, whose arrays and pool are as large.

Peaks of a real GPU were within 1 % of the emulated ones, of searches within 3 %.
`tests/stages/test_sizes.py` measures there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stages.statements.cases import CASES
from tests.stages.statements.measuring import ROOT, made, names
from tests.stages.statements.record import LARGE_FIXED, NOISE, ROOM, table_line

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="emulated kernels are compiled with g++"),
    pytest.mark.timeout(900),
]

SCALE, SMALL = 14, 12
"""Of graphs: an emulated GPU takes seconds for one with half a million arcs, minutes for eight."""

FIXED = 1 << 20
"""Bytes that a statement may lie above what was taken, beside the room."""

MORE_FIXED = {
    "bfs": (3 << 20, "levels are counted on the device, in pieces as large as these graphs, if results stay"),
    "persistent": (21 << 20, "queues of 132 multiprocessors, of which an emulated GPU has two"),
    "verify": (5 << 20, "a margin"),
    "pinned": (1 << 19, "a log of many levels, which components have none of"),
    "compress": (24 << 20, "codecs of which the largest is stated, and parts of a fixed size"),
}
"""By a word of their names, and why."""

SOON = ["graph", "bfs direction_optimizing", "components"]
ON_GPU = [name for name, case in CASES.items() if case.gpu and case.measured and case.stage != "ingest"]
ON_GPU += ["edges", "edges of communities"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("statements")


def found(folder: Path, chosen: list[str], scale: int) -> list[str]:
    """Run cases on an emulated GPU, print a line for each, and say which statements are wrong.

    Results that stay there are counted twice where they are what takes most, so that is no fault.
    """
    for name in chosen:
        for given in CASES[name].inputs.values():
            for each in names(given):
                made(folder, each, scale)
    command = [sys.executable, "-m", "tests.stages.statements.emulated", str(folder), str(scale), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    wrong = []
    for line in done.stdout.splitlines():
        case = json.loads(line)
        name, (stated, taken) = case["name"], case["device"]
        told = table_line(f"{name}, kept" if case["keeps"] else name, {str(scale): [stated, taken]})
        print(told)
        if taken > NOISE * stated:
            wrong.append(f"{told}: too small")
        elif not case["keeps"] and stated > ROOM * taken + fixed(name):
            wrong.append(f"{told}: too large")
    return wrong


def fixed(name: str) -> int:
    """Return what a statement may lie above what was taken and the room."""
    more = [size for word, (size, _) in MORE_FIXED.items() if word in name]
    return sum([FIXED, LARGE_FIXED.get((name, "device"), (0, ""))[0], *more])


def test_an_emulated_gpu_takes_what_is_stated(folder: Path) -> None:
    wrong = found(folder, SOON, SMALL)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_ranges_of_other_sizes_leave_nothing_behind(folder: Path) -> None:
    wrong = found(folder, ["graph in ranges"], SCALE)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ON_GPU if name not in SOON])
def test_an_emulated_gpu_takes_what_every_stage_states(folder: Path, name: str) -> None:
    wrong = found(folder, [name], SCALE)
    assert not wrong, "\n".join(wrong)
