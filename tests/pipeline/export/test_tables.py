"""Results of many data sets as files: names with axes, what stays untouched, what is missing or refused."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pyarrow.parquet
import pytest

from gravel.pipeline.records.past_runs import list_runs
from tests.pipeline.cli_case import gravel

STAGES = """
stages:
  edges: {stage: ingest, with: "${dataset}"}
  graph: {stage: symmetrize, input: edges}
  parts: {stage: traverse, input: graph, algorithm: components}
  bfs: {stage: traverse, input: graph, sources: [1]}
  check: {stage: verify, graph: graph, traversal: bfs}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "d").mkdir()
    for name, text in (("a", "1 2\n3 4\n"), ("b", "1 2\n2 3\n"), ("c", "1 5\n")):
        (tmp_path / "d" / f"{name}.txt").write_text(text)
    workflow(tmp_path)
    return tmp_path


def workflow(home: Path, outputs: str = "") -> None:
    (home / "w.yaml").write_text(f"datasets: d/*.txt{STAGES}{outputs}")


def run() -> tuple[int, str]:
    done = gravel("run", "w.yaml", "--cluster", "inline")
    return done.exit_code, done.stderr


def export(*words: str) -> tuple[int, str, str]:
    done = gravel("export", "w.yaml", *words, "--cluster", "inline")
    return done.exit_code, done.stdout, done.stderr


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_a_file_of_each_data_set_and_stage(home: Path) -> None:
    code, told, _ = export("parts", "bfs", "--to", "out/{dataset}.{stage}.csv")
    assert code == 0
    assert told.count(" rows -> out/") == 6
    assert sorted(stamps(home / "out")) == [
        f"{name}.{stage}.csv" for name in "abc" for stage in ("bfs", "parts")
    ]
    assert [row["component"] for row in rows(home / "out/a.parts.csv")] == ["1", "1", "3", "3"]
    assert list(rows(home / "out/c.bfs.csv")[0]) == ["source", "vertex", "distance", "predecessor"]


def test_one_file_with_a_column_for_each_axis(home: Path) -> None:
    for name in ("all.csv", "all.parquet", "all.npz"):
        assert export("parts", "--to", name)[:2] == (0, f"9 rows -> {name}\n")
    sets = [row["dataset"] for row in rows(home / "all.csv")]
    assert sets == ["a"] * 4 + ["b"] * 3 + ["c"] * 2
    table = pyarrow.parquet.read_table(home / "all.parquet").to_pydict()
    assert table["dataset"] == sets
    with numpy.load(home / "all.npz") as arrays:
        assert arrays["dataset"].tolist() == sets
        assert arrays["component"].tolist() == table["component"] == [1, 1, 3, 3, 1, 1, 1, 1, 1]


def test_ids_of_two_kinds_are_no_one_table(home: Path) -> None:
    (home / "d/c.txt").write_text("x y\nx z\n")
    code, _, told = export("parts", "--to", "all.csv")
    assert code == 2
    assert "the ids of some are texts, and those of others numbers" in told
    assert "put {dataset} into the name" in told
    assert not (home / "all.csv").exists()


def test_csv_on_standard_output(home: Path) -> None:
    code, told, _ = export("parts", "--where", "dataset=c", "--to", "-")
    assert code == 0
    assert told.splitlines() == ['"vertex","component"', "1,1", "5,1"]
    code, _, told = export("parts", "bfs", "--to", "-")
    assert code == 2
    assert "standard output takes one table" in told


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_a_file_whose_content_stays_is_not_touched(home: Path, ending: str) -> None:
    words = ("parts", "--to", f"out/{{dataset}}.{ending}")
    export(*words)
    before = stamps(home / "out")
    assert export(*words)[1].count("(unchanged)") == 3
    # What gravel remembers of them may go: then the bytes are compared.
    shutil.rmtree(home / "cache/exported")
    assert export(*words)[1].count("(unchanged)") == 3
    assert stamps(home / "out") == before
    (home / "d/b.txt").write_text("1 2\n")
    (home / "out" / f"c.{ending}").write_text("changed by somebody")
    assert export(*words)[1].count("(unchanged)") == 1
    changed = {name for name, at in stamps(home / "out").items() if at != before[name]}
    assert changed == {f"b.{ending}", f"c.{ending}"}


def test_an_export_leaves_a_run_only_if_it_computes(home: Path) -> None:
    run()
    root = home / "cache"
    (only,) = list_runs(root, exports=True)
    export("parts", "--to", "out/{dataset}.csv")
    assert list_runs(root, exports=True) == [only]
    (home / "d/b.txt").write_text("1 2\n")
    export("parts", "--to", "out/{dataset}.csv")
    assert list_runs(root) == [only]
    computed, first = list_runs(root, exports=True)
    assert (computed["kind"], first["kind"]) == ("export", "run")
    assert json.loads(gravel("runs", "--json").stdout)[0]["run"] == only["run"]
    assert computed["run"] in gravel("runs", "--all").stdout
    assert gravel("status", "last").stdout.count(only["run"])
    assert gravel("status", computed["run"]).exit_code == 0
    # gc keeps what it computed.
    (home / "out/b.csv").unlink()
    gravel("cache", "gc", "--yes")
    assert len(list_runs(root, exports=True)) == 2
    export("parts", "--to", "out/{dataset}.csv")
    assert len(list_runs(root, exports=True)) == 2


def test_what_failed_is_not_tried_again_and_the_others_are_written(home: Path) -> None:
    (home / "d/b.txt").write_text("1\n")
    assert run()[0] == 1
    code, told, problems = export("parts", "--to", "out/{dataset}.csv")
    assert code == 1
    assert told.count(" rows -> ") == 2
    assert "error: edges[dataset=b]: failed in " in problems
    assert "it is not tried again (gravel run w.yaml does)" in problems
    assert "out/b.csv: not written, since there is no result of parts[dataset=b]" in problems
    assert len(list_runs(home / "cache", exports=True)) == 1
    code, told, problems = export("parts", "--to", "all.csv")
    assert (code, told) == (1, "6 rows -> all.csv\n")
    assert "all.csv: it lacks parts[dataset=b]" in problems
    # With another content it is.
    (home / "d/b.txt").write_text("1 9\n")
    assert export("parts", "--to", "out/{dataset}.csv")[0] == 0


def test_outputs_are_written_after_each_run(home: Path) -> None:
    workflow(home, "outputs: {parts: 't/{dataset}.csv', bfs: [bfs.parquet, 'n/{dataset}.npz']}\n")
    code, told = run()
    assert code == 0
    assert "outputs: 7 written" in told
    before = stamps(home / "t")
    assert "outputs: 7 unchanged" in run()[1]
    (home / "d/b.txt").write_text("1\n")
    code, told = run()
    assert code == 1
    assert (
        "t/b.csv: not written, since there is no result of parts[dataset=b]; the file that is there is older"
        in told
    )
    assert "bfs.parquet: it lacks bfs[dataset=b]" in told
    assert stamps(home / "t") == before
    states = {Path(each["file"]).name: each["state"] for each in list_runs(home / "cache")[0]["outputs"]}
    assert states == {
        "a.csv": "unchanged",
        "b.csv": "missing",
        "c.csv": "unchanged",
        "bfs.parquet": "written",
        "a.npz": "unchanged",
        "b.npz": "missing",
        "c.npz": "unchanged",
    }
    # Relative to the workflow's file, and only of what is asked for.
    done = gravel(
        "run", str(home / "w.yaml"), "--only", "parts", "--where", "dataset=a", "--cluster", "inline"
    )
    assert "outputs: 1 unchanged" in done.stderr


def test_an_output_that_cannot_be_written_fails_the_run(home: Path) -> None:
    workflow(home, "outputs: {parts: 't/{dataset}.csv'}\n")
    (home / "t").write_text("a file")
    code, told = run()
    assert code == 1
    assert "t/a.csv: could not write" in told
    (home / "t").unlink()
    assert run()[0] == 0


@pytest.mark.parametrize(
    ("outputs", "problem", "hint"),
    [
        ("parts: 't/{datset}.csv'", "parts has no such axis", "did you mean 'dataset'?"),
        ("parst: t.csv", "`outputs` names 'parst', and there is no such entry", "did you mean 'parts'?"),
        ("parts: t.xls", "cannot tell the format of 't.xls'", "end the name in"),
        ("parts: '-'", "cannot tell the format of '-'", "end the name in"),
        ("check: t.csv", "check makes a Verification, which has no columns", "can be exported"),
        ("parts: cache/x.csv", "cache/x.csv lies in the cache", "elsewhere"),
        ("parts: 'd/../w.yaml/../d/{dataset}.txt'", "cannot tell the format", "end the name in"),
        ("parts: 't/{dataset.csv'", "cannot be read: expected '}'", "a brace itself twice"),
        ("parts: 't/{dataset!r}.csv'", "{dataset} has a format of its own", "a brace itself twice"),
        ("parts: [1]", "'1' is no name of a file", "write it like outputs"),
        ("parts: [a.csv, a.csv]", "would both be written to", "name two files"),
        ("parts: '${dataset}.csv'", "axis", "single braces"),
    ],
)
def test_outputs_that_cannot_be_are_refused_with_their_place(
    home: Path, outputs: str, problem: str, hint: str
) -> None:
    workflow(home, f"outputs:\n  {outputs}\n")
    code, told = run()
    assert code == 2
    assert f"w.yaml:{9}:" in told
    assert problem in told
    assert hint in told
    assert not (home / "cache/runs").exists() or not list_runs(home / "cache")


def test_an_output_never_takes_the_place_of_an_input(home: Path) -> None:
    for name in "ab":
        (home / f"d/{name}.txt").rename(home / f"d/{name}.csv")
    (home / "w.yaml").write_text(f"datasets: d/*.csv{STAGES}outputs: {{parts: 'd/{{dataset}}.csv'}}\n")
    code, told = run()
    assert code == 2
    assert "d/a.csv is read by this workflow" in told
    (home / "w.yaml").write_text(f"datasets: d/*.csv{STAGES}outputs: 3\n")
    assert "`outputs` is no mapping" in run()[1]


def test_two_results_for_one_name_are_refused(home: Path) -> None:
    for name in ("x:1", "x?1"):
        (home / f"d/{name}.txt").write_text("1 2\n")
    code, _, told = export("parts", "--to", "out/{dataset}.csv")
    assert code == 2
    assert "would both be written to out/x_1.csv" in told
    code, _, told = export("parts", "bfs", "--to", "out/{dataset}.csv", "--where", "dataset=a")
    assert code == 2
    assert "tell them apart in the name, such as by {stage}" in told


def test_values_that_make_equal_runs_have_a_file_each(home: Path) -> None:
    (home / "m.yaml").write_text(
        "matrix: {way: {first: 1, second: 1}}\n"
        "stages:\n"
        "  edges: {stage: ingest, file: d/a.txt}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  bfs: {stage: traverse, input: graph, sources: ['${way}']}\n"
        "  parts: {stage: traverse, input: graph, algorithm: components}\n"
        "  same: {stage: traverse, input: graph, algorithm: components}\n"
    )
    done = gravel("export", "m.yaml", "bfs", "--to", "out/{way}.csv", "--cluster", "inline")
    assert done.exit_code == 0, done.stderr
    done = gravel("export", "m.yaml", "same", "--to", "{stage}.csv", "--cluster", "inline")
    assert done.stdout == "4 rows -> same.csv\n"
    assert rows(home / "out/first.csv") == rows(home / "out/second.csv")


MAKEFILE = """
done.txt: out.csv
\techo made >> done.txt
out.csv: w.yaml d/a.txt
\t{gravel} export w.yaml parts --where dataset=a --to out.csv --cluster inline
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_goes_on_only_where_a_content_changed(home: Path) -> None:
    (home / "Makefile").write_text(MAKEFILE.format(gravel=Path(sys.executable).with_name("gravel")))

    def make() -> tuple[int, str]:
        done = subprocess.run(["make"], capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stderr

    assert make()[0] == 0
    first = (home / "out.csv").stat().st_mtime_ns
    (home / "d/a.txt").write_text("3 4\n1 2\n")  # another file, the same components
    assert make()[0] == 0
    assert (home / "out.csv").stat().st_mtime_ns == first
    assert (home / "done.txt").read_text() == "made\n"
    whole = (home / "out.csv").read_bytes()
    (home / "d/a.txt").write_text("1 2\n3\n")
    code, told = make()
    assert code == 2
    assert "d/a.txt:2: found '3'" in told
    assert "Error 1" in told
    assert (home / "out.csv").read_bytes() == whole
    assert {path.name for path in home.iterdir()} == {
        "Makefile",
        "cache",
        "d",
        "done.txt",
        "out.csv",
        "w.yaml",
    }
    (home / "d/a.txt").write_text("1 2\n")
    assert make()[0] == 0
    assert (home / "done.txt").read_text() == "made\nmade\n"
