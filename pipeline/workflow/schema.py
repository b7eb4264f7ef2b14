"""The JSON schema (draft 2020-12) of workflow files, made from the stages' own parameter models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.pipeline.plugins.packages import RESERVED
from gravel.pipeline.workflow.catalogue import FIELDS
from gravel.pipeline.workflow.entries import LIMIT, MAX_REPETITIONS, REPEAT
from gravel.pipeline.workflow.matrix import SPECIAL
from gravel.pipeline.workflow.nesting import NEST, SECTIONS, USE
from gravel.pipeline.workflow.values import MERGE, NAME
from gravel.stages.stage import Stage

Schema = dict[str, Any]

_REFERENCE: Schema = {
    "type": "string",
    "pattern": r"\$\{",
    "description": "A text with ${name}: the value of a parameter or matrix axis.",
}
_REFERS: Schema = {"$ref": "#/$defs/reference"}
_ENTRY_NAME: Schema = {"$ref": "#/$defs/name"}
_TEXT: Schema = {"type": "string"}
_SOME_TEXT: Schema = {"type": "string", "minLength": 1}
_NAME = f"^{NAME.pattern}$"
_NAMES: Schema = {"propertyNames": {"pattern": _NAME}}


def _any(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


def _mapping(properties: Schema, required: Sequence[str] = (), about: str = "") -> Schema:
    """Describe a mapping that has these keys and no others."""
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        found["required"] = list(required)
    return {**found, "description": about} if about else found


def _with_texts(schemas: Schema, texts: Mapping[str, str]) -> Schema:
    return {key: {**schemas[key], "description": about} for key, about in texts.items()}


def workflow_schema(stages: Mapping[str, Stage]) -> Schema:
    """Make the schema; a reference `${name}` may stand wherever a parameter's value may."""
    combination = _any({"type": "object", "minProperties": 1, **_NAMES}, _REFERS)
    definitions: Schema = {
        "reference": _REFERENCE,
        "name": {"type": "string", "pattern": rf"^{NAME.pattern}(\.{NAME.pattern})*$"},
        USE: _use(),
        "combinations": _any({"type": "array", "items": combination}, combination),
    }
    branches: list[Schema] = [{"if": {"required": [USE]}, "then": {"$ref": f"#/$defs/{USE}"}}]
    for stage in stages.values():
        definitions[f"stage.{stage.name}"] = _entry(stage, definitions)
        this: Schema = {"properties": {"stage": {"const": stage.name}}, "required": ["stage"]}
        branches.append({"if": this, "then": {"$ref": f"#/$defs/stage.{stage.name}"}})
    special: Schema = {key: {"$ref": "#/$defs/combinations"} for key in SPECIAL}
    axis = _any({"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}, _REFERS)
    entry: Schema = {
        "type": "object",
        "properties": {"stage": {"enum": list(stages)}},
        **_any({"required": ["stage"]}, {"required": [USE]}),
        "allOf": branches,
    }
    sections: Schema = {
        "workflow": _TEXT,
        "about": _TEXT,
        "parameters": {"type": ["object", "null"], **_NAMES},
        "matrix": {
            "type": ["object", "null"],
            "properties": _with_texts(special, SPECIAL),
            "additionalProperties": axis,
            **_NAMES,
        },
        "datasets": _datasets(),
        "plugins": {"type": ["array", "null"], "items": {"type": "string", "pattern": "\\.py$"}},
        "stages": {"type": "object", "minProperties": 1, "additionalProperties": entry, **_NAMES},
        "outputs": {
            "type": ["object", "null"],
            "additionalProperties": _any(_SOME_TEXT, _list_of(_SOME_TEXT)),
        },
    }
    about = "Stages from a raw edge list to a verified, reported traversal."
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gravel workflow",
        **_mapping(_with_texts(sections, SECTIONS), ["stages"], about),
        "$defs": definitions,
    }


def _datasets() -> Schema:
    """Describe the section `datasets`: texts, mappings, picks from catalogues, and lists of these."""
    count = _any({"type": "integer", "minimum": 0}, _REFERS)
    shapes: dict[str, Schema] = {
        "sha256": _any({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"}, _REFERS),
        "weights": _any({"type": "boolean"}, _REFERS),
        "vertices": count,
        "edges": count,
        "stand_in": {"type": "object", "minProperties": 1, "maxProperties": 1},
    }
    fields = _with_texts({name: shapes.get(name, _SOME_TEXT) for name in FIELDS}, FIELDS)
    one, listed = _described(fields), _described({**fields, "name": _SOME_TEXT})
    keys: Schema = {
        "catalogue": _SOME_TEXT,
        "pick": _any(_SOME_TEXT, _list_of(_SOME_TEXT)),
        "stand_ins": {"type": "boolean", "description": "take generated graphs of the same kind instead"},
    }
    about = "data sets of a catalogue file: those of `pick`, or all that can be had"
    picked = _mapping(keys, ["catalogue"], about)
    named: Schema = {
        "type": "object",
        "description": "data sets by name",
        "propertyNames": {"pattern": "^(?!catalogue$)"},
        "minProperties": 1,
        "additionalProperties": _any(_SOME_TEXT, one),
    }
    return _any({"type": "null"}, _SOME_TEXT, _list_of(_any(_SOME_TEXT, listed, picked)), picked, named)


def _described(fields: Schema) -> Schema:
    """Describe a data set by a mapping that says where it lies once."""
    return _any(
        *(
            _mapping({name: each for name, each in fields.items() if name != other}, [place])
            for place, other in (("file", "url"), ("url", "file"))
        )
    )


def _use() -> Schema:
    shapes: Schema = {
        "use": _TEXT,
        "parameters": {"type": ["object", "null"], **_NAMES},
        "only": _any(_ENTRY_NAME, _list_of(_ENTRY_NAME)),
        "about": _TEXT,
    }
    about = "Another workflow, whose entries become entries of this one, called NAME.ENTRY."
    return _mapping(_with_texts(shapes, NEST), [USE], about)


def _entry(stage: Stage, definitions: Schema) -> Schema:
    model = stage.parameters.model_json_schema(ref_template=f"#/$defs/{stage.name}.{{model}}")
    for name, inner in model.pop("$defs", {}).items():
        definitions[f"{stage.name}.{name}"] = _open(inner)
    parameters = _open(model)
    properties: Schema = {
        "stage": {"const": stage.name, "description": stage.about},
        "keep": _any({"type": "boolean"}, _REFERS),
        "about": dict(_TEXT),
        LIMIT: _any(_TEXT, {"type": "number", "exclusiveMinimum": 0}),
    }
    if stage.measures:
        properties[REPEAT] = _any({"type": "integer", "minimum": 1, "maximum": MAX_REPETITIONS}, _REFERS)
    several = _any(_ENTRY_NAME, _list_of(_ENTRY_NAME))
    shapes = {slot: several if each.many else _ENTRY_NAME for slot, each in stage.inputs.items()}
    if stage.inputs:
        properties["inputs"] = _any(several, _mapping(shapes))
    if len(stage.inputs) == 1:
        properties["input"] = dict(next(iter(shapes.values())))
    if any(slot.many for slot in stage.inputs.values()):
        properties["over"] = _any({"enum": ["matrix", "none"]}, {"type": "array", "items": _ENTRY_NAME})
    properties[MERGE] = {
        **_any({"type": "object"}, _REFERS),
        "description": "a mapping of parameters, often ${axis}; those named beside it win",
    }
    for slot, each in stage.inputs.items():
        kinds = "any artifact" if len(each.kinds) > 5 else " or ".join(each.kinds)
        shape = properties.get(slot, shapes[slot])
        properties[slot] = {**shape, "description": f"{each.about} ({kinds})"}
    for key in properties:
        properties[key].setdefault("description", RESERVED.get(key, ""))
    properties.update(parameters.get("properties", {}))
    return _mapping(properties, ["stage", *parameters.get("required", [])], stage.about)


def _open(schema: Schema) -> Schema:
    """Let a reference stand for every property and item below a schema."""
    # Pydantic writes the bounds of a size in bytes under names that are no keywords of a schema.
    opened = {key: value for key, value in schema.items() if key not in ("gt", "ge", "lt", "le")}
    if isinstance(schema.get("properties"), dict):
        opened["properties"] = {name: _or_reference(each) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            opened[key] = _or_reference(schema[key])
    for key, change in (("prefixItems", _or_reference), ("anyOf", _open), ("oneOf", _open), ("allOf", _open)):
        if isinstance(schema.get(key), list):
            opened[key] = [change(each) for each in schema[key]]
    return opened


def _or_reference(schema: Schema) -> Schema:
    kept: Schema = {key: schema[key] for key in ("description", "default", "title") if key in schema}
    rest: Schema = {key: value for key, value in _open(schema).items() if key not in kept}
    return {**_any(rest, _REFERS), **kept}
