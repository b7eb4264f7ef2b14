"""Parameters of tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_among(values: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """Give all of the values, those of `slow` marked as slow."""
    return [pytest.param(each, marks=pytest.mark.slow) if each in slow else each for each in values]
