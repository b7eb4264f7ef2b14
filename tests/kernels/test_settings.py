"""Settings of the user's that a library refuses are named as such, and are no defect of gravel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gravel.kernels.settings import BadSetting, refuse_bad_settings, setting_at_fault


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("NUMBA_NUM_THREADS", "0", True),
        ("NUMBA_NUM_THREADS", " -3 ", True),
        ("NUMBA_NUM_THREADS", "2", False),
        ("NUMBA_NUM_THREADS", "many", False),
        ("NUMBA_NUM_THREADS", "", False),
    ],
)
def test_a_variable_that_numba_cannot_use_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, refused: bool
) -> None:
    monkeypatch.setenv(name, value)
    if not refused:
        refuse_bad_settings()
        return
    with pytest.raises(BadSetting, match=f"{name} is '{value}'.*set"):
        refuse_bad_settings()


RUN = """
import sys
from gravel.pipeline.cli.program import program
sys.argv[1:] = ["run", "w.yaml", "--cache", "cache", *sys.argv[1:]]
program()
"""
WORKFLOW = """workflow: w
stages:
  edges: {stage: ingest, source: {rmat: {scale: 4}}}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.mark.parametrize(
    ("variables", "file", "cluster", "told"),
    [
        ({"NUMBA_NUM_THREADS": "0"}, None, "inline", "NUMBA_NUM_THREADS is '0'"),
        ({"DASK_CONFIG": "dask"}, "dask/x.yaml", "local", "Dask's settings cannot be used"),
        ({}, ".numba_config.yaml", "inline", "Numba's settings cannot be used"),
    ],
)
def test_a_setting_at_fault_is_no_defect(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    file: str | None,
    cluster: str,
    told: str,
) -> None:
    """It was "this is a defect of gravel; please report it"."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    if file is not None:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("distributed: [oops\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--cluster", cluster], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr
    if file is not None:
        assert Path(file).name in done.stderr


def test_other_errors_are_not_of_a_setting() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    assert setting_at_fault(caught.value) is None
