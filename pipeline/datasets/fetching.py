"""One file over HTTP into a file on disk, in as many pieces as the line allows.

A download that breaks off goes on where it stopped (RFC 9110, section 14: `Range`), if the server can and
a strong ETag (`If-Range`, section 13.1.5) or a checksum vouches for the whole; else it begins anew, since
pieces of two versions of a file may have one date and one size.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gravel.pipeline.datasets.etags import strong_etag
from gravel.stages.addresses import Address

__all__ = ["PAUSE", "Facts", "FetchError", "Watch", "fetch", "remote_facts"]

TIMEOUT = 30.0
"""Seconds that a server may be silent."""

BLOCK = 1 << 20
PATIENCE = 5
"""How often in a row an attempt may end without a byte."""

PAUSE = 0.5  # seconds

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class FetchError(Exception):
    """A URL that gave no whole file; `offline` says that its server was never reached."""

    def __init__(self, message: str, *, offline: bool = False, status: int | None = None) -> None:
        super().__init__(message)
        self.offline = offline
        self.status = status


@dataclass(frozen=True)
class Facts:
    """What a server says of a file: its bytes, and what changes with its content."""

    size: int | None = None
    etag: str | None = None
    modified: str | None = None

    @property
    def validator(self) -> str | None:
        """Return the ETag that `If-Range` takes, if it vouches for the content."""
        return strong_etag(self.etag, self.modified, self.size)

    def same_as(self, other: Facts) -> bool:
        """Say whether a server's word makes both one version of a file."""
        return self.validator is not None and self == other


@dataclass(frozen=True)
class Watch:
    """Who follows a download.

    `progress` gets the bytes that are there and the bytes that there will be, `log` gets messages. `room` is
    asked with the bytes that are still to come, and raises if there is no room for them. `pause` are the
    seconds before the second attempt that brought nothing; twice as long before each further one.
    """

    progress: Callable[[int, int | None], None]
    room: Callable[[int], None]
    log: Callable[[str], None]
    pause: float = PAUSE


def remote_facts(address: Address) -> Facts:
    """Ask with HEAD; raises FetchError."""
    try:
        with _open(address, {}, method="HEAD") as answer:
            return _facts(answer.headers, _number(answer.headers.get("Content-Length")))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _failed(error, address) from None


def fetch(address: Address, part: Path, watch: Watch, *, checked: bool = False) -> Facts:
    """Bring a URL's content into the file `part`, which may hold the beginning of it already.

    Beside it `part` + `.json` says which version of the content it is of. With `checked` the caller knows a
    checksum, so that going on needs no word that the file is still the same. Raises FetchError if there is
    no such file or the server does not answer. Whatever came stays in `part`.
    """
    silent = 0
    while True:
        there = part.stat().st_size if part.exists() else 0
        try:
            return _attempt(address, part, there, checked, watch)
        except (OSError, ValueError, http.client.HTTPException, _Cut) as error:
            if isinstance(error, OSError) and not _of_the_line(error):
                raise
            failure = _failed(error, address)
            if failure.status is not None and failure.status not in _PASSING:
                raise failure from None
            now = part.stat().st_size if part.exists() else 0
            silent = 0 if now > there else silent + 1
            if silent >= PATIENCE or (failure.offline and _never(error)):
                raise failure from None
            watch.log(f"{failure}; {now:,} bytes are here, and the rest is asked for again")
            time.sleep(watch.pause * 2 ** max(0, silent - 1) if silent else 0)


class _Cut(Exception):
    """The line was closed before the end."""


def _attempt(address: Address, part: Path, there: int, checked: bool, watch: Watch) -> Facts:
    known = _read_facts(part) if there else None
    headers = {}
    if known is not None and (known.validator is not None or checked):
        headers["Range"] = f"bytes={there}-"
        if known.validator is not None:
            headers["If-Range"] = known.validator
    try:
        answer = _open(address, headers)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        if known is not None and known.size == there and _same(error.headers, known):
            return known
        # What is here is longer than the file: it is of another one.
        part.unlink(missing_ok=True)
        raise _Cut("the file is no longer the one that was begun") from None
    with answer:
        start, facts = _begin(answer)
        if there and start == 0:
            watch.log("the server sends the file from its beginning")
        if start and not checked and not (known is not None and known.validator == facts.validator):
            part.unlink(missing_ok=True)
            raise _Cut("the file is no longer the one that was begun")
        if start not in (0, there):
            raise _Cut(f"the server sent bytes from {start:,} on, and those from {there:,} on were asked for")
        if facts.size is not None:
            watch.room(facts.size - start)
        _write_facts(part, facts)
        done = start
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            while block := answer.read(BLOCK):
                file.write(block)
                done += len(block)
                watch.progress(done, facts.size)
    if facts.size is not None and done < facts.size:
        raise _Cut(f"the line was cut after {done:,} of {facts.size:,} bytes")
    return Facts(done, facts.etag, facts.modified)


def _begin(answer: Any) -> tuple[int, Facts]:
    """Return where the bytes begin that the server sends, and the facts of the whole file."""
    length = _number(answer.headers.get("Content-Length"))
    if answer.status != http.client.PARTIAL_CONTENT:
        return 0, _facts(answer.headers, length)
    match = _RANGE.match(answer.headers.get("Content-Range") or "")
    if match is None:
        raise _Cut("the server does not say which bytes it sends")
    whole = None if match[3] == "*" else int(match[3])
    return int(match[1]), _facts(answer.headers, whole)


def _open(address: Address, headers: Mapping[str, str], method: str = "GET") -> Any:
    # Without this a server may compress on the way, and lengths and ranges would be of something else.
    every = {"User-Agent": "gravel", "Accept-Encoding": "identity", **headers}
    request = urllib.request.Request(address.url, headers=every, method=method)
    if address.authorization is not None:
        # Whoever this server points to does not get the password.
        request.add_unredirected_header("Authorization", address.authorization)
    return urllib.request.urlopen(request, timeout=TIMEOUT)


def _facts(headers: Any, size: int | None) -> Facts:
    return Facts(size, headers.get("ETag"), headers.get("Last-Modified"))


def _same(headers: Any, known: Facts) -> bool:
    """Say whether an answer of 416 is of the very file that is here whole."""
    match = re.fullmatch(r"bytes \*/(\d+)", headers.get("Content-Range") or "")
    return match is not None and int(match[1]) == known.size and _facts(headers, known.size).same_as(known)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _facts_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_facts(part: Path) -> Facts | None:
    try:
        return Facts(**json.loads(_facts_of(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write_facts(part: Path, facts: Facts) -> None:
    _facts_of(part).write_text(json.dumps(asdict(facts)), encoding="utf-8")


def _of_the_line(error: OSError) -> bool:
    """Tell what the network does from what the disk does."""
    return isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError)


def _never(error: Exception) -> bool:
    """Say whether asking again is of no use: the name is unknown or nobody listens there."""
    reason = getattr(error, "reason", None)
    passing = (TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
    return isinstance(error, urllib.error.URLError) and not isinstance(reason, passing)


def _failed(error: Exception, address: Address) -> FetchError:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        problem = address.without_secrets(f"the server answers {error.code} {error.reason}")
        return FetchError(problem, status=error.code)
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        problem = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return FetchError(f"its server cannot be reached: {address.without_secrets(problem)}", offline=True)
    if isinstance(error, TimeoutError):
        return FetchError("its server does not answer", offline=True)
    if isinstance(error, http.client.IncompleteRead):
        return FetchError("the line was cut")
    problem = address.without_secrets(str(error) or type(error).__name__)
    return FetchError(problem, offline=isinstance(error, ConnectionError))
