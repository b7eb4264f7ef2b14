"""gravel without the kernels of papers: the rest is found and runs, and what needs one is refused by name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import folder_path
from gravel.kernels.papers import bfs, components
from tests.kernels.test_strategy import unlisted

ROOT = Path(__file__).resolve().parents[3]

MAIN_TESTS = (
    *("kernels/test_strategy.py", "kernels/test_buffers.py", "kernels/components/test_components.py"),
    *("kernels/bfs/test_query.py", "kernels/bfs/test_shape.py", "stages/traversal/test_parameters.py"),
)

ASK = """
import numpy
from gravel.kernels.bfs import prepare
from gravel.kernels.bfs.cuda.top_down import prepare as top_down
path = numpy.array([0, 1, 3, 4]), numpy.array([1, 0, 2, 1], numpy.uint32)
assert prepare(*path, symmetric=True, output="distance").run(0).distance.tolist() == [0, 1, 2]
for ask in (
    lambda: prepare(*path, symmetric=True, strategy="two_phase"),
    lambda: top_down(None, None, decoder="one_lane"),
):
    try:
        ask()
    except ValueError as refusal:
        print(refusal)
"""

LEFT = ", ".join(
    [
        *("direction_optimizing", "expand_contract", "host_rows", "hybrid", "multi_source"),
        *("persistent", "serial", "streamed", "top_down"),
    ]
)

PROBES = "gravel.kernels.papers.merrill2012.probes:prepare"
"""Of parts of a search, which is no strategy."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of gravel without `kernels/papers`, and of the tests without theirs."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "gravel", tree / "gravel", symlinks=True)
    for name in ("kernels", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("papers", "__pycache__"))
    for name in ("stages", "pipeline", "docs", "workflows", "pyproject.toml"):
        (tree / name).symlink_to(ROOT / name)
    return tree


def ran(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tree), "GRAVEL_CACHE": str(tree / "cache")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env={**paths, "GRAVEL_COMPILED": str(folder_path())},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("folder", ["baselines", "flexbfs", "merrill2012", "moschou"])
def test_every_search_of_papers_is_in_the_table(folder: str) -> None:
    assert {*unlisted(f"gravel.kernels.papers.{folder}")} <= {PROBES}


@pytest.mark.parametrize("table", [bfs.STRATEGIES, components.STRATEGIES])
def test_auto_stands_for_none_of_them(table: dict[str, bfs.Strategy]) -> None:
    assert [name for name, each in table.items() if each.automatic] == []


def test_a_search_that_is_not_there_is_refused_with_those_that_are(tree: Path) -> None:
    done = ran(tree, "-c", ASK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"unknown BFS strategy 'two_phase'; there are {LEFT}",
        "decoder is 'one_lane'; it can be warp",
    ]


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ("sources: [1], strategy: quadratic", LEFT),
        ("algorithm: components, strategy: afforest_multi_pass", "afforest, afforest_tiles"),
        ("sources: [1], strategy: top_down, tuning: {decoder: one_lane}", "takes one of 'warp'"),
    ],
)
def test_a_workflow_that_asks_for_one_is_refused_at_its_line(tree: Path, given: str, refused: str) -> None:
    (tree / "w.yaml").write_text(
        "workflow: w\nstages:\n  edges: {stage: ingest, file: workflows/graphs/example.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        f"  own: {{stage: traverse, input: graph, {given}}}\n"
    )
    done = ran(tree, "-c", "from gravel.pipeline.cli import main; main.main(['plan', 'w.yaml'])")
    assert done.returncode == 2
    assert refused in " ".join(done.stderr.split()), done.stderr
    assert "w.yaml:5" in done.stderr


def test_the_main_tests_pass(tree: Path) -> None:
    files = (f"tests/{each}" for each in MAIN_TESTS)
    done = ran(tree, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout
