"""Runs NetworkX's own tests with every call to a function of gravel's going to gravel.

    python -m tests.gravel.networkx.suite [MODULE ...]

`NETWORKX_TEST_BACKEND` has NetworkX convert each graph and call the backend whatever its size;
`NETWORKX_FALLBACK_TO_NX` has it run what `can_run` refuses itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]

DIRECT = (
    "networkx.algorithms.traversal.tests.test_bfs",
    "networkx.algorithms.shortest_paths.tests.test_unweighted",
    "networkx.algorithms.shortest_paths.tests.test_generic",
    "networkx.algorithms.shortest_paths.tests.test_weighted",
    "networkx.algorithms.components.tests",
    "networkx.algorithms.tests.test_distance_measures",
    "networkx.algorithms.tests.test_core",
    "networkx.algorithms.centrality.tests.test_betweenness_centrality",
    "networkx.algorithms.centrality.tests.test_closeness_centrality",
    "networkx.algorithms.centrality.tests.test_harmonic_centrality",
    "networkx.algorithms.link_analysis.tests.test_pagerank",
)
"""The modules that test gravel's functions by name; `ancestors` and `descendants` are in a slow one."""

ALL = ("networkx",)


MOSTLY_WEIGHTED = "use_bounds_on_off"
"""500 cases of one test, nine in ten of whose calls have weights: they take most of the time."""


def run_suite(modules=DIRECT, timeout=280, without=None):
    """Run modules of NetworkX's tests; returns what `tests.gravel.networkx.counting` counted."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command += ["-p", "tests.gravel.networkx.counting", "-c", os.devnull, "--pyargs", *modules]
        command += ["-k", f"not {without}"] if without else []
        variables = {
            "NETWORKX_TEST_BACKEND": "gravel",
            "NETWORKX_FALLBACK_TO_NX": "True",
            "GRAVEL_SUITE_COUNTS": str(counts),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            "MPLBACKEND": "agg",
        }
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if not counts.exists():
            raise RuntimeError(f"NetworkX's tests did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return {**json.loads(counts.read_text()), "end": done.stdout[-3000:]}


def report(counts):
    """List the counts as lines."""
    ran = [name for name, tests in counts["tests"].items() if tests]
    yield f"functions offered: {counts['offered']}, run by the tests: {len(ran)}"
    for name in sorted(set(counts["tests"]) - set(ran)):
        yield f"  not run: {name}"
    tests = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["outcomes"].items()))
    yield f"tests: {tests}; {counts['tests_with_gravel']} of them called gravel"
    yield f"calls that gravel ran: {sum(counts['calls'].values())}"
    yield f"calls left to NetworkX: {sum(counts['left'].values())}"
    for reason, count in sorted(counts["left"].items()):
        yield f"  {count} x {reason}"
    for reason, count in sorted(counts["reasons"].items()):
        yield f"skipped or expected to fail, {count} x {reason}"
    for test in counts["failed"]:
        yield f"failed: {test}"


if __name__ == "__main__":
    counts = run_suite(sys.argv[1:] or DIRECT, timeout=3000)
    print(*report(counts), sep="\n")
    sys.exit(bool(counts["failed"]))
