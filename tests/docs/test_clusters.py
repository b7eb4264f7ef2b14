"""The recipes of docs/clusters.md: what they name is there, and what reads them accepts them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from distributed.cli import dask_scheduler, dask_worker
from ruamel.yaml import YAML

from gravel.pipeline.cli.run import command as run_command
from gravel.pipeline.trust.keys import KEY_FILE
from gravel.pipeline.workers.slurm_settings import SlurmSettings, read_slurm_settings
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
    assert set(by_kind) == {"Service", "Deployment", "StatefulSet", "Job"}
    service = by_kind["Service"]
    scheduler = by_kind["Deployment"]["spec"]["template"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert service["spec"]["selector"].items() <= scheduler["metadata"]["labels"].items()
    made = {
        word
        for block in blocks_of(PAGE)
        for line in block.text.splitlines()
        if line.startswith("kubectl create secret generic")
        for word in line.split()[4:5]
    }
    for kind in ("Deployment", "StatefulSet", "Job"):
        spec = by_kind[kind]["spec"]["template"]["spec"]
        container = spec["containers"][0]
        given = parsed(container["command"])
        if kind == "Deployment":
            assert str(service["spec"]["ports"][0]["targetPort"]) in container["command"]
            continue
        assert address in (given.get("scheduler"), given.get("cluster"))
        secret = spec["volumes"][0]["secret"]
        assert {secret["secretName"], container["envFrom"][0]["secretRef"]["name"]} == made
        assert secret["defaultMode"] == 440  # octal for Kubernetes, which reads YAML 1.1
        mounted = container["volumeMounts"][0]["mountPath"]
        assert {"name": KEY_FILE, "value": f"{mounted}/key"} in container["env"]
        if kind == "Job":
            assert given["cache_path"].startswith("s3://")


def test_settings_of_jobs_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = next(block.text for block in blocks_of(PAGE) if "walltime" in block.text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "gravel").mkdir()
    (tmp_path / "gravel" / "slurm.yaml").write_text(text)
    found = read_slurm_settings()
    assert (found.gpus, found.time, found.jobs, found.start) == (1, "04:00:00", 8, 600.0)
    shown = PAGE.read_text()
    for name in SlurmSettings.model_fields:
        assert f"{name}: " in text or f"| `{name}` |" in shown or name == "account"
