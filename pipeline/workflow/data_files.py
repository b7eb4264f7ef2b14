"""What a command is given beside workflows: data files, their columns, and ids of vertices."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.datasets.file_lists import is_several
from gravel.stages.urls import CORRECT_LINK, broken_link, is_url

BLANKS = " \t\r"

_ID = re.compile(rf'[{BLANKS}]*(?:"((?:[^"]|"")+)"[{BLANKS}]*|([^,]*))(?:,|$)')


def split_ids(texts: Sequence[str]) -> list[str]:
    """Split texts such as `alice,bob` at their commas.

    An id with a comma, or with blanks at its ends, stands in double quotes.
    """
    ids = []
    for text in texts:
        found = None
        while found is None or found[0].endswith(","):
            found = _ID.match(text, found.end() if found else 0)
            assert found is not None  # it matches nothing, too
            ids.append(_id(found))
    if texts and not all(ids):
        raise RequestError("--sources has an empty id", hint="write it like --sources alice,bob")
    return ids


def listed_id(line: str) -> str:
    """Return the id in a line of its own; one in double quotes keeps the blanks at its ends."""
    found = _ID.fullmatch(line)
    return line.strip(BLANKS) if found is None or found[1] is None else _id(found)


def _id(found: re.Match[str]) -> str:
    return found[2].strip(BLANKS) if found[1] is None else found[1].replace('""', '"')


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


ENDS = ("source", "target", "weight")


def data_settings(
    columns: Sequence[str] = (),
    delimiter: str | None = None,
    header: str | None = None,
    rows: str | None = None,
) -> dict[str, str]:
    """Return parameters of ingest, as YAML writes them, for the options that were given.

    Raises RequestError for columns that cannot be read.
    """
    settings = {
        "delimiter": None if delimiter is None else _quoted(delimiter),
        "filter": None if rows is None else _quoted(rows),
        "header": header,
        "columns": _columns(columns) if columns else None,
    }
    return {name: text for name, text in settings.items() if text is not None}


def refuse_settings(settings: Mapping[str, str], file: str) -> None:
    """Raise RequestError for options of a data file that are given for a workflow."""
    for name in settings:
        raise RequestError(
            f"--{name} is for a data file, and {file} is a workflow",
            hint=f"set `{name}` of its ingest stage, or a parameter of its own with --set",
        )


def _columns(texts: Sequence[str]) -> str:
    """Read `source=payer,target=payee`; for a name with a comma the option is given once for each end."""
    found: dict[str, str] = {}
    for text in texts:
        pieces = [text] if text.partition("=")[0] in ENDS and text.count("=") == 1 else text.split(",")
        for piece in pieces:
            end, equals, name = piece.partition("=")
            end = end.strip()
            if not equals or end not in ENDS or not name.strip():
                raise RequestError(
                    f"--columns {text!r}: found {piece!r}; expected source=NAME, target=NAME or weight=NAME",
                    hint="write it like --columns source=payer,target=payee,weight=amount",
                )
            if end in found:
                raise RequestError(f"--columns names the {end} twice", hint="leave one of the two out")
            found[end] = name.strip()
    # A whole number is a position, counted from 1; in a table, where columns have names alone, it is quoted.
    written = {end: name if name.isdigit() else _quoted(name) for end, name in found.items()}
    return "{" + ", ".join(f"{end}: {name}" for end, name in written.items()) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text.replace("${", "$${"), ensure_ascii=False)
