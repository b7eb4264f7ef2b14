"""Commands in this process and in processes of their own, and the packages that few of them need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.core.hardware import hardware
from tests.pipeline.fake_stages import FAKES
from tests.pipeline.plan.test_plan import Bench

ROOT = Path(__file__).resolve().parents[2]
HEAVY = frozenset(
    (
        "numpy",
        "zarr",
        "dask",
        "distributed",
        "numba",
        "cupy",
        "pyarrow",
        "matplotlib",
        "rich",
        "pandas",
        "scipy",
    )
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr("gravel.pipeline.workflow.loader.known_stages", lambda: FAKES)
    found = Bench(tmp_path)
    found.hardware = hardware("cpu")
    return found


def gravel(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def plan(bench: Bench, *arguments: str) -> Result:
    return gravel("plan", str(bench.file), "--cache", str(bench.cache.root), "--backend", "cpu", *arguments)


def python(code: str, cwd: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60, **options
    )


def loaded(
    *words: str, of: Iterable[str] = HEAVY, before: str = "", cwd: Path = ROOT, **environment: str
) -> tuple[str, set[str]]:
    """What a command prints in a process of its own, and which of these modules it loads."""
    code = f"""\
import sys
{before}
from gravel.pipeline.cli import main
try:
    main({list(words)!r})
finally:
    print("loaded:", *sys.modules, file=sys.stderr)
"""
    ended = python(code, cwd, env=os.environ | environment)
    said, found, names = ended.stderr.partition("loaded:")
    assert found, ended.stderr
    return ended.stdout + said, set(of) & set(names.split())
