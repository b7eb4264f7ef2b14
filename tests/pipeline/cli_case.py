"""Commands in this process and in processes of their own, and the packages that few of them need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.core.hardware import hardware
from tests.pipeline.fake_stages import FAKES
from tests.pipeline.plan.test_plan import Bench

HEAVY = {
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
}


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


def script(bench: Bench, *arguments: str) -> str:
    return f"""\
import sys
import gravel.pipeline.workflow.loader
from tests.pipeline.fake_stages import FAKES
gravel.pipeline.workflow.loader.known_stages = lambda: FAKES
from gravel.pipeline.cli import main
try:
    main(["plan", {str(bench.file)!r}, "--cache", {str(bench.cache.root)!r}, *{arguments!r}])
finally:
    print("heavy:", sorted({{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}), file=sys.stderr)
"""


ROOT = Path(__file__).resolve().parents[2]


def python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )
