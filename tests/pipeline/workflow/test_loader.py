"""Whatever stands in a file, only errors meant for people come out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gravel.pipeline.cli.errors import render
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.workflow.loader import read_workflow
from gravel.pipeline.workflow.nodes import Text
from gravel.pipeline.workflow.source import read_workflow_text
from tests.pipeline.fake_stages import FAKES, ORDERINGS

TOKENS = st.sampled_from([
    "stages", "stage", "input", "inputs", "parameters", "matrix", "over", "keep", "about", "workflow",
    "ingest", "symmetrize", "traverse", "verify", "report", "graph", "edges", "bfs", "source", "rmat", "true",
    "null", ": ", ":", "- ", "\n", "\n  ", "\n    ", "{", "}", "[", "]", ", ", "'", '"', "|", ">", "#", "?",
    "\t", "&a ", "*a", "!!int ", "!x", "<<", "---", "...", "%YAML 1.1", "~", "1", "-1", "0x1", "1e999",
    ".nan", "${order}", "${", "$${", "${a}", "é", "\u2028", "\x85", "\ufeff", "@", "`", "\\",
])  # fmt: skip

PATIENT = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check_message(error: RequestError) -> None:
    assert render(error)
    assert all(problem.message for problem in error.problems)


def survives(text: str, overrides: dict[str, str] | None = None) -> None:
    try:
        build_plan(read_workflow(Text("fuzz.yaml", text), Path("fuzz.yaml"), overrides or {}, FAKES))
    except RequestError as error:
        check_message(error)


@settings(PATIENT, max_examples=50)
@given(st.text(max_size=200) | st.lists(TOKENS, max_size=60).map("".join))
def test_random_text_and_tokens(text: str) -> None:
    survives(text)


@PATIENT
@given(st.data())
def test_the_example_with_parts_exchanged(data: st.DataObject) -> None:
    text = ORDERINGS
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(TOKENS | st.text(max_size=3)) + text[end:]
    survives(text)


@PATIENT
@given(st.data())
def test_the_example_with_lines_exchanged(data: st.DataObject) -> None:
    lines = data.draw(st.permutations(ORDERINGS.splitlines()))
    survives("\n".join(lines[: data.draw(st.integers(1, len(lines)))]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("${order}"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | TOKENS, inner, max_size=3)
    ),
    max_leaves=8,
)


@PATIENT
@given(
    st.sampled_from(["source", "input", "inputs", "keep", "over", "stage", "sources", "format", "labels"]),
    VALUES,
)
def test_any_value_under_any_key(key: str, value: object) -> None:
    text = json.dumps(value)
    for stage in ("ingest", "traverse", "report"):
        survives(f"matrix: {{order: [1, 2]}}\nstages:\n  a: {{stage: {stage}, {key}: {text}}}\n")
        survives(f"matrix: {{order: {text}}}\nparameters: {{p: {text}}}\nstages:\n  a: {{stage: {stage}}}\n")


@PATIENT
@given(st.sampled_from(["include", "exclude"]), VALUES, st.lists(st.tuples(TOKENS, VALUES), max_size=2))
def test_any_combination_of_a_matrix(key: str, value: object, more: list[tuple[str, object]]) -> None:
    for item in (value, [value], [{"order": value}, dict(more)], {"order": [value]}):
        axis = f"matrix: {{order: [rcm, degree], {key}: {json.dumps(item)}}}"
        survives(
            f"{axis}\nstages:\n  a: {{stage: ingest, source: {{rmat: {{scale: 1}}}}, format: '${{order}}'}}\n"
        )
        survives(f"matrix: {{{key}: {json.dumps(item)}}}\nstages: {{a: {{stage: report, over: matrix}}}}\n")


@PATIENT
@example("use", "\U00010000", None)
@example("use", "a\0b", None)
@given(st.sampled_from(["parameters", "only", "use", "about", "stage"]), VALUES, VALUES)
def test_any_use_of_another_workflow(tmp_path_factory, key, value, scale) -> None:
    path = tmp_path_factory.getbasetemp() / "orderings.yaml"
    path.write_text(ORDERINGS)
    entry = {"use": str(path), "parameters": {"scale": scale}, key: value}
    survives(f"matrix: {{order: [4, 5]}}\nstages:\n  a: {json.dumps(entry)}\n")


@PATIENT
@given(st.text(max_size=30))
def test_any_override(value: str) -> None:
    survives(ORDERINGS, {"scale": value})


@PATIENT
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(content)
    try:
        text = read_workflow_text(path)
    except RequestError as error:
        check_message(error)
    else:
        survives(text.text)
