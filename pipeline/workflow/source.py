"""The text of a workflow file, and the faults of it, which are reported together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gravel.pipeline.core.errors import GravelError, Location, Problem, RequestError, WorkflowError
from gravel.pipeline.core.names import nearest
from gravel.pipeline.workflow.nodes import MAX_PROBLEMS, Text
from gravel.stages.urls import CORRECT_LINK, broken_link

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
    for folder in (path.parent, Path("workflows"), Path("workflows/papers")):
        names = _workflows_in(folder)
        meant = nearest(path.name, names) or nearest(f"{path.stem}.yaml", names)
        if meant is not None:
            return f"did you mean {folder / meant}?"
    folder = path.parent
    if names := _workflows_in(folder):
        return f"{folder} holds {', '.join(names[:8])}"
    return None if folder.is_dir() else f"the folder {folder} does not exist either"


class Faults:
    """A list of problems without repetitions, in the order of the files when raised."""

    def __init__(self, main: str = "") -> None:
        self._problems: dict[Problem, None] = {}
        self._main = main  # the file that was asked for; those of workflows that it uses come after it

    def __len__(self) -> int:
        return len(self._problems)

    def add(self, message: str, hint: str | None = None, location: Location | None = None) -> None:
        """Note a fault."""
        self.add_all([Problem(message, hint, location)])

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Note faults that are put together already."""
        self._problems.update(dict.fromkeys(problems))

    @contextmanager
    def noted(self, location: Location | None = None) -> Iterator[None]:
        """Note the problems of an error that ends the block; those without a place are at `location`."""
        try:
            yield
        except GravelError as error:
            self.add_all(
                replace(problem, location=problem.location or location) for problem in error.problems
            )

    def raise_if_any(self) -> None:
        """Raise WorkflowError with everything that was found, the first `MAX_PROBLEMS` in full."""
        if not self._problems:
            return
        files = [self._main, *(each.location.file for each in self._problems if each.location is not None)]

        def place(problem: Problem) -> tuple[int, int, int]:
            at = problem.location
            return (files.index(at.file), at.line, at.column) if at is not None else (0, 0, 0)

        shown = sorted(self._problems, key=place)[:MAX_PROBLEMS]
        if len(self) > len(shown):
            more = f"{len(self) - len(shown)} more faults are not shown"
            shown[-1] = replace(shown[-1], hint="; ".join(filter(None, (shown[-1].hint, more))))
        raise WorkflowError(shown)
