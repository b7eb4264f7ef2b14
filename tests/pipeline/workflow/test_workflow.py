"""Workflow files: what is read, and what is said about faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError, WorkflowError
from gravel.pipeline.workflow.loader import load_workflow
from gravel.pipeline.workflow.model import Workflow
from tests.pipeline.fake_stages import FAKES, ORDERINGS


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str | bytes, name: str = "w.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def load(path: Path, **overrides: str) -> Workflow:
    return load_workflow(path, overrides, stages=FAKES)


def faults(path: Path, **overrides: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(WorkflowError) as caught:
        load(path, **overrides)
    places = [(at.line, at.column) if (at := each.location) else (0, 0) for each in caught.value.problems]
    return [
        (*place, each.message, each.hint or "")
        for place, each in zip(places, caught.value.problems, strict=True)
    ]


def test_reads_the_example_of_the_design(write) -> None:
    workflow = load(write(ORDERINGS))
    assert workflow.name == "orderings"
    assert workflow.parameters == {"scale": 18, "sources": 16}
    assert workflow.matrix == {"order": ("original", "rcm", "degree"), "layout": ("csr", "varint")}
    assert list(workflow.stages) == ["edges", "graph", "ordered", "packed", "bfs", "check", "summary"]
    edges = workflow.stages["edges"].variants[()].parameters
    assert edges.source.rmat.scale == 18
    assert workflow.stages["ordered"].axes == ("order",)
    assert workflow.stages["ordered"].variants[(1,)].parameters.method == "rcm"
    assert workflow.stages["summary"].gathers == {"order", "layout"}
    # verify takes the labels of a traversal, report everything that it gives.
    assert [output.output for output in workflow.stages["check"].inputs["traversal"]] == [0]
    assert [(o.entry, o.output) for o in workflow.stages["summary"].inputs["inputs"]] == [
        ("packed", 0),
        ("bfs", 0),
        ("bfs", 1),
        ("check", 0),
    ]


def test_entries_may_stand_in_any_order(write) -> None:
    text = """\
stages:
  check: {stage: verify, inputs: {graph: graph, traversal: bfs}}
  bfs: {stage: traverse, input: graph}
  graph: {stage: symmetrize, input: edges}
  edges: {stage: ingest, source: {rmat: {scale: 3}}}
"""
    assert list(load(write(text)).stages) == ["edges", "graph", "bfs", "check"]


def test_the_name_is_the_files_where_none_is_given(write) -> None:
    text = "stages: {edges: {stage: ingest, source: {rmat: {scale: 3}}, about: some edges, keep: false}}"
    workflow = load(write(text, "study.yaml"))
    assert workflow.name == "study"
    assert workflow.stages["edges"].about == "some edges"
    assert workflow.stages["edges"].keep is False


def test_parameters_can_be_set(write) -> None:
    path = write(ORDERINGS)
    assert load(path, scale="22").stages["edges"].variants[()].parameters.source.rmat.scale == 22
    assert load(path, scale="0x10").parameters["scale"] == 16
    assert load(path, sources="${scale}").parameters["sources"] == 18


REPLACED = [
    ("stage: reorder", "stage: reordr", (15, 20), "there is no stage 'reordr'", "reorder"),
    ("input: ordered", "input: orderd", (16, 37), "there is no entry 'orderd'", "ordered"),
    ("edge_factor", "edge_facter", (13, 63), "no parameter 'edge_facter' in `source.rmat`", "edge_factor"),
    ("codec:", "coedc:", (16, 46), "stage compress has no parameter 'coedc'", "codec"),
    ("rmat:", "rmta:", (13, 37), "no parameter 'rmta' in `source`", "rmat"),
    ("${order}", "${odrer}", (15, 52), "no parameter or matrix axis 'odrer'", "order"),
    ("[original, rcm", "[original, rmc", (15, 51), "`method` of stage reorder is 'rmc'", "rcm"),
    ("input: packed,", "input: edges,", (17, 37), "gives EdgeList and VertexIds", "graph, ordered, packed"),
    ("seed: 7}", "seed: x}", (17, 99), "`sources.seed` of stage traverse is 'x', and a whole number", ""),
    ('{random: "${sources}", seed: 7}', "{randm: 3}", (17, 71), "no parameter 'randm' in `sources`",
     "random"),
    ('{random: "${sources}", seed: 7}', "[1, b]", (17, 74), "`sources.1` of stage traverse is 'b'", ""),
    ('{random: "${sources}", seed: 7}', "soon", (17, 70), "'soon', and a mapping or a list is", ""),
    (", traversal: bfs", "", (18, 3), "'check' (stage verify) needs `traversal`: the labels", "Traversal"),
    ("over: matrix", "over: [ordr]", (19, 34), "there is no matrix axis 'ordr'", "order"),
    ("over: matrix", "over: order", (19, 34), "`over` is 'order'", "over: [order]"),
    ("input: edges}", "input: [edges, graph]}", (14, 39), "takes one entry, and 2 are named", ""),
    ("input: edges}", "input: 7}", (14, 39), "'7' is no name of an entry", ""),
    ("input: edges}", "input: edges, keep: auto}", (14, 52), "`keep` is 'auto'", "write keep: true"),
    ("stage: symmetrize, input: edges", "stage: symmetrize", (14, 3), "needs `input`", "EdgeList"),
    ("graph: graph,", "graph: graph, inputs: {graph: graph},", (18, 35), "the input `graph` is given twice",
     ""),
    ("graph: graph,", "input: graph, graph: graph,", (18, 35), "`input` names none of them",
     "traversal: ENTRY"),
    ("stage: ingest,", "stage: ingest, input: bfs,", (13, 35), "stage ingest takes no input", "remove"),
    ("stage: ingest,", "stages: ingest,", (13, 3), "does not say which stage", "instead of stages"),
    ("stages:\n", "stags:\n", (12, 1), "a workflow has no section 'stags'", "stages"),
    ("  sources: 16", "  scale: 16", (6, 3), "the key 'scale' is repeated; it is already on line 5", "one"),
    ("scale: 18", "scale: !!int 18", (5, 10), "the tag !!int is not understood", "remove"),
    ("  scale: 18", "  1scale: 18", (5, 3), "'1scale' cannot be a name", "letter"),
    ("  scale: 18", "  order: 18", (9, 3), "'order' is a parameter and a matrix axis", "rename"),
    ("[csr, varint]", "[]", (10, 11), "the matrix axis 'layout' has no values", ""),
    ("[csr, varint]", "csr", (10, 11), "a list of values is expected", "layout: [a, b]"),
    ("[csr, varint]", "[csr, csr]", (10, 17), "has the value 'csr' twice", ""),
    ('scale: "${scale}"', 'scale: "${scale"', (13, 52), "'${' is no reference", "${name}"),
    ("input: ordered,", 'input: "${order}",', (16, 38), "the matrix axis 'order' cannot decide this",
     "each case"),
    ("inputs: [packed", "title: '${order}', inputs: [packed", (19, 50), "`over` gathers the axis 'order'",
     "over"),
    ("  packed:", "  pack ed:", (16, 3), "'pack ed' cannot be a name", "letter"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place", "message", "hint"), REPLACED, ids=lambda each: str(each)[:20]
)
def test_a_fault_has_its_place_and_a_cure(write, old, new, place, message, hint) -> None:
    assert old in ORDERINGS
    found = faults(write(ORDERINGS.replace(old, new, 1)))
    at_place = [each for each in found if each[:2] == place]
    assert at_place, found
    assert message in at_place[0][2]
    assert hint in at_place[0][3]


def test_many_faults_are_told_at_once_in_the_order_of_the_file(write) -> None:
    text = ORDERINGS.replace("${order}", "${odrer}").replace("edge_factor", "edge_facter")
    found = faults(write(text.replace("traversal: bfs", "traversal: bsf").replace("codec", "coedc")))
    assert [each[0] for each in found] == [13, 15, 16, 18]


def test_a_circle_is_told_as_a_path(write) -> None:
    text = ORDERINGS.replace("input: graph, method", "input: packed, method")
    messages = [each[2] for each in faults(write(text))]
    assert "the entries form a circle: ordered needs packed needs ordered" in messages
    text = "stages:\n  graph: {stage: symmetrize, input: graph}\n"
    assert any("circle: graph needs graph" in each[2] for each in faults(write(text)))


@pytest.mark.parametrize(
    ("overrides", "message", "hint"),
    [
        ({"scal": "3"}, "--set scal: there is no parameter 'scal'", "did you mean 'scale'?"),
        ({"order": "rcm"}, "--set order: 'order' is a matrix axis", "--where order=rcm"),
        ({"scale": "[1"}, "this is not YAML", "not closed"),
        ({"scale": "many"}, "`source.rmat.scale` of stage ingest is 'many'", "its value comes from ${scale}"),
        ({"scale": "99"}, "is 99, and at most 40 is expected", "${scale}"),
    ],
)
def test_faults_of_overrides(write, overrides, message, hint) -> None:
    found = faults(write(ORDERINGS), **overrides)
    assert message in found[0][2]
    assert hint in found[0][3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"# nothing\n", "says nothing"),
        (b"- a\n", "this is a list"),
        (b"hello\n", "this is a text"),
        (b"{}", "no section `stages`"),
        (b"stages: 3\n", "`stages` has no entries"),
        (b"stages: {a: 1}\n", "the entry 'a' is no mapping"),
        (b"a: 1\n---\nb: 1\n", "a second document starts here"),
        (b"a: [1", "this is not YAML"),
        (b"\tstages: 1", "a tab where only spaces are allowed"),
        (b"a: *b", "the alias *b has no anchor"),
        (b"&a [*a]", "stands inside its own anchor"),
        (b"a: \x01", "U+0001 cannot stand"),
        (b"stages:\n  caf\xe9: 1\n", "byte 0xe9 is not UTF-8"),
        (b"x: " + b"9" * 5000, "a number of 5000 digits"),
        (b"[a]: 1\n", "a key must be a word"),
        (b"parameters: [1]\nstages: {}\n", "names with values are expected"),
    ],
    ids=lambda each: each[:12] if isinstance(each, bytes) else None,
)
def test_files_that_are_no_workflow(write, content, message) -> None:
    found = faults(write(content))
    assert any(message in each[2] for each in found)
    assert b"\xe9" not in content or found[0][:2] == (2, 6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfea\0", "UTF-16"),
        (b"PK\0\0", "binary file"),
        (b"a" * 300_000, "larger than 256 KiB"),
    ],
)
def test_files_that_are_no_text(write, content, message) -> None:
    with pytest.raises(RequestError, match=message):
        load(write(content))


def test_a_file_that_is_missing(write, tmp_path: Path) -> None:
    write("", "orderings.yaml")
    with pytest.raises(RequestError) as caught:
        load(tmp_path / "ordering.yml")
    assert "orderings.yaml" in (caught.value.problems[0].hint or "")
    with pytest.raises(RequestError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(RequestError, match="not a folder"):
        load(tmp_path / "orderings.yaml" / "x.yaml")
    with pytest.raises(RequestError):
        load(Path("a\0b"))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{" * 100_000,
        "- " * 100_000,
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
        ),
        "- - - -\n" * 20_000,
        "? a\n" * 60_000,
        "'a': !x b\n" * 20_000,
    ],
    ids=["brackets", "braces", "dashes", "laughs", "nodes", "keys", "tags"],
)
def test_hostile_files_are_refused(write, text) -> None:
    assert 1 <= len(faults(write(text))) <= 20


def test_references_cannot_multiply_without_end(write) -> None:
    lists = "a: [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"  {chr(98 + i)}: [{','.join([chr(34) + '${' + chr(97 + i) + '}' + chr(34)] * 10)}]\n"
        for i in range(9)
    )
    texts = "t: xxxxxxxxxx\n" + "".join(
        f'  t{i}: "{("${t" + (str(i - 1) if i else "") + "}") * 10}"\n' for i in range(9)
    )
    deep = "d: [1]\n" + "".join(f'  d{i}: ["${{d{i - 1 if i else ""}}}"]\n' for i in range(90))
    for more in (lists, texts, deep):
        text = f"parameters:\n  {more}stages: {{a: {{stage: ingest}}}}\n"
        assert any("with its references filled in" in each[2] for each in faults(write(text)))


def test_a_file_beside_the_workflow_is_found_before_one_in_the_current_directory(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    path = write("parameters: {f: g.txt}\nstages:\n  edges: {stage: ingest, file: '${f}'}\n")

    def location() -> str:
        return load(path).stages["edges"].variants[()].parameters.file

    assert location() == str(tmp_path / "g.txt")  # neither is there: the message names this one
    (elsewhere / "g.txt").write_text("1 2\n")
    assert location() == str(elsewhere / "g.txt")
    (tmp_path / "g.txt").write_text("1 2\n")
    assert location() == str(tmp_path / "g.txt")
    place = load(path).stages["edges"].variants[()].files[str(tmp_path / "g.txt")]
    assert (place.line, place.column) == (3, 32)
    url = "https://example.org/g.txt"
    assert load(path, f=url).stages["edges"].variants[()].parameters.file == url
