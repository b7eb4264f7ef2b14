"""Locations as they are printed and stored, without secrets, and the local copies of what URLs lead to.

The part before `@` (userinfo) and the values of a query are secrets: they are never printed or stored.
`${env:NAME}` in a URL stands for an environment variable, which is read when the URL is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

CORRECT_LINK = "let the link lead to a file, or name another one"

HIDDEN = "..."
REFERENCE = re.compile(r"\$\{env:\s*([^{}]*?)\s*\}")

# Texts that `re` compiles when they are first used: a cached run uses none.
_URL = r"(?i)[a-z][a-z0-9+.-]+(?:::|://)"
CHAIN = r"(?i)::(?=[a-z][a-z0-9+.-]*://)"
_IN_TEXT = r"(?i)[a-z][a-z0-9+.-]+://[^\s\"'<>]+"
_AUTHORITY = r"(?:[^/?#@:]*|\[[^/?#@]*\])(?::\d*)?"
_ASSIGNMENT = r"([?&][^\s=&?\"'<>]+=)([^\s&\"'<>]+)"


def is_url(location: str) -> bool:
    """Return whether a text is a URL, `scheme://...` or a chain such as `zip::scheme://...` (refused)."""
    return re.match(_URL, location) is not None


def without_file_scheme(location: str) -> str:
    """Return the path of a file:// URL; anything else as it is."""
    scheme, slashes, path = location.partition("://")
    return path.removeprefix("localhost") if slashes and scheme.lower() == "file" else location


def shown(location: str) -> str:
    """Return a location as it is printed and stored: of a URL without userinfo, query values and fragment."""
    if not is_url(location):
        return location
    return "::".join(_shown(part) if "://" in part else part for part in re.split(CHAIN, location))


def file_name(location: str) -> str:
    """Return the name of a file without its folder, of a URL without its query."""
    plain = shown(location).partition("?")[0] if is_url(location) else location
    return visible(plain.rstrip("/").rpartition("/")[2])


def visible(text: str) -> str:
    r"""Return a text as it is stored, with `\udce9` for a byte of a file name that is not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def has_secrets(location: str) -> bool:
    """Say whether a location has something in it that `shown` leaves out."""
    return is_url(location) and shown(location) != location


def hidden(value: Any) -> Any:
    """Return plain data with its URLs as `shown` has them; a text that begins as a URL is one to its end."""
    if isinstance(value, str):
        return shown(value) if is_url(value) else hidden_in_text(value)
    if isinstance(value, dict):
        return {hidden(key): hidden(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(item) for item in value]
    return value


def hidden_in_text(text: str) -> str:
    """Return a message with every URL in it as `shown` has it, as far as blanks tell where one ends."""
    if "://" not in text:
        return text
    text = re.sub(_IN_TEXT, lambda match: shown(match[0]), text)
    return re.sub(
        _ASSIGNMENT,
        lambda match: match[0] if not REFERENCE.sub("", match[2]) else f"{match[1]}{HIDDEN}",
        text,
    )


def broken_link(path: str | Path) -> str:
    """Say which link on the way to a file leads nowhere, as a clause after a message; "" for none."""
    path = Path(path)
    try:
        links = (each for each in (*reversed(path.parents), path) if each.is_symlink() and not each.exists())
        link = next(links, None)
    except (OSError, ValueError):
        return ""
    if link is None:
        return ""
    first, target = link.readlink(), Path(os.path.realpath(link))
    shown = target if (link.parent / first).is_symlink() else first
    end = "that leads back to itself" if target.is_symlink() else f"to {shown}, which is not there"
    return f": {'it' if link == path else link} is a link {end}"


def variables(text: str) -> list[str]:
    """Return the names of the environment variables that a URL refers to."""
    return [match[1] for match in REFERENCE.finditer(text)]


def _shown(part: str) -> str:
    scheme, _, rest = part.partition("://")
    userinfo, host, path, query = parts_of(rest)
    if userinfo and not REFERENCE.sub("", userinfo).strip(":"):
        host = f"{userinfo}@{host}"  # a name of a password is none
    shown_query = "&".join(_shown_assignment(piece) for piece in re.split("[&;]", query))
    return f"{scheme}://{host}{path}" + (f"?{shown_query}" if query else "")


def _shown_assignment(piece: str) -> str:
    name, equals, value = piece.partition("=")
    if not equals:
        return piece if not REFERENCE.sub("", piece) else HIDDEN
    return piece if not REFERENCE.sub("", value) else f"{name}={HIDDEN}"


def parts_of(rest: str) -> tuple[str, str, str, str]:
    """Cut what follows `://` into userinfo, host with port, path and query; the fragment is dropped."""
    authority = re.match(r"[^/?#]*", rest)
    assert authority is not None
    cut = authority[0].rfind("@") + 1
    if cut == 0 and "@" in rest and not re.fullmatch(_AUTHORITY, REFERENCE.sub("x", authority[0])):
        # `user:pass/word@host`: not quoted as it should be, and still no part of what is shown.
        cut = rest.rfind("@") + 1
    userinfo, rest = rest[: max(0, cut - 1)], rest[cut:]
    match = re.fullmatch(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?", rest, re.DOTALL)
    assert match is not None
    return userinfo, match[1], match[2], match[3] or ""


Finder = Callable[[str], str | None]

_FINDER: ContextVar[Finder | None] = ContextVar("copies", default=None)


@contextmanager
def copies(find: Finder) -> Iterator[None]:
    """Read the file that `find` names for a URL within the block; where it names none, the URL itself."""
    token = _FINDER.set(find)
    try:
        yield
    finally:
        _FINDER.reset(token)


def copy_of(url: str) -> str | None:
    """Return the path of a URL's copy, if there is one."""
    find = _FINDER.get()
    return None if find is None else find(url)
