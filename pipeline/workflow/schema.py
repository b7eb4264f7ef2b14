"""The JSON schema (draft 2020-12) of workflow files, made from the stages' own parameter models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gravel.pipeline.plugins.reserved_keys import RESERVED
from gravel.pipeline.workflow.catalogue import FIELDS
from gravel.pipeline.workflow.entries import LIMIT, MAX_REPETITIONS, REPEAT
from gravel.pipeline.workflow.matrix import SPECIAL
from gravel.pipeline.workflow.nesting import NEST, SECTIONS, USE
from gravel.pipeline.workflow.substitution import MERGE
from gravel.pipeline.workflow.values import NAME
from gravel.stages.stage import Slot, Stage

__all__ = ["workflow_schema"]

Schema = dict[str, Any]

_REFERENCE: Schema = {
    "type": "string",
    "pattern": r"\$\{",
    "description": "A text with ${name}: the value of a parameter or matrix axis.",
}
_NAME = f"^{NAME.pattern}$"
_DOTTED = rf"^{NAME.pattern}(\.{NAME.pattern})*$"


def workflow_schema(stages: Mapping[str, Stage]) -> Schema:
    """Make the schema; a reference `${name}` may stand wherever a parameter's value may."""
    definitions: Schema = {
        "reference": _REFERENCE,
        "name": {"type": "string", "pattern": _DOTTED},
        USE: _use(),
        "combinations": _combinations(),
    }
    branches: list[Schema] = [{"if": {"required": [USE]}, "then": {"$ref": f"#/$defs/{USE}"}}]
    for stage in stages.values():
        definitions[f"stage.{stage.name}"] = _entry(stage, definitions)
        branches.append(
            {
                "if": {"properties": {"stage": {"const": stage.name}}, "required": ["stage"]},
                "then": {"$ref": f"#/$defs/stage.{stage.name}"},
            }
        )
    names: Schema = {"propertyNames": {"pattern": _NAME}}
    sections: Schema = {
        "workflow": {"type": "string"},
        "about": {"type": "string"},
        "parameters": {"type": ["object", "null"], **names},
        "matrix": {
            "type": ["object", "null"],
            "properties": {
                key: {"$ref": "#/$defs/combinations", "description": about} for key, about in SPECIAL.items()
            },
            "additionalProperties": {
                "anyOf": [
                    {"type": "array", "minItems": 1},
                    {"type": "object", "minProperties": 1},
                    {"$ref": "#/$defs/reference"},
                ]
            },
            **names,
        },
        "datasets": _datasets(),
        "plugins": {"type": ["array", "null"], "items": {"type": "string", "pattern": "\\.py$"}},
        "stages": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "properties": {"stage": {"enum": list(stages)}},
                "anyOf": [{"required": ["stage"]}, {"required": [USE]}],
                "allOf": branches,
            },
            **names,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gravel workflow",
        "description": "Stages from a raw edge list to a verified, reported traversal.",
        "type": "object",
        "properties": {key: {**sections[key], "description": about} for key, about in SECTIONS.items()},
        "required": ["stages"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _combinations() -> Schema:
    one: Schema = {
        "anyOf": [
            {"type": "object", "minProperties": 1, "propertyNames": {"pattern": _NAME}},
            {"$ref": "#/$defs/reference"},
        ]
    }
    return {"anyOf": [{"type": "array", "items": one}, one]}


def _datasets() -> Schema:
    """Describe the section `datasets`: texts, mappings, picks from catalogues, and lists of these."""
    text: Schema = {"type": "string", "minLength": 1}
    count: Schema = {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/reference"}]}
    shapes: dict[str, Schema] = {
        "sha256": {
            "anyOf": [{"type": "string", "pattern": "^[0-9a-fA-F]{64}$"}, {"$ref": "#/$defs/reference"}]
        },
        "weights": {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/reference"}]},
        "vertices": count,
        "edges": count,
        "stand_in": {"type": "object", "minProperties": 1, "maxProperties": 1},
    }
    fields: Schema = {
        name: {**shapes.get(name, text), "description": about} for name, about in FIELDS.items()
    }
    one, listed = _described(fields), _described({**fields, "name": text})
    picked: Schema = {
        "type": "object",
        "description": "data sets of a catalogue file: those of `pick`, or all that can be had",
        "properties": {
            "catalogue": text,
            "pick": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
            "stand_ins": {"type": "boolean", "description": "take generated graphs of the same kind instead"},
        },
        "required": ["catalogue"],
        "additionalProperties": False,
    }
    named: Schema = {
        "type": "object",
        "description": "data sets by name",
        "propertyNames": {"pattern": "^(?!catalogue$)"},
        "minProperties": 1,
        "additionalProperties": {"anyOf": [text, one]},
    }
    several: Schema = {"type": "array", "items": {"anyOf": [text, listed, picked]}, "minItems": 1}
    return {"anyOf": [{"type": "null"}, text, several, picked, named]}


def _described(fields: Schema) -> Schema:
    """Describe a data set by a mapping that says where it lies once."""
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {name: each for name, each in fields.items() if name != other},
                "required": [place],
                "additionalProperties": False,
            }
            for place, other in (("file", "url"), ("url", "file"))
        ]
    }


def _use() -> Schema:
    one: Schema = {"$ref": "#/$defs/name"}
    shapes: Schema = {
        "use": {"type": "string"},
        "parameters": {"type": ["object", "null"], "propertyNames": {"pattern": _NAME}},
        "only": {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]},
        "about": {"type": "string"},
    }
    return {
        "type": "object",
        "description": "Another workflow, whose entries become entries of this one, called NAME.ENTRY.",
        "properties": {key: {**shapes[key], "description": about} for key, about in NEST.items()},
        "required": [USE],
        "additionalProperties": False,
    }


def _entry(stage: Stage, definitions: Schema) -> Schema:
    model = stage.parameters.model_json_schema(ref_template=f"#/$defs/{stage.name}.{{model}}")
    for name, inner in model.pop("$defs", {}).items():
        definitions[f"{stage.name}.{name}"] = _open(inner)
    parameters = _open(model)
    properties: Schema = {
        "stage": {"const": stage.name, "description": stage.about},
        "keep": {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/reference"}]},
        "about": {"type": "string"},
        LIMIT: {"anyOf": [{"type": "string"}, {"type": "number", "exclusiveMinimum": 0}]},
    }
    if stage.measures:
        times: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_REPETITIONS}
        properties[REPEAT] = {"anyOf": [times, {"$ref": "#/$defs/reference"}]}
    one: Schema = {"$ref": "#/$defs/name"}
    several: Schema = {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    shapes = {slot: several if each.many else one for slot, each in stage.inputs.items()}
    if stage.inputs:
        properties["inputs"] = {
            "anyOf": [
                several,
                {"type": "object", "properties": shapes, "additionalProperties": False},
            ]
        }
    if len(stage.inputs) == 1:
        properties["input"] = next(iter(shapes.values()))
    if any(slot.many for slot in stage.inputs.values()):
        axes: Schema = {"type": "array", "items": one}
        properties["over"] = {"anyOf": [{"enum": ["matrix", "none"]}, axes]}
    properties[MERGE] = {
        "anyOf": [{"type": "object"}, {"$ref": "#/$defs/reference"}],
        "description": "a mapping of parameters, often ${axis}; those named beside it win",
    }
    for slot, each in stage.inputs.items():
        properties.setdefault(slot, shapes[slot])
        properties[slot] = {**properties[slot], "description": _about(each)}
    for key in properties:
        properties[key].setdefault("description", RESERVED.get(key, ""))
    return {
        "type": "object",
        "description": stage.about,
        "properties": {**properties, **parameters.get("properties", {})},
        "required": ["stage", *parameters.get("required", [])],
        "additionalProperties": False,
    }


def _about(slot: Slot) -> str:
    kinds = "any artifact" if len(slot.kinds) > 5 else " or ".join(slot.kinds)
    return f"{slot.about} ({kinds})"


def _open(schema: Schema) -> Schema:
    """Let a reference stand for every property and item below a schema."""
    # Pydantic writes the bounds of a size in bytes under names that are no keywords of a schema.
    opened = {key: value for key, value in schema.items() if key not in ("gt", "ge", "lt", "le")}
    if isinstance(schema.get("properties"), dict):
        opened["properties"] = {name: _or_reference(each) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            opened[key] = _or_reference(schema[key])
    if isinstance(schema.get("prefixItems"), list):
        opened["prefixItems"] = [_or_reference(each) for each in schema["prefixItems"]]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            opened[key] = [_open(each) for each in schema[key]]
    return opened


def _or_reference(schema: Schema) -> Schema:
    kept: Schema = {key: schema[key] for key in ("description", "default", "title") if key in schema}
    rest: Schema = {key: value for key, value in _open(schema).items() if key not in kept}
    return {"anyOf": [rest, {"$ref": "#/$defs/reference"}], **kept}
