"""Data or workflow: what a file is that a command was given. Nothing heavy is imported here."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.datasets.file_lists import is_several
from gravel.stages.broken_links import CORRECT_LINK, broken_link
from gravel.stages.urls import is_url

SUFFIXES = (".yaml", ".yml")
"""Names of workflow files; any other file is looked into."""

HEAD_BYTES = 1 << 16
"""Of a file without such a name: a workflow names its stages there."""

_SECTION = re.compile(rb"""^[\s{"']*(?:stages|workflow)["']?\s*:""", re.MULTILINE)


def is_data(file: str) -> bool:
    """Say whether a file is data, and no workflow; raises RequestError where a data file is not there.

    A folder or a pattern is data: many files that are one graph.
    """
    path = PurePosixPath(urlsplit(file).path if is_url(file) else file)
    if path.suffix.lower() in SUFFIXES:
        return False
    if is_url(file) or is_several(file):
        return True
    try:
        with Path(file).open("rb") as opened:
            return _SECTION.search(opened.read(HEAD_BYTES)) is None
    except (OSError, ValueError) as error:
        broken = broken_link(file)
        if broken:
            raise RequestError(f"there is no file {file}{broken}", hint=CORRECT_LINK) from None
        if not path.suffix or not isinstance(error, FileNotFoundError | NotADirectoryError):
            return False
        raise RequestError(f"there is no file {file}", hint=_other(Path(file))) from None


def _other(path: Path) -> str | None:
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return f"the folder {path.parent} does not exist either"
    meant = nearest(path.name, names)
    return None if meant is None else f"did you mean {path.parent / meant}?"


def name_of(file: str) -> str:
    """Return the name of a data file without its folder and without the query of a URL.

    A pattern has the name of the folder that its files lie in.
    """
    if is_several(file):
        parts = PurePosixPath(urlsplit(file).path if is_url(file) else os.path.abspath(file)).parts  # noqa: PTH100
        return next((part for part in reversed(parts) if not glob.has_magic(part)), file)
    return PurePosixPath(urlsplit(file).path).name or file if is_url(file) else Path(file).name
