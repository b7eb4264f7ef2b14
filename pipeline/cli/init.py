"""gravel init: a workflow for a data file, written after looking into it."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import click

from gravel.pipeline.cli.options import data_file_options, together, write_text
from gravel.pipeline.core.errors import RequestError
from gravel.stages.urls import is_url

MORE = """\

  # To pack the graph into less memory, uncomment these two and let `bfs` read `packed`:
  # ordered: {stage: reorder, input: graph, method: degree}
  # packed:  {stage: compress, input: ordered, codec: varint}
  #
  # The component of every vertex, and its verification:
  # parts:       {stage: traverse, input: graph, algorithm: components}
  # parts_check: {stage: verify, graph: graph, traversal: parts}
"""


@click.command()
@click.argument("file", type=click.Path())
@click.option("--to", "target", metavar="OUT", help="The workflow to write (else FILE's name with .yaml).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@together("data", *data_file_options)
def command(file: str, target: str | None, force: bool, data: dict[str, Any]) -> None:
    """Look into the data FILE, or URL, and write a commented workflow that searches it.

    The comments say what was found: format, size, ids. Change the workflow as you like. `gravel plan`
    shows what it does, and `gravel run` runs it.
    """
    from gravel.pipeline.workflow.data_files import data_settings, is_data, name_of
    from gravel.pipeline.workflow.default import default_text, inspect_file

    location = file if is_url(file) else os.path.expanduser(file)  # noqa: PTH111 (an unknown user's is left)
    if not is_url(file) and Path(location).is_dir():
        raise RequestError(f"{file} is a folder, and a data file is expected", hint="name a file in it")
    if not is_data(location):
        if not Path(location).exists():
            raise RequestError(f"there is no file {file}", hint="name a data file, such as an edge list")
        raise RequestError(f"{file} is a workflow already", hint=f"run it with: gravel run {file}")
    out = Path(target or f"{PurePosixPath(name_of(location)).name.partition('.')[0] or 'graph'}.yaml")
    if out.exists() and not is_url(file) and out.samefile(location):
        raise RequestError(f"{out} is the data file itself", hint="name another file with --to")
    if os.path.lexists(out) and not force:
        raise RequestError(f"{out} is there already", hint="--force replaces it, --to OUT writes another one")
    found = inspect_file(location, (), data_settings(**data))
    text = default_text(
        _as_seen_from(out, location),
        found=["", f"What was found in {name_of(location)}:", *found.comments, ""],
        examples=found.examples,
        settings=found.settings,
        more=MORE,
    )
    write_text(str(out), text)
    click.echo(f"{out}: a workflow for {file}; `gravel plan {out}` shows what it does")


def _as_seen_from(out: Path, location: str) -> str:
    """Write a path relative to the workflow's folder if it is below that, else absolute."""
    if is_url(location):
        return location
    path = os.path.relpath(location, out.parent)
    return path if not path.startswith("..") else os.path.abspath(location)  # noqa: PTH100 (links stay)
