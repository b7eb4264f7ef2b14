"""The bytes of a workflow file as text, or a clear word on why not."""

from __future__ import annotations

from pathlib import Path

from gravel.pipeline.core.errors import Problem, RequestError, WorkflowError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.workflow.nodes import Text
from gravel.stages.broken_links import CORRECT_LINK, broken_link

MAX_BYTES = 256 * 1024  # a pure Python YAML scanner reads about 200 KB a second

_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_workflow_text(path: Path) -> Text:
    """Read a workflow file; raises RequestError or WorkflowError if it is not a text of sane size."""
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        broken = broken_link(path)
        hint = CORRECT_LINK if broken else _other_file(path)
        raise RequestError(f"there is no workflow file {name}{broken}", hint=hint) from None
    except IsADirectoryError:
        inside = _workflows_in(path)
        hint = f"name a file in it, such as {path / inside[0]}" if inside else None
        raise RequestError(f"{name} is a folder, and a workflow file is expected", hint=hint) from None
    except NotADirectoryError:
        raise RequestError(f"{name} goes through {path.parent}, which is not a folder") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise RequestError(f"the workflow file {name!r} cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise RequestError(
            f"{name} is larger than {MAX_BYTES // 1024} KiB, the most that a workflow file may have",
            hint="is it a data file? Name it in an ingest stage instead",
        )
    return Text(name, _decode(raw, name))


def _decode(raw: bytes, name: str) -> str:
    wide = _WIDE.get(raw[:2])
    if wide is not None:
        raise RequestError(f"{name} is written in {wide}, and UTF-8 is expected", hint="save it as UTF-8")
    if b"\0" in raw:
        raise RequestError(f"{name} is a binary file, and a workflow in YAML is expected")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        readable = raw[: error.start].decode("utf-8-sig", "replace")
        place = Text(name, raw.decode("utf-8", "replace")).place(
            readable.count("\n") + 1, len(readable) - readable.rfind("\n")
        )
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise WorkflowError([Problem(message, "save the file as UTF-8", place)]) from None


def _workflows_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if each.suffix in (".yaml", ".yml"))
    except OSError:
        return []


def _other_file(path: Path) -> str | None:
    folder = path.parent
    names = _workflows_in(folder)
    meant = nearest(path.name, names) or nearest(f"{path.stem}.yaml", names)
    if meant is not None:
        return f"did you mean {folder / meant}?"
    elsewhere = Path("workflows")
    if folder != elsewhere:
        meant = nearest(path.name, _workflows_in(elsewhere)) or nearest(
            f"{path.stem}.yaml", _workflows_in(elsewhere)
        )
        if meant is not None:
            return f"did you mean {elsewhere / meant}?"
    if names:
        return f"{folder} holds {', '.join(names[:8])}"
    return None if folder.is_dir() else f"the folder {folder} does not exist either"
