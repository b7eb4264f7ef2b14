"""Runs of workflows and of data files from Python: what is shown, and scripts without a guard."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import spawn
from pathlib import Path

import pytest

import gravel
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.workers.settings import WORKER, start_without_main
from tests.gravel.results.test_run import WORKFLOW

SCRIPT = """
import gravel

print("starts")
run = gravel.run({workflow!r}, cache={cache!r}, cluster={cluster!r}, workers=2)
print(run["one"].levels)
"""


@pytest.mark.parametrize(
    "cluster",
    [pytest.param("local", marks=pytest.mark.slow), pytest.param("cuda", marks=pytest.mark.gpu)],
)
def test_a_script_without_a_guard_runs_once(tmp_path: Path, cluster: str) -> None:
    (tmp_path / "edges.txt").write_text("10 20\n20 30\n40 50\n")
    workflow = tmp_path / "w.yaml"
    workflow.write_text(WORKFLOW.replace("edges.txt", str(tmp_path / "edges.txt")))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(workflow=str(workflow), cache=str(tmp_path / "cache"), cluster=cluster))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["starts", "[1, 2]"]


def test_workers_alone_start_without_the_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
    worker = f"{WORKER} (from Nanny)"
    main = spawn.get_preparation_data(worker).keys() & {"init_main_from_path", "init_main_from_name"}
    assert main
    first, second = start_without_main(), start_without_main()
    first()
    # Another run of this process has workers still.
    assert not main & spawn.get_preparation_data(worker).keys()
    assert main < spawn.get_preparation_data("SpawnProcess-1").keys()
    second()
    assert main < spawn.get_preparation_data(worker).keys()


def test_a_file_of_data_is_searched_by_the_default_workflow(tmp_path):
    (tmp_path / "edges.txt").write_text("ann bob\nbob cy\ndan ed\n")
    options = {"cache": tmp_path / "cache", "cluster": "inline"}
    run = gravel.run(tmp_path / "edges.txt", sources="bob", **options)
    [search] = [each for each in (run[name] for name in run) if isinstance(each, gravel.Search)]
    assert (search.source, search.levels) == ("bob", [1, 2])
    run = gravel.run(tmp_path / "edges.txt", sources=["ann", "ed"], **options)
    [searches] = [each for each in (run[name] for name in run) if isinstance(each, list)]
    assert [each.levels for each in searches] == [[1, 1, 1], [1, 1]]
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    with pytest.raises(RequestError, match=r"w\.yaml is a workflow"):
        gravel.run(tmp_path / "w.yaml", sources="ann", **options)


def test_ids_with_commas_are_sources(tmp_path):
    (tmp_path / "edges.csv").write_text('source,target\n"a, b",c\nc,"d ""e"""\n')
    run = gravel.run(
        tmp_path / "edges.csv", sources=["a, b", 'd "e"'], cache=tmp_path / "cache", cluster="inline"
    )
    [searches] = [each for each in (run[name] for name in run) if isinstance(each, list)]
    assert [each.source for each in searches] == ["a, b", 'd "e"']
