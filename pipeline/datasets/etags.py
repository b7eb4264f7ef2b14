"""Which ETags speak of the content.

A strong one changes with every change of it (RFC 9110, section 8.8.1). Many servers of files make theirs of
date and size, in one form or another, and call them strong; they stay when the content changes under both.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

__all__ = ["strong_etag"]

_DATE_AND_SIZE = re.compile(
    r"[0-9a-f]{1,16}(-[0-9a-f]{1,16}){1,2}(-gzip|-br|;[\w.-]*)?"  # nginx: mtime-size; Apache: size-mtime
    r"|[0-9]{1,20}"  # lighttpd: a hash of inode, size and mtime
    r"|[0-9a-f]{1,16}:[0-9a-f]+"  # IIS: the file's time, and a count of changes of its settings
    r"|[0-9]+\.[0-9]+-[0-9]+(-[0-9]+)?",  # Flask: mtime-size-checksum of the name
    re.IGNORECASE,
)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def strong_etag(tag: str | None, modified: str | None, size: int | None) -> str | None:
    """Return a server's ETag if nothing but the content can be behind it, as far as its form shows."""
    if tag is None or tag.startswith(("W/", "w/")):
        return None
    value = tag.strip().strip('"').lower()
    if not value or _DATE_AND_SIZE.fullmatch(value):
        return None
    time = _seconds(modified)
    if size is None or time is None:
        return tag
    return None if _is_made_of(value, time, size) else tag


def _is_made_of(value: str, time: int, size: int) -> bool:
    """Say whether a value is written from the time and size of the very file: Caddy and Starlette do so."""
    parts = re.split("[^a-z0-9]+", value)
    times = {form for scale in (1, 10**3, 10**6, 10**9) for form in _written(time * scale)}
    if any(size_form in parts for size_form in _written(size)) and any(form in parts for form in times):
        return True
    if any(value == form + end for form in times for end in _written(size)):
        return True
    # Caddy has nanoseconds in base 36, of which the date in the header has the seconds only.
    if re.fullmatch("[0-9a-z]{5,20}", value):
        for end in _written(size):
            start = value.removesuffix(end)
            if start != value and start and int(start, 36) // 10**9 == time:
                return True
    from hashlib import md5

    return any(
        value == md5(f"{each}-{size}".encode(), usedforsecurity=False).hexdigest()
        for each in (time, float(time))
    )


def _written(number: int) -> tuple[str, str, str]:
    digits, rest = "", number
    while rest:
        rest, last = divmod(rest, 36)
        digits = _DIGITS[last] + digits
    return str(number), f"{number:x}", digits or "0"


def _seconds(date: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp()) if date else None
    except (ValueError, TypeError, OverflowError):
        return None
