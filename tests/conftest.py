"""How many processes `pytest -n auto` takes."""

from __future__ import annotations

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
