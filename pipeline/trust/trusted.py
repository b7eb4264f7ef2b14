"""The keys of others that this user trusts: one a line in the file `trusted-keys`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.file_modes import written_aside
from gravel.pipeline.core.user_config import config_folder
from gravel.pipeline.trust.keys import PublicKey, check_only_mine, parse_key
from gravel.pipeline.trust.own_key import make_config_folder, own_public_key

NAME = "trusted-keys"


def trusted_keys() -> list[PublicKey]:
    """Return the keys that were added; raises `RequestError` for a file that cannot be relied on."""
    path = config_folder() / NAME
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        raise RequestError(
            f"{path} cannot be read: {error}", hint=f"fix it, or remove it: rm {path}"
        ) from error
    for each in (path.parent, path):
        check_only_mine(each, 0o022, "whoever writes there decides what is trusted")
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            keys.append(parse_key(line))
        except ValueError as error:
            raise RequestError(
                f"{path}:{number}: this is no public key: {error}", hint="fix or remove that line"
            ) from error
    return keys


def all_trusted() -> dict[bytes, PublicKey]:
    """Return this user's own key and those that were added, by their bytes."""
    own = own_public_key()
    return {key.raw: key for key in (*trusted_keys(), *([own] if own is not None else []))}


def add(key: PublicKey) -> bool:
    """Trust a key from now on; says whether it was not trusted before. A new name replaces the old one."""
    with _changing() as keys:
        known = key in keys
        keys[:] = [*(each for each in keys if each != key), key]
    return not known


def remove(text: str) -> PublicKey:
    """Trust a key no longer, named by itself, its name or its fingerprint; raises `RequestError`."""
    with _changing() as keys:
        gone = find(keys, text)
        keys[:] = [each for each in keys if each != gone]
    return gone


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
    found = f"{len(fitting)} trusted keys are" if fitting else "no trusted key is"
    hint = "`gravel trust list` shows them; name one by its fingerprint"
    raise RequestError(f"{found} meant by {text!r}", hint=hint)


@contextmanager
def _changing() -> Iterator[list[PublicKey]]:
    """Give the list to be changed while no other process does; it is written at the end of the block."""
    from filelock import FileLock

    try:
        path = make_config_folder() / NAME
        with FileLock(path.with_name(f".{NAME}.lock"), mode=0o600):
            keys = trusted_keys()
            yield keys
            lines = "".join(f"{key.line}\n" for key in keys)
            with written_aside(path, lines.encode(), 0o600) as aside:
                aside.replace(path)
    except OSError as error:
        raise RequestError(
            f"the trusted keys cannot be changed: {error.filename or config_folder()}: {error.strerror}",
            hint="make that folder writable, or name another with XDG_CONFIG_HOME",
        ) from error
