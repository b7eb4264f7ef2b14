"""Many files as one graph in Python: lists of paths, folders and patterns."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import gravel


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    Path("parts").mkdir()
    Path("parts/a.txt").write_text("10 20\n20 30\n")
    Path("parts/b.txt").write_text("30 40\n")


@pytest.mark.parametrize("cache", [None, False])
@pytest.mark.parametrize(
    "data",
    [
        ["parts/a.txt", Path("parts/b.txt")],
        ["parts/b.txt", "parts/a.txt"],
        "parts",
        Path("parts"),
        ["parts"],
        "parts/*.txt",
    ],
)
def test_many_files_are_one_graph(data, cache):
    assert gravel.graph(data, cache=cache).bfs(10).path_to(40) == [10, 20, 30, 40]


def test_a_list_of_one_file_is_that_file():
    assert len(gravel.graph(["parts/a.txt"])) == 3


@pytest.mark.parametrize("data", [["anna", "berta"], ["parts/a.txt", "parts/c.txt"]])
def test_a_list_of_texts_that_are_no_files_is_refused(data):
    with pytest.raises(FileNotFoundError, match=r"there is no file .* a list of texts is a list of files"):
        gravel.graph(data)


@pytest.mark.parametrize(
    ("data", "message"), [("nothing/*.txt", "no file matches"), ("empty", "has no files")]
)
def test_a_folder_or_pattern_without_files_is_refused(data, message):
    Path("empty").mkdir()
    with pytest.raises(FileNotFoundError, match=message):
        gravel.graph(data)


def test_pairs_of_texts_are_edges_still():
    assert len(gravel.graph([("anna", "berta"), ("berta", "carl")])) == 3


def test_a_saved_graph_is_no_folder_of_parts():
    gravel.graph("parts").save("saved")
    assert gravel.graph("saved").bfs(10).path_to(40) == [10, 20, 30, 40]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("cache", [False, None])
def test_files_of_which_a_filter_leaves_nothing_add_nothing(tmp_path, monkeypatch, ending, cache):
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    for day in range(1, 9):
        folder = tmp_path / "days" / f"day=2026-01-0{day}"
        folder.mkdir(parents=True)
        table = pyarrow.table({"source": [f"x{day}"], "target": [f"y{day}"], "amount": [day]})
        if ending == "parquet":
            pyarrow.parquet.write_table(table, folder / "a.parquet")
            pyarrow.parquet.write_table(table.slice(0, 0), folder / "b.parquet")
        else:
            (folder / "a.csv").write_text(f"source,target,amount\nx{day},y{day},{day}\n")
            (folder / "b.csv").write_text("source,target,amount\n")
    found = gravel.graph(tmp_path / "days", cache=cache, filter="day >= '2026-01-07' and amount < 8")
    assert found.vertices.to_pylist() == ["x7", "y7"]
    with pytest.raises(ValueError, match="none of the 16 files has an edge, or the filter leaves none"):
        gravel.graph(tmp_path / "days", cache=cache, filter="amount > 8")
