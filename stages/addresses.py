"""URLs of files as they are asked for, with the values of environment variables and their secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gravel.stages.errors import StageError
from gravel.stages.urls import CHAIN, HIDDEN, REFERENCE, hidden_in_text, is_url, parts_of, shown, variables

OBJECT_STORES = {"s3": "s3://bucket/key", "gs": "gs://bucket/key", "az": "az://container/key"}
"""Schemes of object stores, and how their URLs are written."""

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_CONTROL = r"[\x00-\x1f\x7f]"
_HALVES = r"(?s)((?:\$\{[^{}]*\}|[^:])*)(?::(.*))?"
_HOST = r"[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\]"
_IN_PATH = "/%:@!$&'()*+,;=~-._[]|"
_SECRET_LENGTH = 3
"""Shorter pieces are not looked for in the messages of others, which they would only garble."""


@dataclass(frozen=True)
class Address:
    """A URL ready to be asked for.

    `url` has no userinfo where it is http(s), since that travels in the header `authorization`. `identity` is
    the whole of it. `secrets` are what must not be told.
    """

    url: str
    authorization: str | None
    identity: str
    secrets: tuple[str, ...]

    def without_secrets(self, text: str) -> str:
        """Return a message of somebody else, such as a library, without this address's secrets."""
        message = hidden_in_text(text)
        for secret in sorted(self.secrets, key=len, reverse=True):
            message = message.replace(secret, HIDDEN)
        return message


def is_http(url: str) -> bool:
    """Return whether a URL is that of a web server, not of an object store."""
    return url.lower().startswith(("http://", "https://"))


def check_scheme(location: str) -> None:
    """Raise StageError for a URL of a kind that is not read."""
    scheme = location.partition("://")[0].lower()
    if is_http(location):
        return
    if "::" in scheme or re.search(CHAIN, location):
        raise StageError(
            f"{shown(location)} is a chain of file systems, and one URL is expected",
            hint="download the file, unpack it and name its path",
        )
    if scheme not in OBJECT_STORES:
        raise StageError(
            f"URLs of the kind {scheme}:// are not read: {shown(location)}",
            hint="http(s)://, s3://, gs:// and az:// are; or download the file and name its path",
        )


def address_of(location: str) -> Address:
    """Put the environment's values into a URL and quote it; raises StageError for one that is none."""
    _refuse_control_characters(location, location)
    check_scheme(location)
    scheme, _, rest = location.partition("://")
    if not is_http(location):
        return _of_object(location, OBJECT_STORES[scheme.lower()])
    userinfo, host, path, query = parts_of(rest)
    authority = _authority(location, _filled(host, location))
    authorization, who = None, _filled(userinfo, location)
    if userinfo:
        from base64 import b64encode
        from urllib.parse import unquote

        # Only what stands in the URL is quoted; a password in the environment is taken as it is.
        literal = REFERENCE.sub(lambda match: match[0].replace("%", "%25"), userinfo)
        halves = re.fullmatch(_HALVES, literal)
        assert halves is not None
        named = [_filled(unquote(each), location) for each in halves.groups(default="")]
        who = ":".join(named)
        authorization = "Basic " + b64encode(f"{named[0]}:{named[1]}".encode()).decode()
    target = _quoted(_filled(path, location) or "/")
    asked = _filled(query, location)
    url = f"{scheme}://{authority}{target}" + (f"?{_quoted(asked, more='?')}" if query else "")
    return Address(url, authorization, f"{who}@{url}" if userinfo else url, _secrets(location, asked, who))


def _of_object(location: str, form: str) -> Address:
    url = _filled(location, location)
    bucket, slash, _ = url.partition("://")[2].partition("/")
    if not bucket or not slash or "@" in bucket or "?" in url:
        raise StageError(
            f"the URL {shown(location)} is not written like {form}",
            hint="it has no user, password or query: credentials are those of the environment",
        )
    return Address(url, None, url, _secrets(location, url))


def _authority(location: str, host: str) -> str:
    """Return host and port as they are asked for."""
    name, colon, port = (host, "", "") if host.endswith("]") or ":" not in host else host.rpartition(":")
    if not name:
        raise StageError(
            f"the URL {shown(location)} names no host", hint="write it like https://example.org/graph.txt"
        )
    if colon and port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise StageError(
            f"the port of the URL {shown(location)} is {port!r}, and a number from 1 to 65535 is expected",
            hint="a : or @ in a password is written %3A or %40" if "@" in location else None,
        )
    plain = name
    if not name.isascii():
        try:
            plain = name.encode("idna").decode("ascii")
        except UnicodeError:
            plain = ""
    labels = plain.rstrip(".").split(".")
    if not re.fullmatch(_HOST, plain) or not all(
        0 < len(label) < 64 or label.startswith("[") for label in labels
    ):
        raise StageError(
            f"the host of the URL {shown(location)} is {name!r}, which cannot be the name of one",
            hint="write it like https://example.org/graph.txt",
        )
    return plain + (f":{port}" if port else "")


def _quoted(text: str, more: str = "") -> str:
    """Quote what a URL may not hold; what is quoted already stays."""
    from urllib.parse import quote

    return quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text), safe=_IN_PATH + more)


def _filled(text: str, location: str) -> str:
    """Put in the values of environment variables."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if not re.fullmatch(_VARIABLE, name):
            raise StageError(
                f"{match[0]} in the URL {shown(location)} names no environment variable",
                hint="write it like ${env:TOKEN}",
            )
        found = os.environ.get(name)
        if found is None:
            raise StageError(
                f"the environment variable {name}, which the URL {shown(location)} refers to, is not set",
                hint=f"set it: export {name}=...",
            )
        _refuse_control_characters(found, location, f"the environment variable {name} for ")
        return found

    return REFERENCE.sub(value, text)


def _refuse_control_characters(text: str, location: str, what: str = "") -> None:
    found = re.search(_CONTROL, text)
    if found is not None:
        plain = re.sub(_CONTROL, lambda match: repr(match[0])[1:-1], shown(location))
        raise StageError(
            f"{what}the URL {plain} has the control character {found[0]!r}",
            hint="write it quoted, such as %20 for a blank, or remove it",
        )


def _secrets(location: str, *texts: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in _pieces(location, texts) if len(each) >= _SECRET_LENGTH))


def _pieces(location: str, texts: tuple[str, ...]) -> Iterator[str]:
    from urllib.parse import quote, unquote

    found = [os.environ.get(name, "") for name in variables(location)]
    userinfo, _, _, query = parts_of(location.partition("://")[2])
    for each in (userinfo, userinfo.partition(":")[2], query):
        found += [each, *(piece.partition("=")[2] for piece in re.split("[&;]", each))]
    for each in (*found, *(text for text in texts if not is_url(text))):
        yield from (each, unquote(each), quote(each, safe=""), _quoted(each, more="?"))
