"""gravel doctor: what this machine has, what is missing, and the cure of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gravel.pipeline.cli.options import cache_option, json_option, print_json
from gravel.pipeline.doctor.findings import findings
from gravel.pipeline.store.location import find_cache

if TYPE_CHECKING:
    from gravel.kernels.probes.tuning import Outcome

_MARKS = {"good": ("ok", "green"), "note": ("--", "yellow"), "bad": ("!!", "red")}


@click.command()
@click.option("--tune", is_flag=True, help="Measure constants of searches on the GPU for at most a minute.")
@json_option
@cache_option
def command(tune: bool, as_json: bool, cache_path: str | None) -> int:
    """Check this machine: Python, versions, cores, memory, GPUs, cache. Exit 1 if gravel cannot run.

    With --tune, measure the constants of GPU searches instead, and store them for this machine.
    """
    if tune:
        _tune(as_json)
        return 0
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


def _tune(as_json: bool) -> None:
    """Measure, and print each constant as it is known."""
    from gravel.pipeline.doctor.tuning import tune

    found = tune((lambda outcome: None) if as_json else (lambda outcome: click.echo(_line(outcome))))
    if as_json:
        print_json(found)
        return
    click.echo(f"stored for {found['device']} in {found['folder']}; searches take them from now on")


def _line(outcome: Outcome) -> str:
    times = ", ".join(f"{value:g}: {taken:.3f} ms" for value, taken in outcome.milliseconds.items())
    shown = click.style(f"{outcome.value:g}", bold=outcome.value != outcome.constant.default)
    return f"{outcome.constant.name} {shown} ({outcome.why}){'; ' + times if times else ''}"
