"""gravel without the folder of papers: everything runs, and what needs a paper is refused with what to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import folder_path

ROOT = Path(__file__).resolve().parents[3]

WITHOUT = (
    "needs the folders stages/papers and kernels/papers, and this copy of gravel lacks one: install gravel "
    "with both, or leave {} out"
)

IMPORT_ALL = """
import importlib, json, pkgutil
import gravel.stages, gravel.kernels
from gravel.stages.sections.page import all_sections
from gravel.stages.stage import has_papers
assert not has_papers()
for package in (gravel.stages, gravel.kernels):
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not each.name.startswith("gravel.stages.papers"):
            importlib.import_module(each.name)
print(json.dumps([each.make.__name__ for each in all_sections()]))
"""


@pytest.fixture(scope="module", params=["stages", "kernels"])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of gravel without `stages/papers`, and one without `kernels/papers`."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "gravel", tree / "gravel", symlinks=True)
    for name in ("stages", "kernels", "pipeline", "docs"):
        if name == request.param:
            less = shutil.ignore_patterns("papers", "__pycache__")
            shutil.copytree(ROOT / name, tree / name, ignore=less)
        else:
            (tree / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "workflows", tree / "workflows", ignore=shutil.ignore_patterns("papers"))
    return tree


def ran(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(tree),
            "GRAVEL_CACHE": str(tree / "cache"),
            "GRAVEL_COMPILED": str(folder_path()),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def gravel(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ran(tree, "-c", f"from gravel.pipeline.cli import main; main.main({list(words)!r})")


def test_every_module_can_be_imported_and_has_sections(tree: Path) -> None:
    done = ran(tree, "-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert "measurement_sections" in made
    assert not {"culling_sections", "published_sections", "probe_sections"} & set(made)


def test_help_and_the_list_of_stages(tree: Path) -> None:
    assert "Usage" in gravel(tree, "--help").stdout
    listed = gravel(tree, "stages").stdout.split()
    assert "traverse" in listed
    assert "probe" not in listed
    assert gravel(tree, "stages", "traverse").returncode == 0


def test_the_quickstart_runs_to_its_page(tree: Path) -> None:
    words = ("workflows/quickstart.yaml", "--set", "scale=6", "--cluster", "inline", "--backend", "cpu")
    done = gravel(tree, "run", *words)
    assert done.returncode == 0, done.stderr
    (page,) = tree.glob("cache/runs/*/report.json")
    titles = [each["title"] for each in json.loads(page.read_text())["reports"][0]["sections"]]
    assert "Traversal times and rates" in titles
    assert "Memory of partitions against table I" not in titles


@pytest.mark.parametrize(
    ("stage", "parameter", "refused"),
    [
        ("traverse", "paper: pan2018", f"paper 'pan2018' {WITHOUT.format('paper')}"),
        ("compress", "paper: moschou", f"paper 'moschou' {WITHOUT.format('paper')}"),
        ("partition", "paper: pan2018, ranks: 2", f"paper 'pan2018' {WITHOUT.format('paper')}"),
        ("report", "predict: true", f"predict {WITHOUT.format('predict')}"),
        ("report", "published: published.yaml", f"published {WITHOUT.format('published')}"),
    ],
)
def test_what_needs_a_paper_is_refused_with_what_to_do(
    tree: Path, stage: str, parameter: str, refused: str
) -> None:
    (tree / "published.yaml").write_text("papers: {}\n")
    given = "inputs: [graph]" if stage == "report" else "input: graph"
    (tree / "w.yaml").write_text(
        "workflow: w\nstages:\n  edges: {stage: ingest, file: workflows/graphs/example.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        f"  own: {{stage: {stage}, {given}, {parameter}}}\n"
    )
    done = gravel(tree, "plan", "w.yaml")
    assert done.returncode == 2
    assert refused in " ".join(done.stderr.split())
