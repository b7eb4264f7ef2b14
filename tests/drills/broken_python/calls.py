"""A plugin of pytest that records which functions of gravel each test calls, and how long it takes.

`GRAVEL_CALLS` names the file that it writes: for each test that passes its seconds and the functions that it
entered, as "file:qualified name". What Numba compiled and what other processes ran is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

_ROOT = f"{Path(__file__).resolve().parents[3]}{os.sep}"
_TESTS: dict[str, dict[str, Any]] = {}
_ENTERED: set[CodeType] = set()


def _note(frame: FrameType, event: str, _: Any) -> None:
    if event == "call":
        _ENTERED.add(frame.f_code)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    _ENTERED.clear()
    threading.setprofile(_note)
    sys.setprofile(_note)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    test = _TESTS.setdefault(report.nodeid, {"seconds": 0.0, "calls": [], "passed": True})
    test["seconds"] += report.duration
    test["passed"] &= report.passed
    if report.when == "teardown":
        test["calls"] = sorted({name for code in list(_ENTERED) if (name := _name(code))})


def _name(code: CodeType) -> str | None:
    path = os.path.realpath(code.co_filename)
    if not path.startswith(_ROOT) or path.startswith(f"{_ROOT}tests"):
        return None
    return f"{path.removeprefix(_ROOT)}:{code.co_qualname.replace('.<locals>', '')}"


def pytest_sessionfinish() -> None:
    passed = {name: test for name, test in _TESTS.items() if test.pop("passed")}
    Path(os.environ["GRAVEL_CALLS"]).write_text(json.dumps(passed))
