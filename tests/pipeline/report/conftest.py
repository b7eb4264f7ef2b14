"""A page with every kind of picture, and what a browser keeps, for all tests that open one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.report.sample import write_sample


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The page, and the titles of its figures."""
    return write_sample(tmp_path_factory.mktemp("runs") / "20261120-100000-sample-0001")
