"""gravel dag: a workflow as a tree in the terminal, as SVG or as DOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import (
    cache_option,
    load_plan,
    machine_options,
    open_cache,
    selection_options,
    write_text,
)
from gravel.pipeline.cli.plan import forecast, paint
from gravel.pipeline.core.errors import RequestError

MANY = 40
"""More stage runs than this are drawn as one box for each entry, unless --runs asks for all."""


@click.command()
@click.argument("file", type=click.Path())
@click.option("--svg", "form", flag_value="svg", help="Write SVG.")
@click.option("--dot", "form", flag_value="dot", help="Write DOT, for Graphviz.")
@click.option("--to", "target", metavar="OUT", help="Write to a file instead of the terminal.")
@click.option("--entries/--runs", "entries", default=None, help="One box for each entry, or each stage run.")
@selection_options
@machine_options
@cache_option
def command(
    file: str,
    form: str | None,
    target: str | None,
    entries: bool | None,
    selection: dict[str, Any],
    machine: dict[str, Any],
    cache_path: str | None,
) -> None:
    """Draw the workflow FILE, each stage run with its state: cached, will run, waits.

    In the tree, a stage run is below the last of its inputs; `<-` names the others.
    """
    from gravel.pipeline.plan.drawing import boxes_of_entries, boxes_of_runs, draw_dot, draw_svg, draw_tree

    plan = load_plan(file, **selection)
    form = form or {".svg": "svg", ".dot": "dot", ".gv": "dot"}.get(Path(target or "").suffix.lower(), "tree")
    try:
        statuses = forecast(plan, open_cache(cache_path), **machine).statuses
    except RequestError as error:
        # A drawing needs neither the input files nor a machine on which it would run.
        echo(f"drawn without states: {error}", err=True)
        statuses = {}
    few = len(plan.runs) <= MANY if entries is None else not entries
    boxes = (boxes_of_runs if few else boxes_of_entries)(plan, statuses)
    if form == "tree":
        text = draw_tree(boxes, (lambda text, state: text) if target else paint) + "\n"
    else:
        text = (draw_svg if form == "svg" else draw_dot)(boxes, plan.workflow.name)
    if target is None:
        echo(text.rstrip("\n"))
        return
    write_text(target, text)
    echo(f"{len(boxes)} boxes -> {target}")
