"""The section `datasets`: an axis of files, what each came to, and what came and went."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.records.past_runs import list_runs
from gravel.pipeline.workflow.catalogue import read_catalogue
from gravel.pipeline.workflow.loader import load_workflow
from gravel.pipeline.workflow.schema import workflow_schema
from gravel.stages.stage import all_stages
from tests.pipeline.cli_case import gravel
from tests.pipeline.workflow.test_schema import check
from tests.web_server import WebServer

STAGES = """
stages:
  edges: {stage: ingest, with: "${dataset}"}
  graph: {stage: symmetrize, input: edges}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAVEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs/a.txt").write_text("1 2\n2 3\n")
    (tmp_path / "graphs/b.txt").write_text("1 2\n2 3\n3 4\n")
    return tmp_path


def plan_of(home: Path, section: str, **options: Any) -> Plan:
    (home / "w.yaml").write_text(f"datasets: {section}{STAGES}")
    return build_plan(load_workflow(home / "w.yaml"), **options)


def names_of(plan: Plan) -> list[str]:
    return [str(run.coordinates["dataset"]) for run in plan.runs.values() if run.entry == "edges"]


def problem_of(home: Path, section: str) -> tuple[str, str, str, str]:
    with pytest.raises(WorkflowError) as caught:
        plan_of(home, section)
    problem = caught.value.problems[0]
    place = problem.location
    assert place is not None
    at = f"{Path(place.file).name}:{place.line}"
    return problem.message, problem.hint or "", at, place.snippet[place.column - 1 :]


def run(*words: str) -> tuple[int, str, dict[str, Any]]:
    done = gravel("run", "w.yaml", "--cluster", "inline", *words)
    return done.exit_code, done.stderr, list_runs(Path(os.environ["GRAVEL_CACHE"]))[0]


def rows(record: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {row["name"]: (row["state"], row["change"]) for row in record["datasets"]}


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("graphs/a.txt", ["a"]),
        ("graphs/*.txt", ["a", "b"]),
        ("'**/*.txt'", ["graphs/a", "graphs/b"]),
        ("'*/a.txt'", ["graphs/a"]),
        ("graphs/*", ["a.txt", "b.txt"]),
        ("graphs/a.*", ["a.txt"]),
        ("'graphs/[ab].t?t'", ["a.txt", "b.txt"]),
        ("./graphs//*.txt", ["a", "b"]),
        ("[graphs/*.txt, graphs/a.txt]", ["a", "b"]),
        ("[graphs/*, graphs/a.txt]", ["a.txt", "b.txt"]),
        ("[graphs/b.txt, 'graphs/*.txt']", ["b", "a"]),
        ("[graphs/a.txt, https://example.org/x/web.txt.gz?k=1]", ["a", "web"]),
        ("'packed/*.gz'", ["g.txt"]),
        ("'packed/*.txt.gz'", ["g"]),
        ("'packed/*'", ["g.txt.gz"]),
        ("'packed/g.*'", ["g.txt.gz"]),
        ("'packed/*.g?'", ["g.txt.gz"]),
        ("{one: graphs/a.txt, two: {file: graphs/a.txt, weights: false}}", ["one", "two"]),
        ("[{file: graphs/a.txt, name: mine, format: edge_list}, graphs/b.txt]", ["mine", "b"]),
    ],
)
def test_the_forms_of_the_section(home: Path, section: str, names: list[str]) -> None:
    (home / "packed").mkdir()
    (home / "packed" / "g.txt.gz").write_bytes(b"")
    assert sorted(names_of(plan_of(home, section))) == sorted(names)


@pytest.mark.parametrize(
    ("pattern", "before", "after"),
    [
        ("'dd/*/graph.txt'", ["v1/graph", "v2/graph"], ["v0/graph", "v1/graph", "v2/graph"]),
        ("'dd/*/graph*'", ["v1/graph.txt", "v2/graph.txt"], ["v0/graph.txt", "v1/graph.txt", "v2/graph.txt"]),
        ("'dd/**/*.txt'", ["v1/graph", "v2/graph"], ["v0/graph", "v1/graph", "v2/graph"]),
        ("'{home}/dd/v[0-9]/*.txt'", ["v1/graph", "v2/graph"], ["v0/graph", "v1/graph", "v2/graph"]),
    ],
)
def test_no_other_file_changes_a_name(home: Path, pattern: str, before: list[str], after: list[str]) -> None:
    for number in (1, 2, 0):
        folder = home / "dd" / f"v{number}"
        folder.mkdir(parents=True)
        (folder / "graph.txt").write_text(f"{number} 9\n")
        if number == 2:
            assert names_of(plan_of(home, pattern.format(home=home))) == before
    plan = plan_of(home, pattern.format(home=home))
    assert names_of(plan) == after
    for name in after:
        parameters = plan.runs[f"edges[dataset={name}]"].parameters
        assert parameters.model_dump()["file"] == f"{home}/dd/{name[:2]}/graph.txt"


def test_a_data_set_is_a_value_of_an_axis(home: Path) -> None:
    plan = plan_of(home, "graphs/*.txt")
    assert list(plan.runs)[:2] == ["edges[dataset=a]", "edges[dataset=b]"]
    chosen = plan_of(home, "graphs/*.txt", where={"dataset": ["b"]})
    assert list(chosen.runs) == ["edges[dataset=b]", "graph[dataset=b]"]
    found = plan_of(home, f"[{{url: 'https://x.org/g.txt', sha256: {'A' * 64}, vertices: 3}}]")
    given = found.runs["edges[dataset=g]"].parameters.model_dump(exclude_none=True)
    assert given["file"] == "https://x.org/g.txt"
    assert given["sha256"] == "a" * 64
    assert given["expect"] == {"vertices": 3}


def test_parameters_say_which(home: Path) -> None:
    text = f'parameters: {{files: "graphs/*.txt"}}\ndatasets: "${{files}}"{STAGES}'
    (home / "w.yaml").write_text(text)
    assert names_of(build_plan(load_workflow(home / "w.yaml"))) == ["a", "b"]
    assert names_of(build_plan(load_workflow(home / "w.yaml", {"files": "graphs/b.txt"}))) == ["b"]


@pytest.mark.parametrize(
    ("section", "message", "hint", "at"),
    [
        ("graphs/*.mtx", "no file matches", "graphs", "graphs/*.mtx"),
        ("[]", "`datasets` is empty", "glob", "[]"),
        ("[3]", "`datasets` has '3'", "glob", "3]"),
        ("{a: {fiel: x}}", "no field 'fiel'", "'file'", "x}}"),
        ("{a: {format: auto}}", "neither `file` nor `url`", "once", "a: {"),
        ("{a: {url: x.txt}}", "which is no URL", "`file`", "x.txt}}"),
        ("{a: {file: x, sha256: abc}}", "64 hexadecimal digits", "", "abc}}"),
        ("{a: {file: x, edges: -1}}", "a count is expected", "", "-1}}"),
        ("{a: 'graphs/*.txt'}", "may be several files", "leave the name out", "'graphs/*.txt'"),
        ("[{file: x, name: a}, {file: y, name: a}]", "two data sets are called 'a'", "another", "{file: y"),
        ("[graphs/a.txt, https://example.org/a.mtx]",
         "'a': {home}/graphs/a.txt and https://example.org/a.mtx", "{file: ..., name: ...}", "https"),
        ("[https://x.org/1/g.txt, https://x.org/2/g.txt]", "two data sets are called 'g'", "name",
         "https://x.org/2"),
        ("[graphs/*.txt, b/*.txt]", "'a': {home}/graphs/a.txt and {home}/b/a.txt", "", "b/*"),
        ("[{file: x, format: pace}, {file: x}]", "two data sets are called 'x'", "name", "{file: x}"),
        ("{catalogue: none.yaml}", "no workflow file", "", "{catalogue"),
        ("'${fiels}'", "no parameter 'fiels'", "", "${fiels}"),
    ],
)  # fmt: skip
def test_faults_are_located(home: Path, section: str, message: str, hint: str, at: str) -> None:
    (home / "b").mkdir()
    (home / "b" / "a.txt").write_text("1 2\n")
    found = problem_of(home, section)
    assert message.format(home=home) in found[0]
    assert hint in found[1]
    assert found[2] == "w.yaml:1"
    assert found[3].startswith(at)


def test_a_catalogue(home: Path) -> None:
    (home / "graphs/known.yaml").write_text(
        "catalogue: mine\ndatasets:\n"
        "  first: {file: a.txt, vertices: 3, edges: 2, licence: CC0}\n"
        "  second: {url: 'https://example.org/b.txt'}\n"
    )
    assert names_of(plan_of(home, "graphs/known.yaml")) == ["first", "second"]
    plan = plan_of(home, "{catalogue: graphs/known.yaml, pick: [first]}")
    assert names_of(plan) == ["first"]
    assert plan.runs["edges[dataset=first]"].parameters.file == str(home / "graphs/a.txt")
    message, hint, at, _ = problem_of(home, "{catalogue: graphs/known.yaml, pick: [frist]}")
    assert (message, at) == ("graphs/known.yaml has no data set 'frist'", "w.yaml:1")
    assert hint == "did you mean 'first'?"
    (home / "graphs/known.yaml").write_text("datasets:\n  first: {file: a.txt, verticse: 3}\n")
    assert problem_of(home, "graphs/known.yaml")[:3] == (
        "a data set has no field 'verticse'",
        "did you mean 'vertices'?",
        "known.yaml:2",
    )


@pytest.mark.parametrize(
    ("section", "fine"),
    [
        ("graphs/*.txt", True),
        ("[a.txt, {file: b.txt, name: b}, {catalogue: c.yaml, pick: [x]}]", True),
        ("{a: a.txt, b: {url: 'https://x.org/b', sha256: '${sum}', edges: '${edges}'}}", True),
        ("{catalogue: c.yaml, pick: x}", True),
        ("{catalogue: c.yaml, pikc: [x]}", False),
        ("{a: {file: a.txt, url: b}}", False),
        ("{a: {format: auto}}", False),
        ("{a: {file: a.txt, fromat: auto}}", False),
        ("[]", False),
        ("3", False),
    ],
)
def test_the_schema(section: str, fine: bool) -> None:
    schema = workflow_schema(all_stages())
    assert check(f"datasets: {section}{STAGES}", schema) is fine


def test_a_workflow_with_data_sets_may_be_used(home: Path) -> None:
    plan_of(home, "[graphs/a.txt, graphs/none.txt]")
    (home / "w.yaml").rename(home / "inner.yaml")
    (home / "w.yaml").write_text("stages: {batch: {use: inner.yaml}}")
    code, _, record = run()
    assert code == 1
    assert [(row["axis"], row["name"], row["state"]) for row in record["datasets"]] == [
        ("batch.dataset", "a", "done"),
        ("batch.dataset", "none", "failed"),
    ]
    found = gravel("datasets", "ls", "--from", "w.yaml").output
    assert "a file" in found
    assert "missing" in found


def test_the_axis_has_no_other_of_its_name(home: Path) -> None:
    (home / "w.yaml").write_text(f"datasets: graphs/a.txt\nmatrix: {{dataset: [1]}}{STAGES}")
    with pytest.raises(WorkflowError, match="makes an axis 'dataset'"):
        load_workflow(home / "w.yaml")


def test_one_that_fails_does_not_stop_the_others(home: Path) -> None:
    (home / "graphs/c.txt").write_text("1 2\nx y\n")
    section = "{a: graphs/a.txt, b: {file: graphs/b.txt, edges: 4}, c: graphs/c.txt, d: graphs/none.txt}"
    plan_of(home, section)
    code, told, record = run()
    assert code == 1
    assert rows(record) == {"a": ("done", ""), "b": ("failed", ""), "c": ("failed", ""), "d": ("failed", "")}
    assert "the graph has 3 edges, and 4 are expected" in told
    assert "w.yaml:1: there is no file" in told
    assert "4 data sets: 3 failed, 1 done" in told
    first = record["datasets"][0]
    assert (first["vertices"], first["edges"], first["stages"]) == (3, 2, {"computed": 2})
    report = json.loads((home / "cache/runs" / record["run"] / "report.json").read_text())
    assert report["reports"][0]["sections"][0]["rows"][0][:2] == ["a", "done"]
    done = gravel("plan", "w.yaml")
    assert "cannot run  edges[dataset=d]" in done.output


def test_a_report_goes_on_without_what_failed(home: Path) -> None:
    plan_of(home, "graphs/*.txt")
    text = (home / "w.yaml").read_text()
    (home / "w.yaml").write_text(
        f"{text}  summary: {{stage: report, over: matrix, inputs: [edges, graph]}}\n"
    )
    whole = (home / "graphs/b.txt").read_text()
    (home / "graphs/b.txt").write_text("x y\n")
    code, told, record = run()
    assert code == 1
    assert "summary goes on without dataset=b" in told
    summary = record["stages"][-1]
    assert (summary["state"], summary["upstream"]) == ("computed", ["edges[dataset=a]", "graph[dataset=a]"])
    assert rows(record) == {"a": ("done", ""), "b": ("failed", "")}
    (home / "graphs/b.txt").write_text(whole)
    code, told, record = run()
    assert code == 0
    assert len(record["stages"][-1]["upstream"]) == 4
    (home / "graphs/a.txt").write_text("x y\n")
    (home / "graphs/b.txt").write_text("x y\n")
    assert run()[2]["stages"][-1]["state"] == "skipped"


def test_only_what_changed_is_done_again(home: Path) -> None:
    plan_of(home, "graphs/*.txt")
    assert rows(run()[2]) == {"a": ("done", ""), "b": ("done", "")}
    os.utime(home / "graphs/a.txt", (1, 1))
    (home / "graphs/b.txt").write_text("1 2\n")
    code, told, record = run()
    assert rows(record) == {"a": ("unchanged", ""), "b": ("done", "changed")}
    (home / "graphs/c.txt").write_text("5 6\n")
    (home / "graphs/a.txt").unlink()
    code, told, record = run()
    assert code == 0
    assert rows(record) == {"b": ("unchanged", ""), "c": ("done", "new")}
    assert [Path(each["location"]).name for each in record["gone"]] == ["a.txt"]
    assert "new since" in told
    assert "no longer there since" in told
    code, told, record = run("--where", "dataset=b")
    assert rows(record) == {"b": ("unchanged", ""), "c": ("left out", "")}
    assert rows(run()[2]) == {"b": ("unchanged", ""), "c": ("unchanged", "")}


def test_what_does_not_fit_leaves_the_others(home: Path) -> None:
    (home / "graphs/b.metis").write_text("400000000 1 000\n")
    plan_of(home, "[graphs/a.txt, {file: graphs/b.metis, format: metis}]")
    _, _, record = run("--host-memory", "256MiB")
    assert rows(record)["a"] == ("done", "")
    assert rows(record)["b"][0] == "failed"


def test_urls_are_downloaded_and_read_from_the_copy(home: Path) -> None:
    with WebServer(b"1 2\n2 3\n", ETag='"one"') as server:
        plan_of(home, f"{{web: {{url: '{server.address}/web.txt', vertices: 3, edges: 2}}}}")
        assert rows(run()[2]) == {"web": ("done", "")}
        server.requests.clear()
        assert rows(run()[2]) == {"web": ("unchanged", "")}
        assert {method for method, _ in server.asked} == {"HEAD"}
        asked = gravel("datasets", "ls", "--from", "w.yaml")
        assert "here" in asked.output
        server.cuts = [2]
        server.files, server.headers["ETag"] = b"1 2\n2 3\n3 1\n", '"two"'
        _, told, _ = run()
        assert "the graph has 3 edges, and 2 are expected" in told
    assert rows(run()[2])["web"] == ("failed", "")  # offline: the copy is what is known


def test_fetching_ahead(home: Path) -> None:
    with WebServer(b"1 2\n2 3\n", ETag='"one"') as server:
        (home / "datasets.yaml").write_text(
            f"datasets:\n  web: {{url: '{server.address}/web.txt', licence: CC0}}\n"
            f"  gone: {{url: '{server.address}/x.txt', sha256: {'f' * 64}}}\n"
        )
        listed = gravel("datasets", "ls")
        assert listed.output.splitlines()[1].split()[:3] == ["web", "not", "here"]
        done = gravel("datasets", "fetch", "--all")
        assert done.exit_code == 1
        assert "web: " in done.output
        assert "has the sha256" in done.output
        wrong = gravel("datasets", "fetch", "wbe")
        assert wrong.exit_code == 2
        assert "'web'" in wrong.output
    assert gravel("datasets", "fetch", "web").exit_code == 0
    facts = json.loads(gravel("datasets", "ls", "--json").output)
    assert (facts[0]["state"], facts[0]["licence"]) == ("here", "CC0")
    assert "freed" in gravel("datasets", "drop", "web").output
    assert "not here" in gravel("datasets", "ls").output


def test_the_catalogue_of_well_known_graphs() -> None:
    known = read_catalogue(Path(__file__).parents[3] / "workflows/catalogues/datasets.yaml")
    assert len(known) > 10
    for each in known.values():
        assert each.location.startswith("http") or each.name == "WDC-2012"  # hundreds of files
        assert all((each.stand_in, each.citation, each.licence, each.homepage, each.vertices))
        # The collection of these two states nonzeros, and the file lists fewer.
        assert each.edges or each.name in ("kkt_power", "kron_g500-logn20")


def test_stand_ins_are_generated_graphs_in_the_place_of_files(home: Path) -> None:
    (home / "known.yaml").write_text(
        "catalogue: c\ndatasets:\n"
        "  far: {url: 'https://nowhere.invalid/far.txt', stand_in: {grid: {dimensions: [3, 3]}}}\n"
        "  many: {homepage: 'https://nowhere.invalid', stand_in: {path: {vertices: 4}}}\n"
        "  file: {url: 'https://nowhere.invalid/file.txt'}\n"
    )

    def axis(section: str) -> dict[str, Any]:
        found = plan_of(home, section).workflow.datasets["dataset"]
        return {name: each.parameters() for name, each in found.items()}

    assert axis("{catalogue: known.yaml, stand_ins: true}") == {
        "far-stand-in": {"source": {"grid": {"dimensions": [3, 3]}}},
        "many-stand-in": {"source": {"path": {"vertices": 4}}},
    }
    # Without stand-ins, those that have a place.
    assert set(axis("known.yaml")) == {"far", "file"}
    with pytest.raises(WorkflowError, match="'many' cannot be fetched") as raised:
        axis("{catalogue: known.yaml, pick: [many]}")
    assert "stand_ins: true" in str(raised.value.problems[0].hint)
    with pytest.raises(WorkflowError, match="'file' has no `stand_in`"):
        axis("{catalogue: known.yaml, pick: [file], stand_ins: true}")
    with pytest.raises(WorkflowError, match="true or false"):
        axis("{catalogue: known.yaml, stand_ins: 3}")
    (home / "known.yaml").write_text("datasets: {far: {stand_in: 3}}\n")
    with pytest.raises(WorkflowError, match="one generator"):
        axis("known.yaml")


def test_a_new_data_set_is_compared_with_nothing(home: Path) -> None:
    (home / "w.yaml").write_text(f"datasets: graphs/*.txt{STAGES}")
    run()
    (home / "graphs" / "new.txt").write_text("7 8\n8 9\n")
    planned = gravel("plan", "w.yaml").stdout
    line = next(line for line in planned.splitlines() if "edges[dataset=new]" in line)
    assert "not computed before" in line
    assert "most similar" not in planned
