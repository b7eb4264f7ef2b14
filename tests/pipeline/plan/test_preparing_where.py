"""What `plan` says of where partition and compress run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.plan.test_verify_where import asked, plan_of

WORKFLOW = """\
workflow: prepared
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  parts: {{stage: partition, input: graph, ranks: 2}}
  stripes: {{stage: partition, input: graph, ranks: 2, scheme: striped}}
  packed: {{stage: compress, input: graph}}
  packed_parts: {{stage: compress, input: parts}}
"""
STAGES = ("parts", "stripes", "packed", "packed_parts")


def given(folder: Path, scale: int, *words: str) -> tuple[Path, tuple[str, ...]]:
    path = folder / "prepared.yaml"
    path.write_text(WORKFLOW.format(scale=scale))
    return path, ("--backend", "cuda", "--host-memory", "100TiB", *words)


def test_a_gpu_prepares_what_fits_it_at_once_or_in_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "1x80GiB")
    for scale in (10, 26, 30):
        path, words = given(tmp_path, scale)
        stages = plan_of(path, *words)
        for name in STAGES:
            assert 0 < stages[name]["device_bytes"] <= 76 << 30
            assert stages[name]["note"] == ""
        assert "on the CPU" not in asked("plan", path, *words)[1]


def test_plan_says_why_the_cpu_prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAVEL_FAKE_DEVICES", "1x80GiB")
    path, words = given(tmp_path, 27, "--device-memory", "64MiB")
    text = asked("plan", path, *words)[1]
    assert text.count("on the CPU: partition needs") == 1  # stripes fit
    assert text.count("on the CPU: compress needs") == 2
    assert text.count("MiB of GPU memory, and 64 MiB are free") == 4
