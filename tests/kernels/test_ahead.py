"""Kernels are compiled once: whoever needs one that another process compiles waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import Folder
from tests.parameters import slow_among

COMPILES = """\
import os, sys
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, each): compiled.append(each.data["dispatcher"].py_func.__module__)
    def on_end(self, each): pass
event.register("numba:compile", Listener())
from gravel.kernels.ahead import compile_search
compile_search({"layout": "varint", "symmetric": True})
print(sum(module.startswith("gravel.") for module in compiled))
"""

JOB = '[{"layout": "varint", "symmetric": true}]'
CSR = '[{"layout": "csr", "symmetric": false}]'


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "GRAVEL_COMPILED": str(folder)}


def _run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=_environment(folder), stdout=subprocess.PIPE, text=True, check=True
    ).stdout


@pytest.mark.parametrize("job", slow_among([JOB, CSR], {CSR}))
def test_a_mark_says_that_all_was_compiled(tmp_path: Path, job: str) -> None:
    _run(tmp_path / "compiled", "-m", "gravel.kernels.ahead", job, "mark")
    assert Folder(tmp_path / "compiled").read("mark") == b""


def test_a_job_that_cannot_be_done_leaves_no_mark(tmp_path: Path) -> None:
    job = '[{"layout": "varint", "symmetric": true, "strategy": "no such"}]'
    _run(tmp_path / "compiled", "-m", "gravel.kernels.ahead", job, "mark")
    assert Folder(tmp_path / "compiled").read("mark") is None


@pytest.mark.slow
def test_a_search_compiles_nothing_that_was_compiled_ahead(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    _run(folder, "-m", "gravel.kernels.ahead", JOB, "mark")
    assert int(_run(folder, "-c", COMPILES)) == 0
