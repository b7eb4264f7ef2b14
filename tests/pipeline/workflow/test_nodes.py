"""Ids in workflows, options and lists keep their text: 007, 0x10, 1.10 and null are what stands there."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.workflow.data_files import split_ids
from gravel.pipeline.workflow.loader import load_workflow
from tests.pipeline.cli.test_run import gravel

IDS = [
    "007", "7", "0x10", "16", "+7", "-0", "0", "-5", "0123", "123", "0o17", "15", "1e3", "1000", "1000.0",
    "1.0", "1", "1.10", "1.1", "null", "Null", "~", "true", "True", "TRUE", "false", ".inf", "inf", ".5",
    "99999999999999999999", "1e999", "2024-01-01", "12:30", "0.30",
]  # fmt: skip
"""No two are one id."""

STAGES = """\
stages:
  edges: {stage: ingest, file: ids.csv, ids: text}
  graph: {stage: symmetrize, input: edges}
  bfs: {stage: traverse, input: graph, sources: SOURCES, max_depth: 0}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "ids.csv").write_text("source,target\n" + "".join(f"{each},hub\n" for each in IDS))
    rows = "".join(f"{each},{each + 1}\n" for each in range(20))
    (tmp_path / "numbers.csv").write_text(f"source,target\n{rows}")
    return tmp_path


def found(workflow: str, *options: str, stage: str = "bfs", column: str = "source") -> list[str]:
    """Run a workflow, and return the different values of a column of a stage in their order."""
    Path("w.yaml").write_text(workflow)
    gravel("export", "w.yaml", stage, "--to", "out.csv", "--cluster", "inline", "--backend", "cpu", *options)
    with Path("out.csv").open(newline="") as file:
        return list(dict.fromkeys(row[column] for row in csv.DictReader(file)))


def searched(sources: str, before: str = "", *options: str, file: str = "ids.csv") -> list[str]:
    text = "workflow: w\n" + before + STAGES.replace("SOURCES", sources).replace("ids.csv", file)
    return found(text if file == "ids.csv" else text.replace(", ids: text", ""), *options)


def listed(before: str) -> set[str]:
    """Return the sources of all variants of the search."""
    Path("w.yaml").write_text("workflow: w\n" + before + STAGES.replace("SOURCES", '["${s}"]'))
    variants = load_workflow("w.yaml").stages["bfs"].variants.values()
    return {str(source) for variant in variants for source in variant.parameters.model_dump()["sources"]}


def test_sources_of_a_workflow() -> None:
    assert searched(f"[{', '.join(IDS)}]") == IDS
    assert searched('["007", 007, "null"]') == ["007", "null"]


def test_a_parameter_that_is_a_list() -> None:
    assert searched('"${s}"', f"parameters: {{s: [{', '.join(IDS)}]}}\n") == IDS
    assert searched('"${s}"', "parameters: {s: []}\n", "--set", f"s=[{', '.join(IDS)}]") == IDS


def test_a_parameter_that_is_one_id() -> None:
    assert [listed(f"parameters: {{s: {each}}}\n") for each in IDS] == [{each} for each in IDS]
    assert searched('["${s}"]', "parameters: {s: 007}\n") == ["007"]


@pytest.mark.parametrize("each", ["007", "0x10", "1e3", "null", "True"])
def test_an_option(each: str) -> None:
    assert searched('["${s}"]', "parameters: {s: a}\n", "--set", f"s={each}") == [each]
    # Within a text it is what stands there, too.
    name = f"v{each}"
    Path("ids.csv").write_text(f"source,target\n{name},a\nv7,b\nv16,c\n")
    assert searched('["v${s}"]', "parameters: {s: a}\n", "--set", f"s={each}") == [name]


def test_axes_of_the_matrix() -> None:
    numbers = [each for each in IDS if each.lower() not in ("null", "~", "true", "false")]
    assert listed(f"matrix: {{s: [{', '.join(IDS)}]}}\n") == set(IDS)
    named = ", ".join(f"n{place}: {each}" for place, each in enumerate(numbers))
    assert listed(f"matrix: {{s: {{{named}}}}}\n") == set(numbers)
    included = ", ".join(f"{{s: {each}}}" for each in numbers)
    assert listed(f"matrix: {{include: [{included}]}}\n") == set(numbers)
    assert listed("matrix: {s: [7], include: [{s: 007}]}\n") == {"7", "007"}
    assert listed("matrix: {s: [007, 7, 1.10, 1.1], exclude: [{s: 7}, {s: 1.10}]}\n") == {"007", "1.1"}
    assert listed("matrix: {s: [007, 8, 1e3], exclude: [{s: 007}, {s: 1e3}]}\n") == {"8"}


@pytest.mark.parametrize(
    ("asked", "kept"), [("007", "007"), ("7", "007"), ("16", "16"), ("1e3", "1e3"), ("1000.0", "1e3")]
)
def test_one_value_of_an_axis_is_asked_for(asked: str, kept: str) -> None:
    assert searched('["${s}"]', "matrix: {s: [007, 16, 1e3]}\n", "--where", f"s={asked}") == [kept]


def test_a_workflow_that_is_used() -> None:
    Path("inner.yaml").write_text(
        "workflow: inner\nparameters: {s: a, all: [b]}\n"
        + STAGES.replace("SOURCES", '["${s}"]')
        + '  all: {stage: traverse, input: graph, sources: "${all}", max_depth: 0}\n'
    )
    text = "workflow: w\nstages:\n  in: {use: inner.yaml, parameters: {s: 007, all: [True, 1.10]}}\n"
    assert found(text, stage="in.bfs") == ["007"]
    assert found(text, stage="in.all") == ["True", "1.10"]


def test_pairs() -> None:
    text = "workflow: w\n" + STAGES.split("  bfs")[0] + "  near: {stage: paths, input: graph, pairs: PAIRS}\n"
    pairs = "[[007, 0x10], [1e3, 7], [null, True]]"
    assert found(text.replace("PAIRS", pairs), stage="near") == ["007", "1e3", "null"]
    assert found(text.replace("PAIRS", pairs), stage="near", column="target") == ["0x10", "7", "True"]


def test_a_list_in_a_file() -> None:
    Path("ids.csv").write_text(
        'source,target\n" lead",a\nlead,b\n"trail ",c\n"say ""x""",d\n"a,b",e\n007,f\n'
    )
    Path("list.txt").write_text('" lead"\n  lead \n"trail "\n"say ""x"""\n"a,b"\na,b\n007\n')
    assert searched("{file: list.txt}") == [" lead", "lead", "trail ", 'say "x"', "a,b", "007"]


def test_numbers_stay_numbers() -> None:
    given = '[007, 0x10, +7, -0, 0o17, 3, "008", "0x11"]'
    assert searched(given, file="numbers.csv") == ["7", "16", "0", "15", "3", "8", "17"]
    for each in ("1e1", "1.0", "null", "true", "[3]"):
        with pytest.raises(GravelError, match=r"whole number"):
            searched(f"[{each}]", file="numbers.csv")
    with pytest.raises(GravelError, match=r"source -5 is not in the graph \(the nearest id that is: 0\)"):
        searched("[-5]", file="numbers.csv")


def test_an_empty_item_is_no_id() -> None:
    with pytest.raises(GravelError, match="a whole number or a text is expected"):
        searched('"${s}"', "parameters:\n  s:\n    - 007\n    -\n")


def test_other_parameters_are_what_they_were() -> None:
    text = "workflow: w\nparameters: {depth: 0x1, kept: True}\n" + STAGES
    text = text.replace("SOURCES, max_depth: 0", '[7], max_depth: "${depth}", statistics: "${kept}"')
    assert sorted(found(text, column="distance")) == ["", "0", "1"]


@pytest.mark.parametrize(
    ("texts", "ids"),
    [
        (["alice,bob"], ["alice", "bob"]),
        (["a", " b , c"], ["a", "b", "c"]),
        (['"a, b",c'], ["a, b", "c"]),
        (['" lead", "trail "'], [" lead", "trail "]),
        (['"say ""x""",y'], ['say "x"', "y"]),
        (["007,0x10"], ["007", "0x10"]),
        (["a\u00a0"], ["a\u00a0"]),
    ],
)
def test_ids_of_an_option(texts: list[str], ids: list[str]) -> None:
    assert split_ids(texts) == ids


@pytest.mark.parametrize("texts", [[""], ["a,"], [",a"], ["a,,b"], [" "]])
def test_empty_ids_of_an_option(texts: list[str]) -> None:
    with pytest.raises(RequestError, match="--sources has an empty id"):
        split_ids(texts)
