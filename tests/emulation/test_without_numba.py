"""A run on a GPU imports no code of the CPU's twins, and so no Numba, whose import takes 0.4 s."""

from __future__ import annotations

from pathlib import Path

from tests.pipeline.cli_case import python

PROGRAM = """\
import os, sys
sys.modules["numba"] = None  # whoever imports it fails, and the traceback names the way there
from tests.emulation import device_cupy
device_cupy.install()
from gravel.pipeline.core.hardware import FAKE
os.environ[FAKE] = "1x8GiB"
from gravel.pipeline.cli import main
from gravel.pipeline.scheduler import placement
placement.MIN_BYTES = 1
main(["run", "workflows/quickstart.yaml", "--set", "scale=8", "--set", "sources=2", "--cache", {cache!r}])
"""


def test_the_quickstart_on_a_gpu_needs_no_numba(tmp_path: Path) -> None:
    ended = python(PROGRAM.format(cache=str(tmp_path)))
    logs = "\n".join(file.read_text() for file in tmp_path.rglob("*.log"))
    assert ended.returncode == 0, ended.stderr + logs
    assert "on pretended GPU" in ended.stderr
    assert "8 computed" in ended.stderr
