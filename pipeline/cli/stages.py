"""gravel stages: what there is, and what a stage takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gravel.pipeline.cli.completions import stage_kinds
from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import json_option, print_json
from gravel.pipeline.cli.stage_texts import (
    default_text,
    field_type,
    in_pipeline_order,
    strategies_of,
    usable_stages,
)
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.names import suggest

if TYPE_CHECKING:
    from pydantic import BaseModel

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
    lines = list(_fields(stage.parameters, "  ", ()))
    yield "\nparameters" if lines else "\nno parameters"
    yield from lines
    for package, strategies in strategies_of(stage).items():
        yield f"\nstrategies of {package}"
        for strategy in strategies:
            yield f"  {strategy.name}: {strategy.about} ({', '.join(_sides(strategy))}; {strategy.source})"


def _fields(model: type[BaseModel], indent: str, above: tuple[type[BaseModel], ...]) -> Iterator[str]:
    from gravel.stages.documented import documented, models_in

    for name, info in documented(model).model_fields.items():
        default = "required" if info.is_required() else f"default {default_text(info)}"
        yield f"{indent}{click.style(name, fg='cyan')}: {field_type(info)} ({default})"
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
