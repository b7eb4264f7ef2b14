"""The content digest of every file or URL that a stage reads, remembered while the file is unchanged."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from pipeline.errors import GravelError, RequestError
from pipeline.frozen.witness import doubt, note_input, note_memo
from pipeline.store.files import LocalFiles

if TYPE_CHECKING:
    from stages.stage import FileInput

READ_BYTES = 8 << 20
RACY_SECONDS = 2.0
"""A file changed this shortly before it was digested may change again under the same timestamp (FAT keeps
two seconds); such a digest is not remembered. Git calls such files racily clean."""

URL_TIMEOUT = 20.0
_URL = re.compile(r"^([a-z][a-z0-9+.-]+)(?:::|://)", re.IGNORECASE)


class FileDigests:
    """Digests of inputs, with a memo under the cache keyed by path, size, mtime_ns and inode."""

    def __init__(self, cache_root: Path) -> None:
        self._files = LocalFiles(Path(cache_root))

    def digest(self, file: FileInput) -> str:
        """Return what stands for the content of a file or URL in a recipe.

        A file: its BLAKE3. A URL: the sha256 that the workflow states, else the server's ETag, else its
        Last-Modified and size. Raises `RequestError` for a file that is not there or no file, a URL that
        cannot be reached, and one whose server names nothing that changes with the content.
        """
        match = _URL.match(file.location)
        if match is None:
            return self._local(Path(file.location))
        if match[1].lower() == "file":
            return self._local(Path(re.sub(r"^file://(localhost)?", "", file.location, flags=re.IGNORECASE)))
        doubt("a server is asked each time")
        return _remote(file, match[1].lower(), self._files.root)

    def _local(self, path: Path) -> str:
        try:
            before = path.stat()
        except OSError as error:
            raise _unreadable(path, error) from None
        except ValueError:
            raise RequestError(f"{str(path)!r} cannot be the name of a file", hint="name a file") from None
        if path.is_dir():
            raise RequestError(f"{path} is a folder, and a file is needed", hint=_inside(path))
        if not path.is_file():
            # A pipe could be read once only, and a device for ever.
            raise RequestError(
                f"{path} is a pipe or a device, and a file is needed", hint="copy what it gives into a file"
            )
        name = f"digests/{blake3(os.fsencode(path.resolve())).hexdigest()}.json"
        key = [before.st_size, before.st_mtime_ns, before.st_ino]
        known = self._memo(name, key)
        if known is not None:
            note_input(path, key)
            note_memo(name)
            return known
        doubt("an input is digested anew")
        started = time.time()
        value = _content(path)
        after = path.stat()
        if [after.st_size, after.st_mtime_ns, after.st_ino] != key:
            raise GravelError(f"{path} changed while it was read", hint="run again when nothing writes to it")
        if before.st_mtime < started - RACY_SECONDS:
            self._remember(name, path, key, value)
        return value

    def _memo(self, name: str, key: list[int]) -> str | None:
        found = self._files.read(name)
        if found is None:
            return None
        try:
            memo = json.loads(found[0])
            value = memo["blake3"] if memo["key"] == key else None
        except (ValueError, KeyError, TypeError):
            return None
        return value if isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) else None

    def _remember(self, name: str, path: Path, key: list[int], value: str) -> None:
        text = json.dumps({"path": str(path.resolve()), "key": key, "blake3": value})
        try:
            self._files.replace(name, text.encode(), durable=False)
        except GravelError:
            # Without a memo the file is digested again; planning needs no more of the cache.
            return


def _content(path: Path) -> str:
    digest = blake3()
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(READ_BYTES):
                digest.update(block)
    except OSError as error:
        raise _unreadable(path, error) from None
    return digest.hexdigest()


def _unreadable(path: Path, error: OSError) -> RequestError:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return RequestError(f"{path} cannot be read: {error.strerror}")
    folder = path.parent
    if not folder.is_dir():
        return RequestError(f"there is no file {path}: the folder {folder} does not exist")
    near = difflib.get_close_matches(path.name, _names(folder), 1)
    return RequestError(
        f"there is no file {path}", hint=f"did you mean {folder / near[0]}?" if near else None
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (names are all that is wanted)
    except OSError:
        return []


def _inside(folder: Path) -> str | None:
    names = _names(folder)
    return f"it holds {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}" if names else None


def _remote(file: FileInput, protocol: str, cache_root: Path) -> str:
    if file.sha256 is not None:
        return f"sha256:{file.sha256.lower()}"
    try:
        facts = _http_facts(file.location) if protocol in ("http", "https") else _facts(file.location)
    except (ImportError, ValueError) as error:
        raise RequestError(f"{file.location} cannot be asked for: {error}") from error
    except (OSError, RuntimeError) as error:
        if protocol not in ("http", "https"):
            raise RequestError(
                f"{file.location} cannot be reached ({error})", hint="check the address and the network"
            ) from error
        return _copy(file.location, error, cache_root)
    tag = facts.get("etag")
    if tag:
        return f"etag:{tag}"
    changed, size = facts.get("last-modified"), facts.get("size")
    if changed and size is not None:
        return f"modified:{changed}:{size}"
    raise RequestError(
        f"the server of {file.location} names neither an ETag nor when the file changed",
        hint="give its `sha256`, so that a change is noticed",
    )


def _copy(url: str, error: Exception, cache_root: Path) -> str:
    """Without a network, let what was downloaded or put by hand stand for what the server has."""
    from urllib.error import HTTPError

    from pipeline.datasets.downloads import Downloads, sha256_of

    downloads = Downloads(cache_root)
    where = downloads.by_hand(url)
    if where.is_file():
        return f"sha256:{sha256_of(where)}"
    found = downloads.find(url)
    if found is not None and (found.by_hand or not isinstance(error, HTTPError)):
        return found.key
    raise RequestError(
        f"{url} cannot be reached ({error})",
        hint=f"check the address and the network, or put the file at {where}; with `sha256:` beside it "
        "a cached result needs neither",
    ) from error


def _http_facts(url: str) -> dict[str, Any]:
    """Ask with HEAD; urllib, since fsspec's HTTP takes 0.3 s to import."""
    import urllib.request

    headers = {"User-Agent": "gravel", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, method="HEAD", headers=headers)
    with urllib.request.urlopen(request, timeout=URL_TIMEOUT) as answer:
        return {
            "etag": answer.headers.get("ETag"),
            "last-modified": answer.headers.get("Last-Modified"),
            "size": answer.headers.get("Content-Length"),
        }


def _facts(url: str) -> dict[str, Any]:
    """Ask the object store through fsspec; stores name these facts each in their own way."""
    import fsspec

    system, path = fsspec.core.url_to_fs(url)
    info = {key.lower(): value for key, value in system.info(path).items()}
    changed = next(
        (info[key] for key in ("last-modified", "lastmodified", "updated", "mtime") if key in info), None
    )
    tag = next((info[key] for key in ("etag", "md5hash", "content_md5", "sha256") if info.get(key)), None)
    return {"etag": tag, "last-modified": changed and str(changed), "size": info.get("size")}
