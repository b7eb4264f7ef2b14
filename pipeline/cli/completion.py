"""gravel completion: what a shell reads to complete commands, options, stages, runs and parameters."""

from __future__ import annotations

import click

from gravel.pipeline.cli.completions import VARIABLE, add_shells
from gravel.pipeline.core.errors import GravelError

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
    from click.shell_completion import get_completion_class

    from gravel.pipeline.cli import main

    add_shells()
    found = get_completion_class(shell)
    if found is None:
        raise GravelError(f"click has no completion for {shell}")
    script = found(main, {}, "gravel", VARIABLE).source()
    click.echo(f"# {WHERE[shell]}\n{script.strip()}")
