"""Files that list sources: one id a line, as the graph's file writes it."""

from __future__ import annotations

from pathlib import Path

from gravel.pipeline.core.errors import Location, RequestError
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.plan.model import StageRun
from gravel.pipeline.workflow.ids import listed_id
from gravel.stages.broken_links import broken_link
from gravel.stages.urls import is_url

MAX_BYTES = 64 << 20
"""Of a file of sources: a search from each of its lines would take days."""


def listed_sources(run: StageRun, location: str) -> tuple[str, ...]:
    """Read the ids; raises RequestError, with the place in the workflow or the line in the file."""
    place = run.files.get(location, run.location)
    if is_url(location):
        raise RequestError("sources are listed in a local file", hint="download it first", location=place)
    path = Path(location)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise RequestError(
                f"{location} has {format_bytes(size)}; a list of sources may have {format_bytes(MAX_BYTES)}",
                location=place,
            )
        data = path.read_bytes()
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        reason = f"{reason}{broken_link(path)}"
        raise RequestError(
            f"the sources in {location} cannot be read: {reason}", hint="one id a line", location=place
        ) from None
    found = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = listed_id(line.decode())
        except UnicodeDecodeError:
            raise RequestError(
                "this line is not UTF-8",
                hint="one id a line, in UTF-8",
                location=Location(location, number, 1),
            ) from None
        if text:
            found.append(text)
    if not found:
        raise RequestError(f"{location} lists no source", hint="one id a line", location=place)
    return tuple(found)
