"""`gravel dag`: a workflow as a tree, as an SVG and for Graphviz."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.pipeline.cli_case import bench, gravel
from tests.pipeline.plan.test_plan import Bench

__all__ = ["bench"]


def test_dag_as_a_tree(bench: Bench) -> None:
    bench.run(bench.plan())
    where = ("--where", "order=rcm", "--where", "layout=csr")
    result = gravel("dag", str(bench.file), "--cache", str(bench.cache.root), *where)
    assert result.stdout.splitlines() == [
        "edges (ingest) [cached]",
        "└─ graph (symmetrize) [cached]",
        "   └─ ordered[order=rcm] (reorder) [cached]",
        "      └─ packed[order=rcm,layout=csr] (compress) [cached]",
        "         └─ bfs[order=rcm,layout=csr] (traverse) [cached]",
        "            └─ check[order=rcm,layout=csr] (verify) <- graph [cached]",
        "               └─ summary (report) <- packed[order=rcm,layout=csr], bfs[order=rcm,layout=csr]"
        " [will run]",
    ]


def test_dag_of_entries(bench: Bench) -> None:
    bench.plan()
    lines = gravel("dag", str(bench.file), "--cache", str(bench.cache.root), "--entries").stdout.splitlines()
    assert len(lines) == 7
    assert lines[2].strip() == "└─ ordered (reorder) - 3 runs: 3 waits"


def test_dag_as_svg_and_dot(bench: Bench, tmp_path: Path) -> None:
    plan = bench.plan()
    for name in ("out.svg", "out.dot"):
        target = tmp_path / name
        result = gravel("dag", str(bench.file), "--cache", str(bench.cache.root), "--to", str(target))
        assert result.exit_code == 0, result.output
    root = ElementTree.fromstring((tmp_path / "out.svg").read_text())
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(plan.runs) <= texts
    # Those from graph to the checks follow from the way over the searches, those to summary from the checks.
    lines = len(list(root.iter("{http://www.w3.org/2000/svg}path")))
    checks = [key for key, run in plan.runs.items() if run.entry == "check"]
    others = [key for key in plan.runs if key not in ("edges", "summary")]
    assert lines == len(others) + len(checks)
    dot = (tmp_path / "out.dot").read_text()
    assert dot.count(" -> ") == sum(len(run.upstream) for run in plan.runs.values())
    assert gravel("dag", str(bench.file), "--dot").stdout.startswith('digraph "orderings"')


def test_dag_needs_no_input_files(bench: Bench) -> None:
    bench.plan("stages:\n  edges: {stage: ingest, file: nowhere.txt}\n")
    result = gravel("dag", str(bench.file))
    assert result.exit_code == 0
    assert result.stdout == "edges (ingest)\n"
    assert "drawn without states: there is no file" in result.stderr
