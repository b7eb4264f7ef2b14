"""What stands for the content of a URL in a recipe: its digest, and nothing that a server says.

A sha256 that the workflow states ends the question. Else the server is asked: a strong ETag, with the date
and size that it had, says that the content is what was fetched before. Without one it is fetched again.
"""

from __future__ import annotations

import time
from pathlib import Path

from gravel.pipeline.core.errors import NeedsContent, RequestError
from gravel.pipeline.datasets.downloads import Downloads, digests_of
from gravel.pipeline.datasets.fetches import Fetches
from gravel.stages.addresses import address_of, is_http
from gravel.stages.errors import StageError
from gravel.stages.remote import facts_of
from gravel.stages.remote.facts import FetchError
from gravel.stages.urls import shown

__all__ = ["Contents"]

SILENT = frozenset({400, 401, 403, 405, 501})
"""Answers to HEAD that say nothing of GET: signed URLs are for one of them, and some servers know but one."""


class Contents:
    """Digests of what URLs lead to; within one run each URL has one content.

    Without `fetches`, as for `plan`, nothing is fetched and `NeedsContent` is raised instead.
    """

    def __init__(self, cache_root: Path, fetches: Fetches | None) -> None:
        self._downloads = Downloads(cache_root)
        self._fetches = fetches
        self._known: dict[str, str] = {}
        self._asked: set[str] = set()

    def digest(self, url: str) -> str:
        """Return the BLAKE3 of what a URL leads to; raises RequestError, StageError and NeedsContent."""
        known = self._known.get(url)
        if known is None:
            known = self._known[url] = self._find(url)
        return known

    def _find(self, url: str) -> str:
        if url not in self._asked:
            known = self._by_the_server(url)
            if known is not None:
                return known
            self._asked.add(url)
        if self._fetches is None:
            raise NeedsContent(f"asks the server: what {shown(url)} holds is known when it is fetched")
        found = self._fetches.ask(url)
        if found is None:
            raise NeedsContent(f"{shown(url)} is being fetched")
        assert found.blake3 is not None
        return found.blake3

    def _by_the_server(self, url: str) -> str | None:
        try:
            facts = facts_of(address_of(url))
        except StageError as error:
            raise RequestError(error.message, hint=error.hint) from None
        except FetchError as error:
            return self._without_an_answer(url, error)
        record = self._downloads.current(url, facts)
        if record is None:
            return None
        if self._fetches is not None:
            self._fetches.say(f"{shown(url)}: unchanged by ETag")
        return record.blake3

    def _without_an_answer(self, url: str, error: FetchError) -> str | None:
        """Let what was downloaded or put by hand stand for what the server has; None to try and fetch it."""
        where = self._downloads.by_hand(url)
        if where.is_file():
            return digests_of(where)[1]
        record = self._downloads.records.read(url)
        if record is not None and (error.offline or record.by_hand):
            if error.offline and self._fetches is not None:
                day = time.strftime("%Y-%m-%d", time.localtime(record.fetched))
                self._fetches.say(f"{shown(url)}: {error}; what it held on {day} is taken")
            return record.blake3
        if error.status in SILENT and is_http(url):
            return None
        raise RequestError(
            f"{shown(url)} cannot be reached ({error})",
            hint=f"{error.hint or 'check the address and the network'}, or put the file at {where}; with "
            "`sha256:` beside it a cached result needs neither",
        )
