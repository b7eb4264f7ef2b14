"""gravel is imported under one name, however it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gravel
from gravel.pipeline.plugins.old_imports import old_import

ROOT = Path(__file__).resolve().parents[1]


def test_no_module_is_loaded_under_a_bare_name(tmp_path):
    (tmp_path / "w.yaml").write_text((ROOT / "workflows" / "quickstart.yaml").read_text())
    code = (
        "import sys\nfrom gravel.pipeline.cli import main\n"
        "try:\n    main(['run', 'w.yaml', '--set', 'scale=6', '--cluster', 'inline', '-q'])\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "bare = ('pipeline', 'stages', 'kernels')\n"
        "print([name for name in sys.modules if name.partition('.')[0] in bare])\n"
        "print(len([name for name in sys.modules if name.startswith('gravel.kernels.')]) > 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"GRAVEL_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["[]", "True"]


def test_a_workflow_runs_from_python(tmp_path):
    file = ROOT / "workflows" / "quickstart.yaml"
    done = gravel.run(file, set={"scale": 6}, cache=tmp_path, cluster="inline")
    assert {each["state"] for each in done.record["stages"]} == {"computed"}
    assert done.report is not None
    assert done.report.is_file()
    again = gravel.run(file, set={"scale": 6}, cache=tmp_path, cluster="inline")
    assert {each["state"] for each in again.record["stages"]} == {"cached"}


def test_a_failure_is_raised_with_what_failed(tmp_path):
    (tmp_path / "w.yaml").write_text(
        "workflow: path\nstages:\n  edges: {stage: ingest, file: e.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    (tmp_path / "e.txt").write_text("0 1\n0 x\n")
    with pytest.raises(gravel.RunFailed, match=r"edges: .*e\.txt:2"):
        gravel.run(tmp_path / "w.yaml", cache=tmp_path / "cache", cluster="inline")


@pytest.mark.parametrize(
    ("text", "line", "module"),
    [
        ("import numpy\nfrom stages.stage import Stage\n", 2, "stages.stage"),
        ("from kernels import csr\n", 1, "kernels.csr"),
        ("def f():\n    import pipeline.core.errors\n", 2, "pipeline.core.errors"),
    ],
)
def test_old_names_are_found(text, line, module):
    assert old_import(text.encode()) == (line, f"{module} is gravel.{module} now: import that")


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (
            "from stages.gang import GangBroken\n",
            1,
            "stages.gang is gravel.stages.rank_group, and GangBroken is",
        ),
        ("\nfrom gravel.stages import gang\n", 2, "gravel.stages.gang is gravel.stages.rank_group"),
        ("def run(context):\n    return context.gang(f, [1])\n", 2, "context.gang is context.rank_group now"),
        ("import pipeline.plugins.conformance\n", 1, "is gravel.conformance now: import that"),
        ("import pipeline.errors\n", 1, "is gravel.pipeline.core.errors now: import that"),
    ],
)
def test_renamed_names_are_found_with_what_replaces_them(text, line, sentence):
    found = old_import(text.encode())
    assert found is not None
    assert found[0] == line
    assert sentence in found[1]


@pytest.mark.parametrize(
    "text",
    ["from gravel.stages.stage import Stage\n", "from kernels import get_kernel\n", "import stages_of\n"],
)
def test_other_names_are_no_concern(text):
    assert old_import(text.encode()) is None
