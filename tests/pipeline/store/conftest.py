"""An object store that tests exchange results through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.store.s3_server import Line, line_to_bucket, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run the store; its address."""
    with s3_server() as address:
        yield address


@pytest.fixture
def line(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """Make a bucket, and a line to it that is the only way there; nothing is tried for long."""
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(tmp_path / "tiers"))
    monkeypatch.setattr("gravel.stages.remote.object_store.RETRIES", 1)
    monkeypatch.setattr("gravel.pipeline.store.remote.PAUSE_SECONDS", 0.0)
    with line_to_bucket(server, monkeypatch) as line:
        yield line
