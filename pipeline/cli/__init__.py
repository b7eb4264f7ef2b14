"""The `gravel` command: one module per command, imported only when that one is asked for."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "run": "Run a workflow, or search a data file: compute what is not cached, verify, report.",
    "init": "Write a commented workflow for a data file.",
    "plan": "Show what a run would do, and why.",
    "dag": "Draw a workflow as a tree, SVG or DOT.",
    "status": "Show what is running and what each stage does.",
    "show": "Show a result: what it is and what it was made from.",
    "logs": "Print the log of a stage.",
    "export": "Write a traversal as Parquet, CSV or npz, under the file's ids.",
    "runs": "List the runs of this cache.",
    "diff": "Compare two runs.",
    "report": "Print the path of a run's report, or write, open or serve it.",
    "cache": "List, verify, clean, copy or share the cache.",
    "trust": "Choose whose signed results are accepted.",
    "datasets": "List the data sets of a workflow or catalogue, and download them.",
    "schedule": "Run workflows at set times.",
    "stages": "List the stages, their inputs, parameters and strategies.",
    "schema": "Print the JSON schema of workflow files, for editors.",
    "docs": "Show a page of the documentation.",
    "completion": "Print what a shell needs to complete commands: bash, zsh, fish.",
    "doctor": "Check this machine: GPUs, memory, versions, cache.",
}
"""Each command and its one line of help, known without importing the command."""

COMPLETE = "_GRAVEL_COMPLETE"
"""Set by a shell that asks for completions."""

ALLOCATIONS = 100_000
"""Objects between two collections of garbage. Imports make some 70,000, nearly all of which live on; at
Python's own 700 the collector walks them again and again."""


class Commands(click.Group):
    """A group that finds `command` in `pipeline/cli/<name>.py`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"gravel.pipeline.cli.{cmd_name}").command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the commands, importing none of them, and the options."""
        from click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is answered with the nearest that exists."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from gravel.pipeline.core.names import nearest

            meant = nearest(args[0], COMMANDS)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their help, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, args: Any = None, prog_name: str | None = "gravel", *rest: Any, **extra: Any) -> Any:
        """Run the command and turn whatever goes wrong into a message and an exit code."""
        if not extra.get("standalone_mode", True):
            return super().main(args, prog_name, *rest, **extra)
        gc.set_threshold(ALLOCATIONS)
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks for some in all packages
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # as standard error: names of files
        if COMPLETE in os.environ:
            importlib.import_module("gravel.pipeline.cli.completion")  # adds the shells
        from gravel.pipeline.cli.errors import run_command
        from gravel.pipeline.core.files import private_files

        with private_files():
            extra["standalone_mode"] = False
            run_command(lambda: super(Commands, self).main(args, prog_name, *rest, **extra))


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from gravel.pipeline.doctor.machine import installed

        click.echo(f"gravel {installed('gravel') or '(not installed)'}")
        ctx.exit()


@click.group(
    name="gravel",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each command has its own --help. To search a data file: gravel run FILE --sources ID. "
    "The documentation: gravel docs.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def main() -> None:
    """Search very large graphs with workflows: cached, verified, reported."""
