"""A plugin of pytest that counts what gravel ran of NetworkX's tests, and writes it as JSON.

It is for the process that `tests.gravel.networkx.suite` starts; `GRAVEL_SUITE_COUNTS` names the file.
"""

import json
import os
from collections import Counter
from functools import wraps
from pathlib import Path

from gravel.networkx.backend import backend
from gravel.networkx.info import MODULE_OF

RAN, LEFT, OUTCOMES, REASONS = Counter(), Counter(), Counter(), Counter()
TESTS = {name: set() for name in MODULE_OF}
FAILED = []
CURRENT = [""]


def _counted(name):
    function = getattr(backend, name)

    @wraps(function)
    def call(*args, **kwargs):
        RAN[name] += 1
        TESTS[name].add(CURRENT[0])
        return function(*args, **kwargs)

    return call


def pytest_configure():
    can_run = backend.can_run

    def counted(name, args, kwargs):
        answer = can_run(name, args, kwargs)
        if answer is not True:
            LEFT[f"{name}: {answer}"] += 1
        return answer

    backend.can_run = counted
    for name in MODULE_OF:
        setattr(backend, name, _counted(name))


def pytest_runtest_setup(item):
    CURRENT[0] = item.nodeid


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        kind = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        OUTCOMES[kind] += 1
        if kind == "skipped":
            REASONS[report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)] += 1
        if kind == "xfailed":
            REASONS[report.wasxfail] += 1
        if kind == "failed":
            FAILED.append(report.nodeid)


def pytest_sessionfinish():
    counts = {
        "offered": len(MODULE_OF),
        "calls": dict(RAN),
        "tests": {name: len(tests) for name, tests in TESTS.items()},
        "tests_with_gravel": len(set().union(*TESTS.values())),
        "left": dict(LEFT),
        "outcomes": dict(OUTCOMES),
        "reasons": dict(REASONS),
        "failed": FAILED,
    }
    Path(os.environ["GRAVEL_SUITE_COUNTS"]).write_text(json.dumps(counts))
