"""The content digest of every file or URL that a stage reads, remembered while the file is unchanged."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import shows_every_change, state_of
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.folder import DIGESTS
from gravel.stages.addresses import check_scheme
from gravel.stages.errors import StageError
from gravel.stages.urls import CORRECT_LINK, broken_link, is_url, without_file_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gravel.pipeline.datasets.contents import Contents
    from gravel.stages.stage import FileInput

READ_BYTES = 8 << 20
READERS = 4
"""Threads that read ahead: one copies 5 GB/s, which is what one core digests."""


class FileDigests:
    """Digests of inputs, with a memo under the cache keyed by path and state (`gravel.pipeline.core.files`).

    With `fetch` what URLs lead to is brought here in the background, and `NeedsContent` is raised until it is
    there; without, as for `plan`, it is raised for whatever would have to be fetched. `on_new` is called
    before a file is digested whose digest is not known.
    """

    def __init__(
        self, cache_root: Path, *, fetch: bool = False, on_new: Callable[[], None] | None = None
    ) -> None:
        self._files = LocalFiles(Path(cache_root))
        self._fetch = fetch
        self._on_new = on_new
        self._contents: Contents | None = None
        self.fetches: Contents | None = None

    def digest(self, file: FileInput) -> str:
        """Return what stands for the content of a file or URL in a recipe.

        It is its BLAKE3, or of a URL the sha256 that the workflow states. Raises `RequestError` for a file
        that is not there or no file and a URL that cannot be reached, and `NeedsContent` for one that has to
        be fetched first.
        """
        path = without_file_scheme(file.location)
        if not is_url(path):
            return self._local(Path(path))
        try:
            check_scheme(path)
        except StageError as error:
            raise RequestError(error.message, hint=error.hint) from None
        if file.sha256 is not None:
            return f"sha256:{file.sha256.lower()}"
        if self._contents is None:
            from gravel.pipeline.datasets.contents import Contents

            self._contents = Contents(self._files.root, fetch=self._fetch)
            self.fetches = self._contents if self._fetch else None
        return self._contents.digest(file.location)

    def _local(self, path: Path) -> str:
        try:
            before = path.stat()
        except OSError as error:
            raise _unreadable(path, error) from None
        except ValueError:
            raise RequestError(f"{str(path)!r} cannot be the name of a file", hint="name a file") from None
        if path.is_dir():
            inside = _names(path)
            holds = f"it holds {', '.join(inside[:5])}{' ...' if len(inside) > 5 else ''}" if inside else None
            raise RequestError(f"{path} is a folder, and a file is needed", hint=holds)
        if not path.is_file():
            # A pipe could be read once only, and a device for ever.
            raise RequestError(
                f"{path} is a pipe or a device, and a file is needed", hint="copy what it gives into a file"
            )
        name = f"{DIGESTS}/{blake3(os.fsencode(path.resolve())).hexdigest()}.json"
        key, now = state_of(before), time.time()
        if (known := self._memo(name, key)) is not None:
            return known
        if self._on_new is not None:
            self._on_new()
        value = _content(path)
        if state_of(path.stat()) != key:
            raise GravelError(f"{path} changed while it was read", hint="run again when nothing writes to it")
        if shows_every_change(str(path), before, now):
            self._remember(name, path, key, value)
        return value

    def _memo(self, name: str, key: list[int]) -> str | None:
        found = self._files.read(name)
        with suppress(ValueError, KeyError, TypeError):
            memo = json.loads(found[0]) if found is not None else None
            if memo and memo["key"] == key and re.fullmatch("[0-9a-f]{64}", memo["blake3"]):
                return str(memo["blake3"])
        return None

    def _remember(self, name: str, path: Path, key: list[int], value: str) -> None:
        text = json.dumps({"path": str(path.resolve()), "key": key, "blake3": value})
        # Without a memo the file is digested again; planning needs no more of the cache.
        with suppress(GravelError, OSError):
            self._files.replace(name, text.encode(), durable=False)


def _content(path: Path) -> str:
    digest = blake3(max_threads=blake3.AUTO)
    try:
        with path.open("rb", buffering=0) as file:
            for block in _blocks(file.fileno(), path.stat().st_size):
                digest.update(block)
    except OSError as error:
        raise _unreadable(path, error) from None
    return digest.hexdigest()


def _blocks(file: int, size: int) -> Iterator[memoryview]:
    """Yield a file's bytes in order while threads copy the next ones out of the page cache.

    Each block is valid until the next one is asked for.
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    starts = range(0, max(1, size), READ_BYTES)
    readers = min(READERS, len(starts))
    free = [memoryview(bytearray(min(READ_BYTES, max(1, size)))) for _ in range(readers + 1)]
    with ThreadPoolExecutor(readers, "gravel-digest") as pool:
        waiting: deque[Future[memoryview]] = deque()
        for start in starts:
            waiting.append(pool.submit(_fill, free.pop(), file, start))
            if not free:
                block = waiting.popleft().result()
                yield block
                free.append(memoryview(block.obj))
        while waiting:
            yield waiting.popleft().result()


def _fill(buffer: memoryview, file: int, start: int) -> memoryview:
    """Fill a buffer from a place in a file; a network file system may return fewer bytes at a time."""
    done = 0
    while done < len(buffer) and (count := os.preadv(file, [buffer[done:]], start + done)):
        done += count
    return buffer[:done]


def _unreadable(path: Path, error: OSError) -> RequestError:
    if not isinstance(error, FileNotFoundError | NotADirectoryError) and not broken_link(path):
        return RequestError(f"{path} cannot be read: {error.strerror}")
    return missing_file(path)


def missing_file(path: Path) -> RequestError:
    """Return the error for a file that is not there, with the nearest name that is."""
    folder = path.parent
    if broken := broken_link(path):
        return RequestError(f"there is no file {path}{broken}", hint=CORRECT_LINK)
    if not folder.is_dir():
        return RequestError(f"there is no file {path}: the folder {folder} does not exist")
    near = difflib.get_close_matches(path.name, _names(folder), 1)
    hint = f"did you mean {folder / near[0]}?" if near else None
    return RequestError(f"there is no file {path}", hint=hint)


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))  # noqa: PTH208 (names are all that is wanted)
    return []
