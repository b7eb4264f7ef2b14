"""The keys of others that this user trusts: one a line in the file `trusted-keys`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.user_config import config_folder
from gravel.pipeline.trust.keys import PublicKey, check_only_mine, parse_key
from gravel.pipeline.trust.own_key import make_config_folder, own_public_key

NAME = "trusted-keys"

T = TypeVar("T")


def trusted_keys() -> list[PublicKey]:
    """Return the keys that were added; raises `RequestError` for a file that cannot be relied on."""
    path = config_folder() / NAME
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        raise RequestError(
            f"{path} cannot be read: {error}", hint=f"mend it, or remove it: rm {path}"
        ) from error
    check_only_mine(path.parent, 0o022, "whoever writes there decides what is trusted")
    check_only_mine(path, 0o022, "whoever writes there decides what is trusted")
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            keys.append(parse_key(line))
        except ValueError as error:
            raise RequestError(
                f"{path}:{number}: this is no public key: {error}", hint="mend or remove that line"
            ) from error
    return keys


def all_trusted() -> dict[bytes, PublicKey]:
    """Return this user's own key and those that were added, by their bytes."""
    own = own_public_key()
    return {key.raw: key for key in (*trusted_keys(), *([own] if own is not None else []))}


def add(key: PublicKey) -> bool:
    """Trust a key from now on; says whether it was not trusted before. A new name replaces the old one."""

    def change(keys: list[PublicKey]) -> tuple[list[PublicKey], bool]:
        others = [each for each in keys if each != key]
        return [*others, key], len(others) == len(keys)

    return _change(change)


def remove(text: str) -> PublicKey:
    """Trust a key no longer, named by itself, its name or its fingerprint; raises `RequestError`."""

    def change(keys: list[PublicKey]) -> tuple[list[PublicKey], PublicKey]:
        gone = find(keys, text)
        return [each for each in keys if each != gone], gone

    return _change(change)


def find(keys: list[PublicKey], text: str) -> PublicKey:
    """Return the one key that a text means; raises `RequestError` if none or several fit."""
    try:
        wanted = parse_key(text)
    except ValueError:
        fitting = [key for key in keys if key.name == text or (text and key.fingerprint == text)]
        if not fitting and len(text) > len("SHA256:"):
            fitting = [key for key in keys if key.fingerprint.startswith(text)]
    else:
        fitting = [key for key in keys if key == wanted]
    if len(fitting) == 1:
        return fitting[0]
    found = (
        f"{len(fitting)} trusted keys are meant by {text!r}"
        if fitting
        else f"no trusted key is meant by {text!r}"
    )
    raise RequestError(found, hint="`gravel trust list` shows them; name one by its fingerprint")


def _change(change: Callable[[list[PublicKey]], tuple[list[PublicKey], T]]) -> T:
    """Read, change and replace the list while no other process does."""
    from filelock import FileLock

    try:
        folder = make_config_folder()
        with FileLock(folder / f".{NAME}.lock", mode=0o600):
            keys, answer = change(trusted_keys())
            _write(folder / NAME, "".join(f"{key.line}\n" for key in keys))
    except OSError as error:
        raise RequestError(
            f"the trusted keys cannot be changed: {error.filename or config_folder()}: {error.strerror}",
            hint="make that folder writable, or name another with XDG_CONFIG_HOME",
        ) from error
    return answer


def _write(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
