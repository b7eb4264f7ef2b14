"""gravel completion: what a shell reads to complete commands, options, stages, runs and parameters."""

from __future__ import annotations

import click
from click.shell_completion import FishComplete, ZshComplete

from gravel.pipeline.cli import COMPLETE, main
from gravel.pipeline.cli.completions import Bash

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
