"""The user's settings of jobs, and their faults with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.scheduler.machine import RunOptions, decide
from gravel.pipeline.workers.slurm_settings import read_slurm_settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file has to be, in a folder that is there."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "gravel").mkdir()
    return tmp_path / "gravel" / "slurm.yaml"


def test_settings_decide_what_a_run_plans_with(file: Path, tmp_path: Path) -> None:
    file.write_text(
        "queue: gpu\nwalltime: 4 h\ncores: 32\nmemory: 256 GiB\ngpus: 1\ndevice_memory: 76 GiB\n"
        'directives: ["--account=graphs"]\n'
    )
    found = read_slurm_settings()
    assert (found.time, found.jobs, found.directives) == ("04:00:00", 8, ("--account=graphs",))
    environment = decide(RunOptions(cache_root=tmp_path, cluster="slurm"))
    assert (environment.backend, environment.cores) == ("cuda", 32)
    assert environment.capacity.host_bytes == int(0.9 * (256 << 30))
    assert environment.capacity.device_bytes == 76 << 30
    file.write_text("walltime: 4 h\ncores: 32\nmemory: 256 GiB\n")
    assert decide(RunOptions(cache_root=tmp_path, cluster="slurm")).backend == "cpu"
    with pytest.raises(RequestError, match="--backend cuda asks for GPUs, and jobs have none"):
        decide(RunOptions(cache_root=tmp_path, cluster="slurm", backend="cuda"))


def test_faults_are_reported_together_with_their_lines(file: Path) -> None:
    file.write_text("qeue: gpu\nwalltime: soon\ncores: 0\nmemory: 256 Gigs\ndirectives: 3\n")
    with pytest.raises(WorkflowError) as raised:
        read_slurm_settings()
    found = {problem.location.line: problem for problem in raised.value.problems if problem.location}
    assert set(found) == {1, 2, 3, 4, 5}
    assert found[1].message == "there is no setting 'qeue'"
    assert found[1].hint == "did you mean 'queue'?"
    assert "`walltime` is 'soon': 'soon' is no length of time; write it like 10 min" in found[2].message
    assert "`cores` is '0': expected: greater than or equal to 1" in found[3].message
    assert "'256 Gigs' is not a size in bytes" in found[4].message
    assert all(str(file) == problem.location.file for problem in found.values() if problem.location)


@pytest.mark.parametrize("text", ["", "- queue\n", "walltime: 4 h\n"])
def test_a_file_that_lacks_what_a_job_needs_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(WorkflowError, match=r"a mapping of settings|'cores' is missing"):
        read_slurm_settings()


def test_without_a_file_it_is_said_what_to_write(file: Path) -> None:
    with pytest.raises(RequestError, match=r"reads .*slurm\.yaml, which is not there") as refused:
        read_slurm_settings()
    assert "cores: 32" in (refused.value.problems[0].hint or "")
