"""The answer of a server about a file: facts, its bytes, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

BLOCK = 1 << 20


@dataclass(frozen=True)
class Facts:
    """Statements of a server about a file: its size in bytes, and what changes with its content."""

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


class Answer:
    """A file's bytes from `start` on, in order; `facts` are those of the whole file."""

    def __init__(
        self, facts: Facts, start: int, blocks: Iterator[bytes], close: Callable[[], None] = lambda: None
    ) -> None:
        self.facts = facts
        self.start = start
        self.close = close
        self._blocks = blocks
        self._rest = b""
        self._done = start

    def read(self, size: int = BLOCK) -> bytes:
        """Return the next bytes, none at the end; raises FetchError, also for an end that comes too early."""
        if not self._rest:
            self._rest = next(self._blocks, b"")
        block, self._rest = self._rest[:size], self._rest[size:]
        self._done += len(block)
        whole = self.facts.size
        if not block and whole is not None and self._done < whole:
            raise FetchError(f"the line was cut after {self._done:,} of {whole:,} bytes", passing=True)
        return block
