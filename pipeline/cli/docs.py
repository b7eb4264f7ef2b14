"""gravel docs: the pages of the documentation, in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gravel.pipeline.cli.errors import echo
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import PACKAGE
from gravel.pipeline.core.names import suggest

FOLDER = PACKAGE / "docs"
"""The pages: in a checkout a link, in an installed gravel a copy."""


@click.command()
@click.argument("page", required=False)
def command(page: str | None) -> None:
    """Show a page of the documentation; without PAGE list the pages."""
    known = pages()
    if page is None:
        width = max(map(len, known))
        for name, path in known.items():
            lines = path.read_text(encoding="utf-8").splitlines()
            title = next((line[2:].strip() for line in lines if line.startswith("# ")), "")
            echo(f"{click.style(name.ljust(width), bold=True)}  {title}")
        return
    name = page.removesuffix(".md").removeprefix("docs/").strip("/").lower()
    if name not in known:
        hint = f"{suggest(name, known, 'page')} `gravel docs` lists the pages"
        raise RequestError(f"there is no page {page!r}", hint=hint)
    text = known[name].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        echo(text.rstrip())


def pages() -> dict[str, Path]:
    """Return the file of each page by its name, such as `cache` or `stages/ingest`.

    The page of a folder is called by the folder, and the first page `readme`. Raises RequestError if this
    copy of gravel has none.
    """
    found = {}
    for path in sorted([*FOLDER.glob("*.md"), *FOLDER.glob("stages/*.md")]):
        name = path.relative_to(FOLDER).with_suffix("").as_posix().lower()
        found[name.removesuffix("/readme")] = path
    if not found:
        hint = "this copy of gravel is incomplete: install it again"
        raise RequestError(f"there are no pages in {FOLDER}", hint=hint)
    return found
