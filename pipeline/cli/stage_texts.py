"""Texts about stages, on the terminal and in the docs: order, types, defaults, strategies."""

from __future__ import annotations

import pkgutil
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from gravel.pipeline.cli.errors import echo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo

    from gravel.kernels.strategy import Strategy
    from gravel.stages.stage import Stage


def usable_stages(file: str | None) -> dict[str, Stage]:
    """Return gravel's stages, those of installed packages and those of a workflow's plugins, if one is named.

    Stages of packages that cannot be used are reported on standard error.
    """
    from pathlib import Path

    from gravel.pipeline.plugins.packages import known_stages
    from gravel.pipeline.workflow.plugins import stages_for

    catalogue = known_stages()
    for problem in catalogue.problems().values():
        echo(f"left out: {problem}", err=True)
    found = catalogue.sound()
    return found if file is None else dict(stages_for(Path(file), found))


def in_pipeline_order(known: Mapping[str, Stage]) -> list[Stage]:
    """Sort stages so that what gives a kind comes before what only takes it."""
    order: list[Stage] = []
    given: set[str] = set()
    waiting = sorted(known.values(), key=lambda stage: (len(stage.inputs), stage.name))
    while waiting:
        ready = [s for s in waiting if all(given & set(slot.kinds) for slot in s.inputs.values())]
        ready = [s for s in ready if not any(slot.many for slot in s.inputs.values())] or ready or waiting
        order.append(ready[0])
        given.update(ready[0].outputs)
        waiting.remove(ready[0])
    return order


def default_text(info: FieldInfo) -> str:
    """Write a parameter's default as YAML would have it."""
    from pydantic import BaseModel

    from gravel.pipeline.workflow.nodes import to_text

    value = info.get_default(call_default_factory=True, validated_data={})
    return to_text(value.model_dump(mode="json") if isinstance(value, BaseModel) else value)


def field_type(info: FieldInfo) -> str:
    """Write the type of a parameter as people read it."""
    return type_text(info.annotation, *info.metadata)


def type_text(annotation: Any, *metadata: Any) -> str:
    """Write a parameter's type as people read it: `csr | varint`, `integer`, `list of integer`.

    `metadata` annotates it; what has `choices` says what a text may be.
    """
    from pydantic import BaseModel

    for each in metadata:
        if hasattr(each, "choices"):
            return " | ".join(each.choices())
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(*arguments)
    if origin is Literal:
        return " | ".join(str(each) for each in arguments)
    if origin in (Union, UnionType):
        return " | ".join(type_text(each) for each in arguments)
    if origin in (list, tuple, set, frozenset):
        return f"list of {type_text(arguments[0])}" if arguments else "list"
    if origin is dict:
        return "mapping"
    words = {int: "integer", float: "number", str: "text", bool: "true | false", type(None): "none"}
    if annotation in words:
        return words[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "{" + ", ".join(annotation.model_fields) + "}"
    return getattr(annotation, "__name__", str(annotation))


def strategies_of(stage: Stage) -> dict[str, list[Strategy]]:
    """Return the strategies that a stage's parameter `strategy` chooses from, by kernel package.

    The packages are those of `kernels` whose names are choices of the stage's parameter `algorithm`.
    """
    from gravel import kernels
    from gravel.kernels.strategy import strategies_in

    fields = stage.parameters.model_fields
    if "strategy" not in fields or "algorithm" not in fields:
        return {}
    algorithms = get_args(fields["algorithm"].annotation)
    names = [each.name for each in pkgutil.iter_modules(kernels.__path__) if each.ispkg]
    packages = [f"gravel.kernels.{name}" for name in names if name in algorithms]
    return {package: list(strategies_in(package).values()) for package in packages}
