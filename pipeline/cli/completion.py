"""gravel completion: what a shell reads to complete commands, options, stages, runs and parameters."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from gravel.pipeline.cli import COMPLETE, main

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from gravel.pipeline.workflow.nodes import Node

MAX_RUNS = 50  # the newest


@add_completion_class
class Bash(BashComplete):
    """Joins what bash splits, and completes what follows the `=`."""

    _before = ""  # the part of the word that bash does not replace

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one to complete, and this one, whole."""
        given = split_arg_string(os.environ["COMP_WORDS"])
        place = int(os.environ["COMP_CWORD"])
        words = [*given, ""][: place + 1]
        joined: list[str] = []
        for word in words:
            if len(joined) > 1 and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        last = joined[-1]
        if "=" in last and last != words[-1]:
            self._before = last[: last.rfind("=") + 1]
        return joined[1:-1], last

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Write a completion without what stays before it on the line."""
        return f"{item.type},{item.value.removeprefix(self._before)}"


def _safe(find: Callable[[click.Context], Iterable[str]]) -> Callable[..., list[str]]:
    """Complete from what a function finds, and to nothing where it fails."""

    @functools.wraps(find)
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        with suppress(Exception):
            return [each for each in find(ctx) if each.startswith(incomplete)]
        return []

    return complete


def _items(ctx: click.Context, section: str) -> dict[str, Node]:
    """Parse a section of the workflow of the command line, or of the one that stands for a data file."""
    from gravel.pipeline.workflow.data_files import is_data
    from gravel.pipeline.workflow.nodes import MapNode, Text, parse
    from gravel.pipeline.workflow.source import read_workflow_text

    # Before an option whose value is to come, click leaves the arguments where they are.
    file = str(ctx.params.get("file") or ctx.params.get("workflow") or ctx.args[0])
    if is_data(file):
        # Its stages and parameters are the same for every file.
        from gravel.pipeline.workflow.default import default_text

        source = Text(file, default_text(file))
    else:
        source = read_workflow_text(Path(file))
    root, _ = parse(source)
    assert isinstance(root, MapNode)
    found = root.items.get(section)
    return found.items if isinstance(found, MapNode) else {}


@_safe
def workflow_stages(ctx: click.Context) -> Iterable[str]:
    """Complete the entries of the workflow."""
    return _items(ctx, "stages")


@_safe
def settings(ctx: click.Context) -> Iterable[str]:
    """Complete NAME=VALUE with the parameters of the workflow and the values that they have."""
    from gravel.pipeline.workflow.nodes import ScalarNode

    for name, node in _items(ctx, "parameters").items():
        yield f"{name}={node.text if isinstance(node, ScalarNode) else ''}"


@_safe
def axes(ctx: click.Context) -> Iterable[str]:
    """Complete AXIS=VALUE with the axes of the workflow's matrix and their values."""
    from gravel.pipeline.workflow.nodes import ListNode, MapNode, ScalarNode

    for name, node in _items(ctx, "matrix").items():
        if isinstance(node, MapNode):
            yield from (f"{name}={value}" for value in node.items)
        elif isinstance(node, ListNode):
            yield from (f"{name}={value.text}" for value in node.items if isinstance(value, ScalarNode))


@_safe
def runs(ctx: click.Context) -> Iterable[str]:
    """Complete the runs of the cache, the newest first."""
    from gravel.pipeline.records.past_runs import run_folders
    from gravel.pipeline.store.location import locate_cache

    folders = run_folders(locate_cache(ctx.params.get("cache_path")))[:MAX_RUNS]
    return ["last", *(folder.name for folder in folders)]


@_safe
def run_stages(ctx: click.Context) -> Iterable[str]:
    """Complete the stage runs of the run of the command line."""
    from gravel.pipeline.records.past_runs import find_run
    from gravel.pipeline.store.location import locate_cache

    name = ctx.params.get("run") or ctx.params.get("name")
    _, record = find_run(locate_cache(ctx.params.get("cache_path")), name)
    return [stage["key"] for stage in record["stages"]]


@_safe
def stage_kinds(ctx: click.Context) -> Iterable[str]:
    """Complete the names of gravel's stages: of the modules that define one, which are not imported."""
    from gravel import stages

    for folder in stages.__path__:
        for module in sorted(Path(folder).glob("*.py")):
            if "\nSTAGE = " in module.read_text(encoding="utf-8"):
                yield module.stem


WHERE = {
    "bash": 'Add to ~/.bashrc: eval "$(gravel completion bash)"',
    "zsh": 'Add to ~/.zshrc: eval "$(gravel completion zsh)"',
    "fish": "Run: gravel completion fish > ~/.config/fish/completions/gravel.fish",
}
"""How each shell gets its script."""


@click.command(epilog="\b\n" + "\n".join(WHERE.values()))
@click.argument("shell", metavar="SHELL", type=click.Choice(sorted(WHERE)))
def command(shell: str) -> None:
    """Print the completion script for SHELL: bash (4.4 or later), zsh or fish."""
    classes = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}
    script = classes[shell](main, {}, "gravel", COMPLETE).source()
    click.echo(f"# {WHERE[shell]}\n{script.strip()}")
