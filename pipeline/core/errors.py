"""What the pipeline raises when the person at the keyboard can cause it and can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gravel.stages.urls import visible


@dataclass(frozen=True)
class Location:
    """A place in a file; line and column count from 1, `snippet` is that text. Line 0 is the whole file."""

    file: str
    line: int
    column: int
    snippet: str = ""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: what was found, what was expected, what to do."""

    message: str
    hint: str | None = None
    location: Location | None = None


class GravelError(Exception):
    """A failure that is reported without a traceback; `exit_code` is the command's."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, location: Location | None = None) -> None:
        super().__init__(message)
        self.problems: Sequence[Problem] = (Problem(message, hint, location),)


class RequestError(GravelError):
    """The request cannot be served as put: a wrong option, no such GPU, it cannot fit."""

    exit_code = 2


class NotEnoughMemory(RequestError, MemoryError):
    """What was asked for does not fit the memory; refused before anything is allocated."""


class WorkflowError(RequestError):
    """A workflow file with one or more faults, all reported at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)


class NeedsContent(LookupError):
    """What a URL holds is known when it has been fetched; the message says so to a person."""


class DamagedArtifact(GravelError):
    """A stored artifact that fails its checks; it can be computed again."""

    def __init__(self, artifact_id: str, reason: str) -> None:
        super().__init__(f"artifact {artifact_id[:12]} is damaged: {reason}")
        self.artifact_id = artifact_id
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return (DamagedArtifact, (self.artifact_id, self.reason))


MAX_MESSAGE = 4_000
"""Characters of a message that are shown and kept in a run's record; the log has all."""

MAX_LINE = 200
"""Characters of a message on the line that says that a stage failed; the whole one follows at the end."""


def shown(text: str) -> str:
    """Return a readable text, cut where it is very long."""
    if len(text) <= MAX_MESSAGE:
        return visible(text)
    return f"{visible(text[:MAX_MESSAGE])}... ({len(text):,} characters; the log has all)"


def on_one_line(text: str) -> str:
    """Return how a text begins, if it is no short line."""
    line = text.partition("\n")[0]
    return text if line == text and len(text) <= MAX_LINE else f"{line[:MAX_LINE]}..."
