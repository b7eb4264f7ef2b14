"""What a command imports: nothing that it has no use for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gravel.pipeline.core.devices import FAKE
from tests.pipeline.cli_case import HEAVY, bench, python, script
from tests.pipeline.test_plan import Bench

__all__ = ["bench"]


@pytest.mark.parametrize("full", [False, True])
def test_a_plan_imports_nothing_heavy(bench: Bench, full: bool) -> None:
    found = bench.plan()
    if full:
        bench.run(found)
    ended = python(script(bench, "--backend", "cpu"))
    assert ended.returncode == 0, ended.stderr
    assert ("24 cached" if full else "1 will run") in ended.stdout
    assert "heavy: []" in ended.stderr


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize("workflow", ["quickstart", "orderings"])
def test_a_plan_of_a_workflow_imports_nothing_heavy(tmp_path: Path, workflow: str, backend: str) -> None:
    """The real stages and the strategies that they validate against stay light, too."""
    code = f"""\
import sys
from gravel.pipeline.cli import main
try:
    main(["plan", "workflows/{workflow}.yaml", "--cache", {str(tmp_path)!r}, "--backend", {backend!r}])
finally:
    print("heavy:", sorted({{name.split(".")[0] for name in sys.modules}} & {HEAVY!r}), file=sys.stderr)
"""
    ended = python(code, env={**os.environ, FAKE: "1x80GiB"})
    assert f"backend: {backend}" in ended.stdout, ended.stderr
    assert "heavy: []" in ended.stderr


def test_help_imports_next_to_nothing() -> None:
    code = """\
import sys
from gravel.pipeline.cli import main
try:
    main(["--help"])
finally:
    print("pydantic" in sys.modules, "ruamel.yaml" in sys.modules, file=sys.stderr)
"""
    ended = python(code)
    assert "Commands:" in ended.stdout
    assert ended.stderr.split() == ["False", "False"]
