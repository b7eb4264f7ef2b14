"""The JSON schema of workflow files: a validator of its draft checks files with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from gravel.pipeline.cli import main
from gravel.pipeline.workflow.schema import workflow_schema
from tests.pipeline.fake_stages import FAKES, ORDERINGS


def check(text: str, schema: dict[str, Any]) -> bool:
    return Draft202012Validator(schema).is_valid(YAML(typ="safe", pure=True).load(text))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(json.dumps(workflow_schema(FAKES)))


def test_it_is_of_the_draft_that_it_names(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)
    for name in re.findall(r'"\$ref": "#/\$defs/([^"]*)"', json.dumps(schema)):
        assert name in schema["$defs"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stages:\n", "stags:\n"),
        ("stage: reorder", "stage: reordr"),
        ("edge_factor", "edge_facter"),
        ("codec:", "coedc:"),
        ("seed: 1}", "seed: x}"),
        ('method: "${order}"', "method: rmc"),
        ('scale: "${scale}", ', ""),
        ("input: edges", "input: [edges]"),
        ("over: matrix", "over: order"),
        ("stage: verify, ", ""),
        ('scale: "${scale}"', "scale: 99"),
        ("[csr, varint]", "[]"),
        ("[csr, varint]", "[csr, varint]\n  exclude: rcm"),
        ("algorithm: bfs", "algorithm: bfs, repeat: 0"),
        ("method:", "repeat: 2, method:"),
        ("stage: symmetrize, input", "use: other.yaml, input"),
    ],
)
def test_it_refuses_what_the_parser_refuses(schema: dict[str, Any], old: str, new: str) -> None:
    assert old in ORDERINGS
    assert not check(ORDERINGS.replace(old, new), schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 1}", "seed: 1}"),
        ("seed: 1}", 'seed: "${scale}"}'),
        ('source: {rmat: {scale: "${scale}", edge_factor: 16, seed: 1}}', 'source: "${source}"'),
        ("graph: graph, traversal: bfs", "inputs: {graph: graph, traversal: bfs}"),
        ("over: matrix", "over: [order]"),
        ("over: matrix", "over: [nest.order]"),
        ("[csr, varint]", "[csr, varint]\n  exclude: {order: rcm}\n  include: [{order: [1], layout: csr}]"),
        ("algorithm: bfs", "algorithm: bfs, repeat: 3"),
        ("{stage: symmetrize, input: edges}", "{use: other.yaml, parameters: {a: [1]}, only: [graph]}"),
        ("graph: graph, traversal", "graph: nest.graph, traversal"),
        ("input: edges", "input: edges, keep: false, about: rows"),
        ('sources: {random: "${sources}", seed: 7}', "sources: [1, '${sources}']"),
    ],
)
def test_it_accepts_what_the_parser_accepts(schema: dict[str, Any], old: str, new: str) -> None:
    assert old in ORDERINGS
    assert check(ORDERINGS.replace(old, new), schema)


def test_parameters_are_documented(schema: dict[str, Any]) -> None:
    rmat = schema["$defs"]["ingest.Rmat"]["properties"]["scale"]
    assert rmat["description"] == "Base-2 logarithm of the number of vertices."


def test_the_command_prints_and_writes_it(tmp_path: Path) -> None:
    printed = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    target = tmp_path / "schema.json"
    CliRunner().invoke(main, ["schema", "--to", str(target)])
    assert json.loads(target.read_text()) == printed
    assert "stage.report" in printed["$defs"]
