"""Files elsewhere: what their servers state of them, and their bytes from any place on.

HTTP is `gravel.stages.remote.http`, object stores are `gravel.stages.remote.object_store`.
"""

from __future__ import annotations

from gravel.stages.addresses import Address, is_http
from gravel.stages.remote.facts import Answer, Facts

__all__ = ["facts_of", "open_at"]


def facts_of(address: Address) -> Facts:
    """Ask what a server states of a file, without fetching it; raises FetchError and StageError."""
    if is_http(address.url):
        from gravel.stages.remote.http import facts_over_http

        return facts_over_http(address)
    from gravel.stages.remote.object_store import facts_of_object

    return facts_of_object(address)


def open_at(address: Address, start: int = 0, known: Facts | None = None, *, checked: bool = False) -> Answer:
    """Ask for a file, from `start` on if that much of the version `known` is here.

    The answer may begin at 0 nevertheless. With `checked` the caller knows a checksum of the whole, so that
    going on needs no word of the server that the file is still the same. Raises FetchError and StageError.
    """
    if is_http(address.url):
        from gravel.stages.remote.http import open_http

        return open_http(address, start, known, checked=checked)
    from gravel.stages.remote.object_store import open_object

    return open_object(address, start, known)
