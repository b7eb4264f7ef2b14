"""gravel is imported under one name, however it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gravel

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
