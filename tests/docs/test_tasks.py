"""docs/tasks.md: the scripts of the five tasks run, and find what NetworkX and the peers' scripts find."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import networkx
import pandas
import pytest

from tests.docs.blocks import ROOT, blocks_of

SCRIPTS = ROOT / "docs" / "tasks"
PAGE = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
ACCOUNT = "account-0000007"

needs_igraph = pytest.mark.skipif(importlib.util.find_spec("igraph") is None, reason="needs igraph")
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
needs_snakemake = pytest.mark.skipif(shutil.which("snakemake") is None, reason="needs snakemake")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the scripts and their data, and ten of the sixty files."""
    folder = tmp_path_factory.mktemp("tasks")
    shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
    run(folder, "python data.py 2000 20")
    for number in range(10, 60):
        (folder / "graphs" / f"region-{number}.txt").unlink()
    return folder


@pytest.fixture
def place(data: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder, with a cache of its own."""
    return shutil.copytree(data, tmp_path / "place")


def run(folder: Path, command: str) -> str:
    environment = {each: value for each, value in os.environ.items() if not each.startswith("GRAVEL_")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "GRAVEL_CACHE": str(folder / "cache"),
        "MPLBACKEND": "agg",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def payments(folder: Path) -> pandas.DataFrame:
    """Return payer, payee and the sum that went between them."""
    table = pandas.read_parquet(folder / "payments.parquet")
    return table.groupby(["payer", "payee"], as_index=False)["amount"].sum()


def edge_list(path: Path) -> networkx.Graph:
    return networkx.read_edgelist(path, nodetype=int)


def near(folder: Path) -> dict[frozenset[str], float]:
    table = pandas.read_csv(folder / "near.csv")
    return {frozenset((first, second)): weight for first, second, weight in table.itertuples(index=False)}


def component_tables(folder: Path) -> dict[str, list[list[int]]]:
    return {path.name: pandas.read_parquet(path).to_numpy().tolist() for path in (folder / "out").iterdir()}


def modified(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_who_is_near(place: Path) -> None:
    run(place, "python near.py")
    table = payments(place)
    graph = networkx.from_pandas_edgelist(table, "payer", "payee")
    within = networkx.ego_graph(graph, ACCOUNT, radius=3)
    assert 10 < len(within) < len(graph) / 2
    weights: dict[frozenset[str], int] = {}
    for payer, payee, amount in table.itertuples(index=False):
        if payer in within and payee in within:
            ends = frozenset((payer, payee))
            weights[ends] = weights.get(ends, 0) + amount
    assert near(place) == weights


def test_a_table_for_each_file(place: Path) -> None:
    run(place, "gravel run -q tables.yaml --cluster inline")
    tables = component_tables(place)
    assert len(tables) == 10
    for path in (place / "graphs").iterdir():
        parts = networkx.connected_components(edge_list(path))
        expected = sorted([vertex, min(part)] for part in parts for vertex in part)
        assert tables[f"{path.stem}.parts.parquet"] == expected
    before = modified(place / "out")
    with (place / "graphs" / "region-07.txt").open("a") as file:
        file.write("1000 1001\n")
    run(place, "gravel run -q tables.yaml --cluster inline")
    after = modified(place / "out")
    assert [path.name for path in after if after[path] != before[path]] == ["region-07.parts.parquet"]


@needs_make
def test_a_number_in_a_makefile(place: Path) -> None:
    run(place, "make -f components.mk")
    count = networkx.number_connected_components(edge_list(place / "edges.txt"))
    assert count > 100
    assert (place / "text.txt").read_text() == f"The graph has {count} components.\n"
    assert "up to date" in run(place, "make -f components.mk")
    written = {
        name: (place / name).stat().st_mtime_ns for name in ("parts.csv", "components.txt", "text.txt")
    }
    edges = (place / "edges.txt").read_text()
    (place / "edges.txt").write_text(f"# a comment\n{edges}")
    run(place, "make -f components.mk")
    assert written == {name: (place / name).stat().st_mtime_ns for name in written}
    (place / "edges.txt").write_text(f"{edges}100000 100001\n")
    run(place, "make -f components.mk")
    assert (place / "text.txt").read_text() == f"The graph has {count + 1} components.\n"


def test_the_most_central_accounts(place: Path) -> None:
    found = [line.split(",") for line in run(place, "bash pagerank.sh").splitlines()]
    graph = networkx.from_pandas_edgelist(
        payments(place), "payer", "payee", "amount", create_using=networkx.DiGraph
    )
    ranks = networkx.pagerank(graph, weight="amount", tol=1e-12)
    assert [name.strip('"') for name, _ in found] == sorted(ranks, key=ranks.__getitem__, reverse=True)[:10]
    assert [float(rank) for _, rank in found] == pytest.approx(sorted(ranks.values(), reverse=True)[:10])


def test_a_picture_of_distances(place: Path) -> None:
    pytest.importorskip("matplotlib")
    run(place, "python distances.py")
    assert "<svg" in (place / "distances.svg").read_text()


@needs_igraph
def test_igraph_finds_the_same(place: Path) -> None:
    run(place, "python near.py")
    found = near(place)
    run(place, "python near_igraph.py")
    assert near(place) == found
    names = [line.split(",")[0].strip('"') for line in run(place, "bash pagerank.sh").splitlines()]
    assert [line.split()[0] for line in run(place, "python pagerank_igraph.py").splitlines()] == names


@needs_igraph
def test_igraph_draws_a_picture(place: Path) -> None:
    pytest.importorskip("matplotlib")
    run(place, "python distances_igraph.py")
    assert "<svg" in (place / "distances.svg").read_text()


@needs_igraph
@pytest.mark.parametrize(
    "command",
    [
        "python tables_igraph.py graphs/*.txt",
        pytest.param("snakemake -q --cores 1 --snakefile tables.smk", marks=needs_snakemake),
    ],
)
def test_peers_make_the_same_tables(place: Path, command: str) -> None:
    run(place, "gravel run -q tables.yaml --cluster inline")
    tables = component_tables(place)
    shutil.rmtree(place / "out")
    run(place, command)
    assert component_tables(place) == tables


@needs_igraph
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("make -f components_igraph.mk", marks=needs_make),
        pytest.param("snakemake -q --cores 1 --snakefile components.smk", marks=needs_snakemake),
    ],
)
def test_peers_count_the_same_components(place: Path, command: str) -> None:
    run(place, command)
    count = networkx.number_connected_components(edge_list(place / "edges.txt"))
    assert (place / "text.txt").read_text() == f"The graph has {count} components.\n"


def lines_of(name: str) -> int:
    """Count the lines of a script that are code."""
    text = re.sub(r'\A""".*?"""', "", (SCRIPTS / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def test_the_page_shows_the_script() -> None:
    shown = [block.text for block in blocks_of(ROOT / "docs" / "tasks.md") if block.language == "python"]
    assert len(shown) == 1
    assert (SCRIPTS / "near.py").read_text(encoding="utf-8").endswith(shown[0])


def test_the_page_counts_the_lines() -> None:
    named: set[str] = set()
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        files = re.findall(r"\]\(tasks/([\w.]+)\)", cells[0]) if line.startswith("| ") else []
        if files:
            assert int(cells[1]) == sum(map(lines_of, files)), line
            named.update(files)
    assert named == {path.name for path in SCRIPTS.iterdir() if path.is_file()} - {"data.py"}
