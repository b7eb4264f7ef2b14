"""gravel doctor: what this machine has, what is missing, and the cure of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.doctor import gpus, machine
from gravel.pipeline.doctor.machine import Finding
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


def findings(cache_root: Path) -> list[Finding]:
    """Look at everything; a check that itself fails is a finding too."""
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", machine.python),
        ("packages", machine.packages),
        ("own stages", machine.own_stages),
        ("processor", machine.processor),
        ("memory", machine.memory),
        ("open files", machine.open_files),
        ("clock", machine.clock),
        ("compiled kernels", machine.compiled),
        ("GPUs", gpus.gpus),
        ("pinned memory", gpus.pinned_memory),
        ("cache", lambda: machine.cache(cache_root)),
    ]
    found: list[Finding] = []
    for subject, check in checks:
        try:
            found += check()
        except Exception as error:
            text = f"could not be checked: {type(error).__name__}: {error}"
            found.append(Finding(subject, "bad", text, "report this to gravel"))
    return found
