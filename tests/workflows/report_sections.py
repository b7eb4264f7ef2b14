"""What the reports of a workflow say, section by section."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.cli import main

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"


def run(name: str, cache: Path, *words: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Run a workflow inline on the CPU and return the sections of its reports by key and title."""
    arguments = [str(WORKFLOWS / f"{name}.yaml"), "--cache", str(cache), "--cluster", "inline", *words]
    with pytest.raises(SystemExit) as stop:
        main.main(["run", *arguments, "--backend", "cpu"])
    assert not stop.value.code
    latest = max(cache.glob("runs/*/report.json"), key=lambda path: path.stat().st_mtime)
    bodies = json.loads(latest.read_text())["reports"]
    return {
        body["key"].partition("[")[0]: {section["title"]: section for section in body["sections"]}
        for body in bodies
    }
