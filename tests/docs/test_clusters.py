"""The recipes of docs/clusters.md: commands are read by what they are for, and the Slurm script runs."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from distributed.cli import dask_scheduler, dask_worker
from ruamel.yaml import YAML

from gravel.pipeline.cli.run import command as run_command
from tests.docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "clusters.md"
PARSERS = {
    ("dask", "scheduler"): dask_scheduler.main,
    ("dask", "worker"): dask_worker.main,
    ("gravel", "run"): run_command,
}


def parsed(words: list[str]) -> dict[str, Any]:
    """Have a command's own command line read its options; raises for one that it does not know."""
    program, verb, *rest = words
    parameters: dict[str, Any] = PARSERS[program, verb].make_context(verb, rest).params
    return parameters


def test_commands_have_the_options_that_they_are_given() -> None:
    found = []
    for block in blocks_of(PAGE):
        if block.language == "sh":
            lines = block.text.replace("\\\n", " ").splitlines()
            found += [line for line in lines if line.startswith(("dask ", "gravel "))]
    assert len(found) >= 6
    for line in found:
        parsed(shlex.split(line.replace("$HOSTNAME", "node1")))


def test_manifests_fit_together() -> None:
    texts = [block.text for block in blocks_of(PAGE) if "apiVersion" in block.text]
    by_kind = {each["kind"]: each for each in (YAML(typ="safe", pure=True).load(text) for text in texts)}
    assert set(by_kind) == {"PersistentVolumeClaim", "Service", "Deployment", "StatefulSet", "Job"}
    service = by_kind["Service"]
    scheduler = by_kind["Deployment"]["spec"]["template"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert service["spec"]["selector"].items() <= scheduler["metadata"]["labels"].items()
    roots = set()
    for kind in ("Deployment", "StatefulSet", "Job"):
        spec = by_kind[kind]["spec"]["template"]["spec"]
        container = spec["containers"][0]
        given = parsed(container["command"])
        if kind == "Deployment":
            assert str(service["spec"]["ports"][0]["targetPort"]) in container["command"]
            continue
        assert address in (given.get("scheduler"), given.get("cluster"))
        assert spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == "gravel-cache"
        roots.add(container["volumeMounts"][0]["mountPath"])
        if kind == "Job":
            assert given["cache_path"].startswith(tuple(roots))
    assert len(roots) == 1  # workers and run see the cache under one path


def slurm_script(folder: Path, *, tail: str) -> Path:
    """Write the page's script for a folder in the place of /shared, with another ending."""
    text = next(block.text for block in blocks_of(PAGE) if block.mark == "slurm.py")
    text = text.replace("/shared", str(folder)).replace('"256GB"', '"1GB"')
    before, scale, _ = text.partition("    cluster.scale(jobs=4)\n")
    assert scale
    script = folder / "slurm.py"
    script.write_text(before + tail)
    return script


def test_the_job_that_slurm_gets_is_a_script_with_a_worker(tmp_path: Path) -> None:
    script = slurm_script(tmp_path, tail="    print(cluster.job_script())\n    cluster.close()\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    job = done.stdout
    assert subprocess.run(["bash", "-n"], input=job, text=True, check=False).returncode == 0
    for line in ("-p gpu", "-A graphs", "-t 04:00:00", "--cpus-per-task=32", "--gres=gpu:1"):
        assert f"#SBATCH {line}\n" in job
    words = shlex.split(next(line for line in job.splitlines() if "dask_worker" in line))
    given = parsed(["dask", "worker", *words[3:]])
    assert (given["nthreads"], given["memory_limit"], given["nanny"]) == (1, "0", True)
    assert given["scheduler"].startswith("tcp://")


SBATCH = """\
#!/bin/bash
setsid bash "${@: -1}" > "$0.log" 2>&1 < /dev/null &
echo $! >> "$0.jobs"
echo "Submitted batch job $!"
"""


@pytest.mark.slow
def test_a_run_on_jobs_of_a_stand_in_for_slurm(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", "#!/bin/bash\nkill -- -$1\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    script = slurm_script(tmp_path, tail="    cluster.scale(jobs=2)\n    signal.pause()\n")
    service = subprocess.Popen([sys.executable, script], env=environment, cwd=tmp_path)
    try:
        file = tmp_path / "scheduler.json"
        limit = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < limit
            time.sleep(0.05)
        from distributed import Client

        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        command = [sys.executable, "-c", "from gravel.pipeline.cli import main; main()", "run"]
        command += [str(ROOT / "workflows" / "quickstart.yaml"), "--set", "scale=8"]
        command += ["--scheduler-file", str(file), "--cache", str(tmp_path / "cache"), "--backend", "cpu"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stderr
        record = next((tmp_path / "cache" / "runs").glob("*/run.json")).read_text()
        assert re.search(r"existing, 2 workers.* at tcp://", record)
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(30)
        for job in (tools / "sbatch.jobs").read_text().split():
            subprocess.run(["bash", "-c", f"kill -9 -- -{job} 2>/dev/null"], check=False)
