"""Errors that a stage raises when its input, and not its code, is at fault."""

from __future__ import annotations

from collections.abc import Sequence

from gravel.stages.urls import shown


class StageError(Exception):
    """A failure that the person who runs the workflow can cause and can mend.

    It travels between processes as a value, so every part is plain data.

    Parameters
    ----------
    message : what was found and what was expected, in one sentence.
    hint : what to do about it, if there is something to say.
    file, line : where the fault lies in an input file (lines count from 1).
    vertices : offending vertices as internal indices; whoever prints the error maps them to file ids.

    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        vertices: Sequence[int] = (),
    ) -> None:
        super().__init__(message)
        if file is not None:
            file = shown(file)  # a URL's secrets are not told
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.vertices = tuple(int(vertex) for vertex in vertices)

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (type(self), self.message, self.hint, self.file, self.line, self.vertices))

    def __str__(self) -> str:
        place = ""
        if self.file is not None:
            place = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        return f"{place}{self.message}"


class VerificationFailed(StageError):
    """A result that breaks a rule of its verifier; `vertices` names the offenders."""


def _restore(
    kind: type[StageError],
    message: str,
    hint: str | None,
    file: str | None,
    line: int | None,
    vertices: tuple[int, ...],
) -> StageError:
    return kind(message, hint=hint, file=file, line=line, vertices=vertices)
