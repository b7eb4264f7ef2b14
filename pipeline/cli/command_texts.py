"""Every command with its usage, text and options, for the reference pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class CommandText:
    """One command: its whole name, its usage, what it does, and each option with what it does."""

    name: str
    usage: str
    about: str
    options: list[tuple[str, str]]


def commands() -> Iterator[CommandText]:
    """Yield all commands in the order in which `gravel --help` lists them."""
    from gravel.pipeline.cli import COMMANDS, main

    context = click.Context(main, info_name="gravel")
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        yield from _each(command, click.Context(command, context, name))


def _each(command: click.Command, context: click.Context) -> Iterator[CommandText]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _each(inner, click.Context(inner, context, name))
        return
    name = context.command_path.removeprefix("gravel ")
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    options = [option for option in command.params if isinstance(option, click.Option)]
    yield CommandText(name, usage, _plain(command.help or ""), [_option(each) for each in options])


def _plain(text: str) -> str:
    """Return a docstring as Markdown: paragraphs without click's marks."""
    return "\n".join(line.strip() for line in text.replace("\b", "").strip().splitlines())


def _option(option: click.Option) -> tuple[str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.metavar:
        names += f" {option.metavar}"
    elif isinstance(option.type, click.Choice):
        names += f" {'|'.join(map(str, option.type.choices))}"
    elif not option.is_flag:
        is_number = isinstance(option.type, click.IntRange | click.types.IntParamType)
        names += " N" if is_number else f" {option.type.name.upper()}"
    repeated = " May be given several times." if option.multiple else ""
    return names, f"{option.help or ''}{repeated}"
