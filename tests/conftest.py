"""How many processes `pytest -n auto` takes, and what their collector of garbage leaves alone."""

from __future__ import annotations

import gc
import os
from typing import Any

import psutil
import pytest

WAITING = 2
"""Processes beside one for each processor. Tests wait for clusters, for processes that they start and for
time limits: on two processors all of them took 712 s by two, and 522 by four."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: Any) -> int | None:
    """Take a few more than there are processors, unless xdist's own variable says how many."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return (psutil.cpu_count(logical=False) or os.cpu_count() or 1) + WAITING


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect tests without looking for garbage: nearly all of what that makes lives on."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from here on, but not among modules and thousands of tests each time."""
    gc.freeze()
    gc.enable()
