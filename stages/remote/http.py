"""Files over HTTP, through urllib.

A URL's password goes to its own server only, not to whoever that one redirects to. Proxies are those of the
environment (`https_proxy`, `no_proxy`, ...). A file is continued where an earlier answer broke off (RFC
9110, section 14: `Range`) if its strong ETag (`If-Range`, section 13.1.5) or a checksum vouches for the
whole: pieces of two versions of a file may have one date and one size.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from gravel.stages.addresses import Address
from gravel.stages.remote.facts import BLOCK, Answer, Changed, Facts, FetchError

__all__ = ["facts_over_http", "open_http"]

TIMEOUT = 30.0
"""Seconds that a server may be silent."""

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_PASSING = {408, 425, 429, 500, 502, 503, 504}
_ERRORS = (OSError, ValueError, http.client.HTTPException)


def facts_over_http(address: Address) -> Facts:
    """Ask with HEAD."""
    try:
        with _open(address, {}, "HEAD") as response:
            return _facts(response.headers, _number(response.headers.get("Content-Length")))
    except _ERRORS as error:
        raise _failed(error, address) from None


def open_http(
    address: Address, start: int = 0, known: Facts | None = None, *, checked: bool = False
) -> Answer:
    """Ask for a file, from `start` on if that much of the version `known` is here.

    The answer may begin at 0 nevertheless. With `checked` the caller knows a checksum of the whole, and no
    ETag is needed. Raises `Changed` if what is here is of another version.
    """
    headers = {}
    validator = known.validator if known is not None else None
    if start and known is not None and (validator is not None or checked):
        headers["Range"] = f"bytes={start}-"
        if validator is not None:
            headers["If-Range"] = validator
    try:
        response = _open(address, headers)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or "Range" not in headers:
            raise _failed(error, address) from None
        error.close()
        if known is not None and known.size == start and _is_whole(error.headers, known):
            return Answer(known, start, iter(()))
        raise Changed from None  # what is here is longer than the file
    except _ERRORS as error:
        raise _failed(error, address) from None
    try:
        begins, facts = _begin(response)
        if begins and not checked and validator != facts.validator:
            raise Changed
        if begins not in (0, start):
            raise FetchError(
                f"the server sent bytes from {begins:,} on, and those from {start:,} on were asked for",
                passing=True,
            )
    except BaseException:
        response.close()
        raise
    return Answer(facts, begins, _blocks(response, begins, address), response.close)


def _blocks(response: Any, start: int, address: Address) -> Iterator[bytes]:
    done = start
    while True:
        try:
            block: bytes = response.read(BLOCK)
        except http.client.IncompleteRead as error:  # of a chunked answer
            if error.partial:
                yield error.partial
            done += len(error.partial)
            raise FetchError(f"the line was cut after {done:,} bytes", passing=True) from None
        except _ERRORS as error:
            raise _failed(error, address) from None
        if not block:
            return
        done += len(block)
        yield block


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects over HTTP: the method stays, and the password as long as the server does."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme.lower() not in ("http", "https"):
            fp.close()
            raise FetchError(
                f"the server redirects to {urlsplit(newurl).scheme}://, which is not read", status=code
            )
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None:
            request.method = req.get_method()
            word = req.unredirected_hdrs.get("Authorization")
            if word is not None and _origin(newurl) == _origin(req.full_url):
                request.add_unredirected_header("Authorization", word)
        return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(scheme)


def _open(address: Address, headers: dict[str, str], method: str = "GET") -> Any:
    # Without `identity` a server may compress on the way, and lengths and ranges would be of something else.
    every = {"User-Agent": "gravel", "Accept-Encoding": "identity", **headers}
    request = urllib.request.Request(address.url, headers=every, method=method)
    if address.authorization is not None:
        request.add_unredirected_header("Authorization", address.authorization)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener.open(request, timeout=TIMEOUT)


def _begin(response: Any) -> tuple[int, Facts]:
    """Return where the bytes begin that the server sends, and the facts of the whole file."""
    length = _number(response.headers.get("Content-Length"))
    if response.status != http.client.PARTIAL_CONTENT:
        return 0, _facts(response.headers, length)
    match = _RANGE.match(response.headers.get("Content-Range") or "")
    if match is None:
        raise FetchError("the server does not say which bytes it sends", passing=True)
    start, whole = int(match[1]), _number(match[3])
    if whole is None and length is not None:
        whole = start + length
    return start, _facts(response.headers, whole)


def _facts(headers: Any, size: int | None) -> Facts:
    return Facts(size, headers.get("ETag"), headers.get("Last-Modified"))


def _is_whole(headers: Any, known: Facts) -> bool:
    """Say whether an answer of 416 is of the very file that is here whole."""
    match = re.fullmatch(r"bytes \*/(\d+)", headers.get("Content-Range") or "")
    return match is not None and int(match[1]) == known.size and _facts(headers, known.size).same_as(known)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _failed(error: Exception, address: Address) -> FetchError:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        problem = address.without_secrets(f"the server answers {error.code} {error.reason}")
        return FetchError(problem, status=error.code, passing=error.code in _PASSING)
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        problem = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        # An unknown name or a closed port is no matter of waiting.
        passing = isinstance(
            reason, TimeoutError | ConnectionResetError | ConnectionAbortedError | BrokenPipeError
        )
        return FetchError(
            f"its server cannot be reached: {address.without_secrets(problem)}", offline=True, passing=passing
        )
    if isinstance(error, TimeoutError):
        return FetchError("its server does not answer", offline=True, passing=True)
    problem = address.without_secrets(str(error) or type(error).__name__)
    return FetchError(problem, offline=isinstance(error, ConnectionError), passing=True)
