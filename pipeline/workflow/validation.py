"""Pydantic's word on a stage's parameters, turned into faults with their places in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from gravel.pipeline.core.errors import Location, Problem
from gravel.pipeline.core.names import either, nearest, suggest
from gravel.pipeline.plugins.packages import RESERVED
from gravel.pipeline.workflow.entries import Draft
from gravel.pipeline.workflow.nodes import ListNode, MapNode, Node, ScalarNode, Text, to_text
from gravel.pipeline.workflow.values import MERGE
from gravel.stages.artifact import Json
from gravel.stages.stage import Parameters, Stage


@dataclass(frozen=True)
class _Step:
    """One error of pydantic after its `loc` was followed through the data."""

    path: tuple[str | int, ...]  # keys and positions that exist in the data
    tags: tuple[tuple[int, str], ...]  # what pydantic put between: union members, at which depth
    name: str | None  # the key that is unknown or missing
    kind: str
    message: str
    value: Json
    context: dict[str, Any]


def validate(draft: Draft, data: dict[str, Json], kinds: Mapping[str, Sequence[str]]) -> Parameters | None:
    """Validate filled-in parameters against the stage's model; faults are noted, and then it is None.

    `kinds` are those of the entry's inputs by slot.
    """
    entry, scope = draft.entry, draft.scope
    stage = entry.stage
    try:
        parameters = stage.parameters.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        steps = _without_mistyped(_best_members([_follow(detail, data) for detail in details]))
        steps = _without_emptied(steps)
    except (RecursionError, OverflowError) as error:
        scope.fault(entry.location, f"the parameters of stage {stage.name} cannot be read: {error}")
        return None
    else:
        steps = list(_switches(data, parameters, ()))
        steps += [
            _sentence(fault.path, fault.message, fault.value)
            for fault in (*stage.faults(parameters), *stage.kind_faults(parameters, kinds))
        ]
        if not steps:
            return parameters
    origins = scope.values.origins
    for step in steps:
        found, text = _find(draft.parameters, step.path)
        here = entry.location if found is draft.parameters else scope.at(found)
        named = [name.strip() for name in re.findall(r"\$\{([^{}]*)\}", text or "")]
        origin = next((origins[name].location for name in named if name in origins), None)
        if origin is None:
            problem = _problem(step, stage, found, text, here, scope.source)
        else:  # the value is at fault, and it stands in the file that gave it
            problem = _problem(step, stage, found, None, here, scope.source)
            used = f"it is used in {here.file}, line {here.line}"
            problem = Problem(problem.message, "; ".join(filter(None, (problem.hint, used))), origin)
        scope.faults.add_all([problem])
    return None


def _sentence(path: tuple[str | int, ...], message: str, value: Json, context: Any = None) -> _Step:
    """Return an error whose message says what is expected, as a reader of YAML calls it."""
    return _Step(path, (), None, "one_of", message, value, context or {})


def _follow(detail: Any, data: Json) -> _Step:
    path: list[str | int] = []
    tags: list[tuple[int, str]] = []
    loc, kind = list(detail["loc"]), detail["type"]
    name = str(loc.pop()) if kind in ("missing", "extra_forbidden") and loc else None
    here = data
    for part in loc:
        if (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]
            path.append(part)
        else:
            tags.append((len(path), str(part)))
    return _Step(
        tuple(path), tuple(tags), name, kind, detail["msg"], detail["input"], detail.get("ctx") or {}
    )


def _best_members(steps: Sequence[_Step]) -> list[_Step]:
    """Where a union's members all failed, keep the errors of the member that was probably meant."""
    groups: dict[tuple[str | int, ...], dict[str, list[_Step]]] = {}
    kept: list[_Step] = []
    for step in steps:
        if not step.tags:
            kept.append(step)
        else:
            depth, tag = step.tags[0]
            groups.setdefault(step.path[:depth], {}).setdefault(tag, []).append(step)
    for path, members in groups.items():
        shallow = {
            tag: sum(len(step.path) == len(path) for step in member) for tag, member in members.items()
        }
        least = min(shallow.values())
        if least == 0 or len(members) == 1:
            best = min((members[tag] for tag in members if shallow[tag] == least), key=len)
            kept += best
        else:
            kept += _merge([step for member in members.values() for step in member], len(path))
    return kept


def _without_mistyped(steps: Sequence[_Step]) -> list[_Step]:
    """Leave out that a name is missing where it stands mistyped beside."""
    missing = {(step.path, step.name) for step in steps if step.kind == "missing"}
    meant = {
        (step.path, nearest(step.name or "", [name for path, name in missing if name and path == step.path]))
        for step in steps
        if step.kind == "extra_forbidden"
    }
    return [step for step in steps if step.kind != "missing" or (step.path, step.name) not in meant]


def _without_emptied(steps: Sequence[_Step]) -> list[_Step]:
    """Leave out that a list is too short where that is so only because its items are wrong."""
    return [
        step
        for step in steps
        if step.kind != "too_short"
        or all(other.path[: len(step.path)] != step.path for other in steps if other is not step)
    ]


def _switches(data: Json, read: Any, path: tuple[str | int, ...]) -> Iterator[_Step]:
    """Yield each true or false that pydantic took for the number 1 or 0."""
    if isinstance(data, bool) and isinstance(read, int | float) and not isinstance(read, bool):
        yield _sentence(path, "a number is expected", data)
    elif isinstance(data, dict):
        for name, value in data.items():
            inner = read.get(name) if isinstance(read, dict) else getattr(read, name, None)
            yield from _switches(value, inner, (*path, name))
    elif isinstance(data, list) and isinstance(read, list | tuple):
        for place, (value, inner) in enumerate(zip(data, read, strict=False)):
            yield from _switches(value, inner, (*path, place))


def _merge(steps: Sequence[_Step], depth: int) -> list[_Step]:
    """Tell the failures of several members in one sentence each."""
    shallow = [step for step in steps if len(step.path) == depth]
    unknown = {step.name: step for step in shallow if step.kind == "extra_forbidden"}
    missing = [step for step in shallow if step.kind == "missing"]
    allowed = {step.name for step in missing}
    if strange := [step for name, step in unknown.items() if name not in allowed]:
        return strange
    if missing and len(missing) == len(shallow):
        first = missing[0]
        names = either(dict.fromkeys(repr(step.name) for step in missing))
        return [_sentence(first.path, f"one of {names} is needed", first.value)]
    shallow = [step for step in shallow if step.kind not in _FAR] or shallow
    first = shallow[0]
    wanted = either(dict.fromkeys(_expectation(step) for step in shallow))
    return [_sentence(first.path, f"{wanted} is expected", first.value, first.context)]


_FAR = {"model_type", "model_attributes_type", "dict_type", "list_type", "tuple_type", "none_required"}
_COUNTED_OR_MATCHED = {"too_short", "too_long", "string_pattern_mismatch"}

_PLAIN = {
    r"a valid (dictionary or instance of \w+|dictionary)": "a mapping",
    r"a valid (tuple|list)": "a list",
    r"a valid integer, got a number with a fractional part": "a whole number",
    r"a valid string": "a text",
    r"a valid boolean(, unable to interpret input)?": "true or false",
    r"a valid number(, unable to parse .*$)?": "a number",
    r"a valid integer(, unable to parse .*$)?": "a whole number",
    r", unable to parse .*$": "",
    r"greater than or equal to ": "at least ",
    r"less than or equal to ": "at most ",
    r"greater than ": "more than ",
}
"""Pydantic's terms and what a reader of YAML calls them."""


def _expectation(step: _Step) -> str:
    if step.kind in ("too_short", "too_long"):
        bound, word = ("min", "least") if step.kind == "too_short" else ("max", "most")
        count = step.context.get(f"{bound}_length", 1)
        return f"at {word} {count} {'value' if count == 1 else 'values'}"
    if step.kind == "string_pattern_mismatch":
        return f"a text that matches {step.context['pattern']}"
    text = step.message.removeprefix("Value error, ").removeprefix("Input should be ")
    for term, plain in _PLAIN.items():
        text = re.sub(term, plain, text)
    return text


_NUMERAL = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")


def _problem(
    step: _Step, stage: Stage, found: Node, reference: str | None, where: Location, source: Text
) -> Problem:
    dotted = ".".join(map(str, step.path))
    inside = f" in `{dotted}`" if dotted else ""
    if step.kind == "extra_forbidden" and step.name is not None:
        also = () if step.path else (*RESERVED, *stage.inputs)
        if isinstance(found, MapNode) and step.name in found.keys:
            where = source.at(found.keys[step.name])
        message = f"stage {stage.name} has no parameter {step.name!r}{inside}"
        known = [*fields_at(stage.parameters, step.path), *also]
        return Problem(message, suggest(step.name, known, "parameter"), where)
    if step.kind == "missing" and step.name is not None:
        about = fields_at(stage.parameters, step.path).get(step.name)
        return Problem(f"stage {stage.name} needs the parameter {step.name!r}{inside}", about, where)
    written = to_text(step.value)
    cut = written if len(written) <= 60 else f"{written[:57]}..."
    shown = cut if isinstance(step.value, int | float | list | dict | None) else repr(cut)
    if isinstance(step.value, str) and _NUMERAL.fullmatch(written):
        shown = f"the text {shown}"  # in quotes in the file, or it would be a number
    hint = f"its value comes from {reference}" if reference else None
    if step.kind == "one_of":
        expected = step.message
    elif step.message.startswith("Input should be ") or step.kind in _COUNTED_OR_MATCHED:
        expected = f"{_expectation(step)} is expected"
    else:
        expected = _expectation(step)
    options = re.findall(r"'([^']*)'", str(step.context.get("expected", "")))
    if options and isinstance(step.value, str):
        meant = suggest(step.value, options, "value")
        hint = "; ".join(filter(None, (meant if meant.startswith("did") else None, hint)))
    elif step.kind in _FAR and step.path:
        about = fields_at(stage.parameters, step.path[:-1]).get(str(step.path[-1]))
        hint = "; ".join(filter(None, (about and about.rstrip("."), hint)))
    subject = f"`{dotted}` of stage {stage.name} is {shown}" if dotted else f"stage {stage.name}"
    return Problem(f"{subject}{', and ' if dotted else ': '}{expected}", hint or None, where)


def _find(node: Node, path: Sequence[str | int]) -> tuple[Node, str | None]:
    """Follow a path through the file's tree; it ends early at a `${reference}`, which is returned too."""
    for part in path:
        if isinstance(node, MapNode) and part in node.items:
            node = node.items[str(part)]
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        elif isinstance(node, MapNode) and MERGE in node.items:
            node = node.items[MERGE]
            break
        else:
            break
    text = node.text if isinstance(node, ScalarNode) and "${" in node.text else None
    return node, text


def fields_at(model: type[BaseModel], path: Sequence[str | int]) -> dict[str, str | None]:
    """Return the field names that fit at a path inside a model, with what each is about."""
    from gravel.stages.stage import documented, models_in

    here = [model]
    for part in path:
        if isinstance(part, int):
            continue
        inner = [
            each.model_fields[part].annotation
            for each in here
            if part in each.model_fields and each.model_fields[part].annotation is not None
        ]
        here = [found for annotation in inner for found in models_in(annotation)]
    return {name: field.description for each in here for name, field in documented(each).model_fields.items()}
