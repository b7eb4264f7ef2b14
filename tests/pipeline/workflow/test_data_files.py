"""`gravel run data.txt` without YAML, and `gravel init`, which writes the YAML."""

from __future__ import annotations

import gzip
import re
import time
import zipfile
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.stages.errors import StageError
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.cli.test_run import gravel
from tests.pipeline.cli_case import HEAVY, loaded

EDGES = "# two parts\n1 2\n2 3\n3 4\n10 11\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data.txt").write_text(EDGES)
    return tmp_path


def run(*arguments: str) -> str:
    result = gravel("run", *arguments, "--cluster", "inline")
    assert result.return_value == 0, result.output
    return result.stdout


def test_a_data_file_is_searched_and_the_answer_printed(folder: Path) -> None:
    told = run("data.txt", "--sources", "3,10").splitlines()
    rows = [line.split() for line in told]
    assert rows[0] == ["SOURCE", "REACHED", "LEVELS", "TOOK"]
    assert rows[1][:6] == ["3", "4", "of", "6", "vertices", "(66.7%)"]
    assert rows[1][6] == "2"
    assert rows[2][:6] == ["10", "2", "of", "6", "vertices", "(33.3%)"]
    assert told[3] == "searches verified: every check passed"
    assert list(folder.glob("cache/runs/*/report.html"))
    assert run("data.txt", "--sources", "10", "--sources", "3").splitlines()[1].startswith("10 ")


def test_without_sources_some_are_drawn_and_named_as_the_file_does(folder: Path) -> None:
    rows, _, _ = run("data.txt").partition("searches verified")
    names = {line.split()[0] for line in rows.splitlines()[1:]}
    assert names <= {"1", "2", "3", "4", "10", "11"}
    assert len(names) == 4
    assert run("data.txt", "--set", "sources=[11]").splitlines()[1].startswith("11 ")


def test_a_cached_answer_loads_nothing_heavy(folder: Path) -> None:
    of = HEAVY | {"gravel.pipeline.scheduler.driver"}
    for _ in range(8):  # what a file holds is kept once it is two seconds old
        told, heavy = loaded("run", "data.txt", "--sources", "3", "--cluster", "inline", of=of, cwd=folder)
        if not heavy:
            break
        time.sleep(0.5)
    assert "3       4 of 6 vertices" in told
    assert not heavy


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("names.csv", 'from,to\nalice,bob\nbob,"d, x"\nerin,dan\n', "format: auto"),
        ("names.txt", "alice bob\nbob carol\nerin dan\n", "format: auto, ids: text"),
        ("mixed.txt", "alice 7\nbob 7\nerin dan\n", "format: edge_list, ids: text"),
    ],
)
def test_ids_may_be_names(name: str, text: str, settings: str, folder: Path) -> None:
    (folder / name).write_text(text)
    rows = run(name, "--sources", "alice,erin").splitlines()
    assert [row.split()[:6] for row in rows[1:3]] == [
        ["alice", "3", "of", "5", "vertices", "(60.0%)"],
        ["erin", "2", "of", "5", "vertices", "(40.0%)"],
    ]
    assert settings in gravel("run", name, "--show-workflow", "--sources", "alice,erin").stdout
    ran = call_inside([*PROGRAM, "plan", name, "--sources", "alise"])
    assert ran.returncode == 2
    assert f"error: {name}: source 'alise' is not in the graph" in ran.stderr
    assert "alice" in ran.stderr
    if name != "mixed.txt":
        assert "alice" in run(name), "a random source is named as the file does"
        gravel("init", name)
        assert '# Ids are texts, such as "alice".' in (folder / "names.yaml").read_text()
        assert gravel("plan", "names.yaml").return_value == 0


def test_a_setting_that_is_missing_can_be_set_somewhere(folder: Path) -> None:
    (folder / "odd.txt").write_text("alice bob\ncarol\n")
    ran = call_inside([*PROGRAM, "run", "odd.txt", "--cluster", "inline", "-q"])
    assert ran.returncode == 1
    assert "odd.txt:1: the format is not recognised" in ran.stderr
    assert "`gravel run odd.txt --show-workflow` prints the workflow to set it in" in ran.stderr


def test_the_workflow_can_be_shown_and_run(folder: Path) -> None:
    text = gravel("run", "data.txt", "--show-workflow", "--sources", 'alice,007,12,"a,b"').stdout
    assert 'sources: ["alice", "007", 12, "a,b"]' in text
    (folder / "mine.yaml").write_text(gravel("run", "data.txt", "--show-workflow", "--sources", "2").stdout)
    assert run("mine.yaml") == "", "the answer of a workflow is its page"
    told = gravel("plan", "data.txt", "--sources", "2", "--cluster", "inline").stdout
    assert "5 stage runs: 5 cached" in told
    for option in (["--show-workflow"], ["--sources", "2"], ["--columns", "source=1,target=2"]):
        with pytest.raises(
            RequestError, match=f"{option[0]} is for a data file, and mine.yaml is a workflow"
        ):
            gravel("run", "mine.yaml", *option)


def test_other_verbs_take_data_as_well(folder: Path) -> None:
    assert gravel("export", "data.txt", "bfs", "--sources", "1", "--to", "out.csv").return_value == 0
    assert (folder / "out.csv").read_text().splitlines()[1] == "1,1,0,"
    assert "summary" in gravel("dag", "data.txt").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("data.txt", "--sources", "99"), "error: data.txt: bfs: source 99 is not in the graph"),
        (("dta.txt",), "error: there is no file dta.txt\n  hint: did you mean data.txt?"),
        (("broken.txt",), "broken.txt:2: "),
        (("empty.txt",), "empty.txt: the file is empty"),
        (("data.txt", "--sources", "1,,2"), "error: --sources has an empty id"),
    ],
)
def test_errors_name_the_data_file(arguments: tuple[str, ...], told: str, folder: Path) -> None:
    (folder / "broken.txt").write_text("1 2\n3\n")
    (folder / "empty.txt").write_text("")
    ran = call_inside([*PROGRAM, "run", *arguments, "--cluster", "inline", "-q"])
    assert ran.returncode in (1, 2)
    assert told in ran.stderr, ran.stderr
    assert ".yaml" not in ran.stderr
    assert "${" not in ran.stderr


def test_a_workflow_of_any_name_is_still_one(folder: Path) -> None:
    (folder / "flow").write_text("workflow: w\nstages:\n  edges: {stage: ingest, file: data.txt}\n")
    assert "1 stage runs: 1 will run" in gravel("plan", "flow").stdout


@pytest.mark.parametrize("name", ["data.txt", "pairs.csv.gz", "graph.mtx", "road.gr"])
def test_init_writes_a_workflow_that_can_be_planned(name: str, folder: Path) -> None:
    (folder / "pairs.csv.gz").write_bytes(gzip.compress(b"source,target,weight\n5,6,0.5\n6,7,1\n"))
    (folder / "graph.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
    (folder / "road.gr").write_text("c a road\np sp 3 2\na 1 2 5\na 2 3 5\n")
    assert "gravel plan" in gravel("init", name).output
    out = folder / f"{name.partition('.')[0]}.yaml"
    text = out.read_text()
    assert f'file: "{name}"' in text
    assert f"# What was found in {name}:" in text
    assert "5 stage runs: 1 will run, 4 waits" in gravel("plan", str(out)).stdout
    with pytest.raises(RequestError, match=f"{out.name} is there already"):
        gravel("init", name)
    out.write_text("mine")
    gravel("init", name, "--force")
    assert out.read_text() == text


def test_init_says_what_is_in_the_file(folder: Path) -> None:
    (folder / "pairs.csv.gz").write_bytes(gzip.compress(b"source,target,weight\n5,6,0.5\n6,7,1\n"))
    (folder / "sub").mkdir()
    gravel("init", "pairs.csv.gz", "--to", "sub/flow.yaml")
    text = (folder / "sub" / "flow.yaml").read_text()
    assert "compressed (gz)" in text
    assert "its name (.csv) and its content fit" in text
    assert "# Ids are integers, from 5 to 7 in the first 2 edges." in text
    assert "# It is read as: comma, header; source source, target target, weight weight." in text
    assert "such as [5, 6], or random ones" in text
    assert f'file: "{folder}/pairs.csv.gz"' in text, "absolute, since it lies elsewhere"


def test_init_refuses_what_is_no_data(folder: Path) -> None:
    (folder / "flow.yaml").write_text("stages: {}\n")
    (folder / "noise.bin").write_bytes(b"\0\1\2" * 100)
    for name, told in (
        ("flow.yaml", "is a workflow already"),
        ("nothing.txt", "there is no file nothing.txt"),
        (".", "is a folder"),
    ):
        with pytest.raises(RequestError, match=told):
            gravel("init", name)
    with pytest.raises(StageError, match="is binary"):
        gravel("init", "noise.bin")
    with zipfile.ZipFile("edges.zip", "w") as archive:
        archive.writestr("edges.txt", "1 2\n")
    with pytest.raises(StageError, match=r"edges\.zip: the file is a zip archive of edges\.txt"):
        gravel("init", "edges.zip")
    assert not list(folder.glob("[ne]*.yaml"))
    with pytest.raises(RequestError, match="is the data file itself"):
        gravel("init", "data.txt", "--to", "data.txt", "--force")


def test_what_was_read_stands_beside_the_answer_and_on_the_page(folder: Path) -> None:
    rows = "when,payer,payee,kind\n1,a,b,paid\n2,b,c,paid\n3,b,b,paid\n4,b,a,paid\n5,c,d,due\n"
    (folder / "wide.csv").write_text(rows)
    words = ["--columns", "source=payer,target=payee", "--filter", "kind == 'paid'", "--sources", "a"]
    lines = run("wide.csv", *words).splitlines()
    assert lines[-2] == "read wide.csv as: comma, header; source payer, target payee; left out: when, kind"
    assert lines[-1] == "2 of 4 edges are self-loops or duplicates, and left out"
    page = max(Path("cache/runs").glob("*/report.html"), key=lambda path: path.stat().st_mtime_ns).read_text()
    assert all(page.index(line) < page.index('id="answer"') for line in lines[-2:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "payer=source"], "found 'payer=source'; expected source=NAME"),
        (["--columns", "source=a,source=b"], "names the source twice"),
        (["--delimiter", "::"], "a delimiter is one character"),
        (["--filter", "amount >"], "position 9 of the filter"),
    ],
)
def test_options_of_a_data_file_that_are_wrong(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)):
        gravel("run", "data.txt", *words)
