"""Failures put into words: offending vertices under the file's ids, and the end of the stage's log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.opening import open_file

if TYPE_CHECKING:
    from gravel.pipeline.plan.model import Plan
    from gravel.pipeline.workers.failure import Failure

Open = Callable[[str], Any]
"""What opens the artifact of an id."""

SHOWN_VERTICES = 8
TAIL_LINES = 12


def describe(
    failure: Failure, key: str, plan: Plan, ids: Mapping[str, tuple[str, ...]], open_artifact: Open
) -> str:
    """Put a failure into one message, with its file and line and the vertices that it names."""
    place = ""
    if failure.file is not None:
        place = f"{failure.file}:{failure.line}: " if failure.line is not None else f"{failure.file}: "
    text = f"{place}{failure.message}"
    if failure.vertices:
        shown = failure.vertices[:SHOWN_VERTICES]
        named = _file_ids(shown, key, plan, ids, open_artifact)
        more = len(failure.vertices) - len(shown)
        words = ", ".join(str(vertex) for vertex in (named or shown))
        kind = "ids in the input" if named else "internal indices"
        text += f" (vertices, {kind}: {words}{f' and {more} more' if more else ''})"
    return text


def _file_ids(
    vertices: tuple[int, ...],
    key: str,
    plan: Plan,
    ids: Mapping[str, tuple[str, ...]],
    open_artifact: Open,
) -> list[int | str] | None:
    for run in plan.lineage(key):
        if "VertexIds" not in run.stage.outputs or run.key not in ids:
            continue
        name = ids[run.key][run.stage.outputs.index("VertexIds")]
        try:
            artifact: Any = open_artifact(name)
            if artifact.text is not None:
                return [_text_of(artifact, vertex) for vertex in vertices]
            if artifact.ids is None:
                return [int(artifact.first) + vertex for vertex in vertices]
            return [int(artifact.ids[vertex : vertex + 1][0]) for vertex in vertices]
        except Exception:  # the names are a help; that they cannot be read must not hide the failure
            return None
    return None


def _text_of(artifact: Any, vertex: int) -> str:
    begin, end = (int(place) for place in artifact.offsets[vertex : vertex + 2])
    return repr(bytes(artifact.text[begin:end]).decode())


def log_tail(path: Path, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log, or nothing."""
    try:
        with open_file(path.parents[1], f"{path.parent.name}/{path.name}") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
