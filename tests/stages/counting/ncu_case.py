"""A program called ncu that writes what the tool would, and a stand-in for CuPy where it runs ours."""

from __future__ import annotations

import os
import stat
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parent / "ncu" / "plain.csv"
SAMPLE = TABLE.read_text()

FAKE = """
    import os, subprocess, sys, time
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 1)")
        sys.exit(0)
    log = arguments[arguments.index("--log-file") + 1]
    metrics = arguments[arguments.index("--metrics") + 1].split(",")
    program = arguments[arguments.index("--metrics") + 2 :]
    def write(text):
        with open(log, "w") as file:
            file.write(text)
    def sample():
        return open({sample!r}).read()
    def search():
        subprocess.run(program, check=True)
    def searched(same):
        with open(os.path.join(program[-1], "found.json"), "w") as file:
            file.write('{"same": %s}' % same)
"""

FAKE_CUPY = """
    from types import SimpleNamespace
    class Device:
        def __init__(self, number=0): assert number == 0
        def use(self): pass
        def synchronize(self): pass
    class ndarray: pass
    runtime = SimpleNamespace(profilerStart=lambda: print("start"), profilerStop=lambda: print("stop"))
    cuda = SimpleNamespace(Device=Device, runtime=runtime)
"""


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a program called ncu on the PATH that does `body`, and a stand-in for CuPy before it."""
    programs, packages = tmp_path / "bin", tmp_path / "packages"
    programs.mkdir()
    packages.mkdir()
    (packages / "cupy.py").write_text(textwrap.dedent(FAKE_CUPY))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def make(body: str) -> None:
        path = programs / "ncu"
        head = FAKE.replace("{sample!r}", repr(str(TABLE)))
        path.write_text(f"#!{sys.executable}\n{textwrap.dedent(head)}\n{textwrap.dedent(body)}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return make
