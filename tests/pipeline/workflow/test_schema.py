"""The JSON schema of workflow files: a small validator of the keywords that it uses checks files with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from gravel.pipeline.cli import main
from gravel.pipeline.workflow.schema import workflow_schema
from tests.pipeline.fake_stages import FAKES, ORDERINGS

KNOWN = {
    *("type", "enum", "const", "anyOf", "allOf", "if", "then", "$ref", "properties", "required", "items"),
    *("additionalProperties", "propertyNames", "minProperties", "minItems", "pattern", "minimum", "maximum"),
    *(
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "maxItems",
        "prefixItems",
        "oneOf",
        "format",
    ),
    *("title", "description", "default", "$schema", "$defs", "discriminator", "examples"),
}
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def valid(value: Any, schema: Any, root: dict[str, Any]) -> bool:
    if schema is True:
        return True
    if schema is False:
        return False
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema and not valid(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root):
        return False
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, name) for name in names):
            return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "anyOf" in schema and not any(valid(value, each, root) for each in schema["anyOf"]):
        return False
    if "oneOf" in schema and not any(valid(value, each, root) for each in schema["oneOf"]):
        return False
    if "allOf" in schema and not all(valid(value, each, root) for each in schema["allOf"]):
        return False
    if "if" in schema and valid(value, schema["if"], root) and not valid(value, schema["then"], root):
        return False
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if isinstance(value, int | float) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
    ):
        return False
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            return False
        if "items" in schema and not all(valid(each, schema["items"], root) for each in value):
            return False
    if isinstance(value, dict):
        if len(value) < schema.get("minProperties", 0) or not set(schema.get("required", ())) <= set(value):
            return False
        names = schema.get("propertyNames")
        if names is not None and not all(valid(key, names, root) for key in value):
            return False
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        return all(valid(each, properties.get(key, others), root) for key, each in value.items())
    return True


def check(text: str, schema: dict[str, Any]) -> bool:
    return valid(YAML(typ="safe", pure=True).load(text), schema, schema)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(json.dumps(workflow_schema(FAKES)))


def test_it_names_its_draft(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    for name in re.findall(r'"\$ref": "#/\$defs/([^"]*)"', json.dumps(schema)):
        assert name in schema["$defs"]


def test_it_accepts_the_example(schema: dict[str, Any]) -> None:
    assert check(ORDERINGS, schema)


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


WORKFLOWS = Path(__file__).resolve().parents[3] / "workflows"


@pytest.mark.parametrize(
    "path",
    sorted({*WORKFLOWS.glob("*.yaml")} - {WORKFLOWS / "published.yaml"}),
    ids=lambda path: path.stem,
)
def test_it_accepts_the_workflows_that_come_along(path: Path) -> None:
    from gravel.stages.stage import all_stages

    assert check(path.read_text(), json.loads(json.dumps(workflow_schema(all_stages()))))
