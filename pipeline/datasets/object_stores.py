"""One file of anything but HTTP (`s3://`, `gs://`, `ftp://`, `zip://...::...`), through fsspec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gravel.pipeline.datasets.fetching import Facts, FetchError, Watch
from gravel.stages.addresses import Address

__all__ = ["fetch_object", "object_facts"]

BLOCK = 8 << 20


def object_facts(address: Address) -> Facts:
    """Ask what the store says of an object, each in its own words; raises FetchError."""
    try:
        system, path = _system(address)
        return _facts(system.info(path))
    except Exception as error:  # every file system raises its own
        raise _failed(error, address) from None


def fetch_object(address: Address, part: Path, watch: Watch) -> Facts:
    """Bring an object's content into the file `part`, from its beginning; raises FetchError."""
    try:
        system, path = _system(address)
        facts = _facts(system.info(path))
        source = system.open(path, "rb", block_size=BLOCK)
    except Exception as error:
        raise _failed(error, address) from None
    if facts.size is not None:
        watch.room(facts.size)
    done = 0
    with source, part.open("wb") as file:
        while block := _read(source, address):
            file.write(block)
            done += len(block)
            watch.progress(done, facts.size)
    return Facts(done, facts.etag, facts.modified)


def _read(source: Any, address: Address) -> bytes:
    try:
        block: bytes = source.read(BLOCK)
    except Exception as error:
        raise _failed(error, address) from None
    return block


def _system(address: Address) -> tuple[Any, str]:
    import fsspec

    system, path = fsspec.core.url_to_fs(address.url)
    return system, path


def _facts(found: Any) -> Facts:
    info = {key.lower(): value for key, value in found.items()}
    changed = next(
        (info[key] for key in ("last-modified", "lastmodified", "updated", "mtime") if key in info), None
    )
    tag = next((info[key] for key in ("etag", "md5hash", "content_md5", "sha256") if info.get(key)), None)
    size = info.get("size")
    return Facts(
        int(size) if size is not None else None,
        None if tag is None else str(tag),
        None if changed is None else str(changed),
    )


def _failed(error: Exception, address: Address) -> FetchError:
    if isinstance(error, FetchError):
        return error
    if isinstance(error, FileNotFoundError):
        return FetchError("there is nothing at this URL", status=404)
    problem = address.without_secrets(str(error) or type(error).__name__)
    if isinstance(error, ImportError | ValueError):
        return FetchError(f"it cannot be asked for: {problem}", status=400)
    return FetchError(f"it cannot be reached: {problem}", offline=True)
