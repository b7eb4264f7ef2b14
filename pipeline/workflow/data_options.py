"""What the command line says of a data file: its columns, its delimiter, which rows are edges."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from gravel.pipeline.core.errors import RequestError

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
    texts = {"delimiter": delimiter, "filter": rows}
    settings = {name: _quoted(text) for name, text in texts.items() if text is not None}
    if header is not None:
        settings["header"] = header
    if columns:
        settings["columns"] = _columns(columns)
    return settings


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
