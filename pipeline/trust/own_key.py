"""The signing key of this user: an Ed25519 key in the configuration folder, made when it is first needed."""

from __future__ import annotations

import getpass
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.file_modes import written_aside
from gravel.pipeline.core.user_config import config_folder
from gravel.pipeline.trust.keys import PublicKey, check_only_mine, parse_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE, PUBLIC = "signing-key", "signing-key.pub"


def own_public_key() -> PublicKey | None:
    """Return this user's public key, or None if none was made yet; raises `RequestError`."""
    folder = config_folder()
    try:
        text = (folder / PUBLIC).read_text()
        check_only_mine(folder / PUBLIC, 0o022, "whoever writes there decides what is trusted")
        return parse_key(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise _unusable(folder / PUBLIC, error) from error
    # The private key is what counts; whoever made it may have died before the other was written.
    return signing_key()[1] if (folder / PRIVATE).exists() else None


def signing_key() -> tuple[Ed25519PrivateKey, PublicKey]:
    """Return this user's key, which is made if there is none.

    Raises `RequestError` for a key that others can read, that is damaged, or that cannot be written.
    """
    path = config_folder() / PRIVATE
    for _ in range(2):
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            _make(path)
            continue
        except OSError as error:
            raise _unusable(path, error) from error
        check_only_mine(path.parent, 0o022, "whoever writes there could exchange your signing key")
        check_only_mine(path, 0o077, "a signing key must be readable by you alone")
        return _read(path, text)
    raise RequestError(f"{path} was made and is gone again", hint="see who removes it, and try again")


def _read(path: Path, text: bytes) -> tuple[Ed25519PrivateKey, PublicKey]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unusable(path, error) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable(path, ValueError("it is a key of another kind than Ed25519"))
    public = PublicKey(key.public_key().public_bytes_raw(), _name())
    beside = path.with_name(PUBLIC)
    with suppress(OSError, ValueError):  # it is written anew
        if (written := parse_key(beside.read_text())) == public:
            return key, written
    # The public key only saves reading the private one.
    with suppress(OSError), written_aside(beside, f"{public.line}\n".encode(), 0o644) as aside:
        aside.replace(beside)
    return key, public


def _make(path: Path) -> None:
    """Write a new key unless another process was faster: both then use the one that is there."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        make_config_folder()
        with suppress(FileExistsError), written_aside(path, text, 0o600) as aside:
            path.hardlink_to(aside)
    except OSError as error:
        raise RequestError(
            f"no signing key can be made: {path} cannot be written ({error.strerror})",
            hint="make that folder writable, or name another with XDG_CONFIG_HOME",
        ) from error


def make_config_folder() -> Path:
    """Return the configuration folder, which is made for this user alone if there is none."""
    folder = config_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _name() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.geteuid())
    name = f"{user}@{platform.node() or 'localhost'}"
    return "".join(letter for letter in name if letter.isprintable())[:100]


def _unusable(path: Path, error: Exception) -> RequestError:
    reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
    return RequestError(
        f"{path} is no usable signing key: {reason}",
        hint=f"put it back from a copy, or move it away: mv {path} {path}.old; the next push makes another, "
        "which others have to add again",
    )
