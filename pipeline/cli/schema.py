"""gravel schema: the JSON schema of workflow files."""

from __future__ import annotations

import json

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.cli.options import write_text
from gravel.pipeline.cli.stages import usable_stages


@click.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--to", "target", metavar="OUT", help="Write to a file instead of the terminal.")
def command(file: str | None, target: str | None) -> None:
    """Print the JSON schema (draft 2020-12) of workflow files.

    With a workflow FILE, the schema includes the stages of its plugins.

    Editors use it to complete and check workflows. Write it to workflow.schema.json and begin a workflow
    file with
    `# yaml-language-server: $schema=workflow.schema.json`.
    """
    from gravel.pipeline.workflow.schema import workflow_schema

    text = json.dumps(workflow_schema(usable_stages(file)), indent=2, ensure_ascii=False)
    if target is None:
        echo(text)
        return
    write_text(target, text + "\n")
    echo(f"schema -> {target}")
