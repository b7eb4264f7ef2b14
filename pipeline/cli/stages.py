"""gravel stages: what there is, and what a stage takes. The docs have the same texts."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click

from gravel.pipeline.cli.completion import stage_kinds
from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import json_option, print_json
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.names import suggest

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from gravel.kernels.strategy import Strategy
    from gravel.stages.stage import Slot, Stage


@click.command()
@click.argument("name", required=False, shell_complete=stage_kinds)
@click.option("--workflow", "file", type=click.Path(), help="Include the stages of this file's plugins.")
@json_option
def command(name: str | None, file: str | None, as_json: bool) -> None:
    """List the stages; with NAME, show its inputs, parameters and strategies."""
    known = usable_stages(file)
    if name is not None and name not in known:
        raise RequestError(f"there is no stage {name!r}", hint=suggest(name, known, "stage"))
    if as_json:
        print_json([_to_json(stage) for stage in (known.values() if name is None else [known[name]])])
    else:
        for line in _overview(in_pipeline_order(known)) if name is None else _details(known[name]):
            echo(line)


def _overview(stages: list[Stage]) -> Iterator[str]:
    width = max((len(stage.name) for stage in stages), default=0)
    for stage in stages:
        slots = ", ".join(f"{slot}: {_kinds(each)}" for slot, each in stage.inputs.items())
        yield f"{click.style(stage.name.ljust(width), bold=True)}  {stage.about}"
        yield f"{' ' * width}  ({slots}) -> {' + '.join(stage.outputs)}"
        if stage.origin is not None:
            yield f"{' ' * width}  from {stage.origin.place}"
    yield ""
    yield "gravel stages NAME tells a stage's parameters."


def _kinds(slot: Slot) -> str:
    kinds = "anything" if len(slot.kinds) > 5 else " | ".join(slot.kinds)
    kinds = f"[{kinds}, ...]" if slot.many else kinds
    return f"{kinds}, optional" if slot.optional else kinds


def _details(stage: Stage) -> Iterator[str]:
    runs_on = "CPU and CUDA" if stage.cuda else "CPU"
    yield f"{click.style(stage.name, bold=True)} (version {stage.version}, {runs_on}): {stage.about}"
    if stage.origin is not None:
        yield f"from {stage.origin.place}, code {stage.origin.code[:12]}"
    if stage.inputs:
        yield "\ninputs"
        for slot, each in stage.inputs.items():
            yield f"  {slot}: {_kinds(each)}"
            yield f"      {each.about}"
    yield f"\noutputs\n  {', '.join(stage.outputs)}"
    yield from (f"  with {name}: {', '.join(kinds)}" for name, kinds in stage.outputs_with.items())
    lines = list(_fields(stage.parameters, "  ", ()))
    yield "\nparameters" if lines else "\nno parameters"
    yield from lines
    for package, strategies in strategies_of(stage).items():
        yield f"\nstrategies of {package}"
        for strategy in strategies:
            yield f"  {strategy.name}: {strategy.about} ({', '.join(_sides(strategy))}; {strategy.source})"


def _fields(model: type[BaseModel], indent: str, above: tuple[type[BaseModel], ...]) -> Iterator[str]:
    from gravel.stages.stage import documented, models_in

    for name, info in documented(model).model_fields.items():
        default = "required" if info.is_required() else f"default {default_text(info)}"
        kind = type_text(info.annotation, *info.metadata)
        yield f"{indent}{click.style(name, fg='cyan')}: {kind} ({default})"
        for line in (info.description or "").splitlines():
            yield f"{indent}    {line.strip()}"
        for inner in models_in(info.annotation):
            if inner not in above:
                yield from _fields(inner, indent + "    ", (*above, model, inner))


def _sides(strategy: Strategy) -> Iterator[str]:
    if strategy.cpu:
        yield "CPU"
    if strategy.cuda:
        yield "CUDA"
    if not strategy.directed:
        yield "symmetric graphs"


def _to_json(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "version": stage.version,
        "about": stage.about,
        "inputs": {slot: vars(each) for slot, each in stage.inputs.items()},
        "outputs": list(stage.outputs),
        "outputs_with": {name: list(kinds) for name, kinds in stage.outputs_with.items()},
        "origin": None if stage.origin is None else vars(stage.origin),
        "measures": stage.measures,
        "cuda": stage.cuda,
        "parameters": stage.parameters.model_json_schema(),
        "strategies": {
            package: [
                {name: getattr(each, name) for name in ("name", "about", "source")}
                | {"backends": list(_sides(each))}
                for each in found
            ]
            for package, found in strategies_of(stage).items()
        },
    }


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
        return " | ".join(type_text(each) for each in arguments if not _is_internal(each))
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


def _is_internal(annotation: Any) -> bool:
    """Say whether no user writes a form, which the JSON schema leaves out, too."""
    from pydantic.json_schema import SkipJsonSchema

    return any(isinstance(each, SkipJsonSchema) for each in get_args(annotation)[1:])


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
