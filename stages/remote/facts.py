"""What a server states of a file, and the error of a file that cannot be had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

BLOCK = 1 << 20


@dataclass(frozen=True)
class Facts:
    """What a server states of a file: its size in bytes, and what changes with its content."""

    size: int | None = None
    etag: str | None = None
    modified: str | None = None

    def __post_init__(self) -> None:
        """Refuse what a damaged file may say."""
        if not isinstance(self.size, int | None) or not all(
            isinstance(text, str | None) for text in (self.etag, self.modified)
        ):
            raise TypeError("facts of a file are a number and two texts")

    @property
    def validator(self) -> str | None:
        """Return the ETag if it is strong, so that it changes with the content (RFC 9110, section 8.8.1)."""
        etag = (self.etag or "").strip()
        return etag if etag.strip('"') and not etag.startswith(("W/", "w/")) else None

    def same_as(self, other: Facts) -> bool:
        """Say whether both are of one content: one strong ETag, and nothing else that differs."""
        pairs = ((self.size, other.size), (self.modified, other.modified))
        same = all(one == two for one, two in pairs if one is not None and two is not None)
        return same and self.validator is not None and self.validator == other.validator


class FetchError(Exception):
    """A URL that gave no whole file.

    `status` is the answer of its server, `offline` says that the server was never reached, and `passing`
    that asking again may help.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        offline: bool = False,
        passing: bool = False,
    ) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status
        self.offline = offline
        self.passing = passing


class Changed(FetchError):
    """The file is no longer the one whose beginning is here."""

    def __init__(self) -> None:
        super().__init__("the file is no longer the one that was begun", passing=True)


class Answer(Protocol):
    """A file's bytes from `start` on, in order; every method raises FetchError only."""

    facts: Facts
    start: int

    def read(self, size: int = BLOCK) -> bytes:
        """Return the next bytes, none at the end; a line that is cut before the stated size is an error."""

    def close(self) -> None:
        """Hang up."""
