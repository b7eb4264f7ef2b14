"""gravel doctor: what this machine has, what is missing, and the cure of each."""

from __future__ import annotations

import click

from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.doctor.findings import findings
from gravel.pipeline.store.location import find_cache

_MARKS = {"good": ("ok", "green"), "note": ("--", "yellow"), "bad": ("!!", "red")}


@click.command()
@json_option
@cache_option
def command(as_json: bool, cache_path: str | None) -> int:
    """Check this machine: Python, versions, cores, memory, GPUs, cache. Exit 1 if gravel cannot run."""
    found = findings(find_cache(cache_path))
    if as_json:
        print_json([vars(finding) for finding in found])
    else:
        for finding in found:
            mark, colour = _MARKS[finding.state]
            click.echo(f"{click.style(mark, fg=colour)} {finding.subject}: {finding.found}")
            if finding.cure:
                click.echo(f"     cure: {finding.cure}")
    return int(any(finding.state == "bad" for finding in found))
