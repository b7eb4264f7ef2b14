"""Public keys as OpenSSH writes them, this user's own key, and the keys that the user trusts.

Reading them needs no `cryptography`, so that a cached run does without it.
"""

from __future__ import annotations

import base64
import binascii
import getpass
import hashlib
import os
import platform
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import config_folder, make_config_folder, written_aside

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


KIND = "ssh-ed25519"
_HEAD = len(KIND).to_bytes(4, "big") + KIND.encode() + (32).to_bytes(4, "big")
MAX_NAME = 100
MAX_KEY_BYTES = 1 << 16


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key: its 32 bytes, and a name that says whose it is."""

    raw: bytes
    name: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The key without its name."""
        return f"{KIND} {base64.b64encode(_HEAD + self.raw).decode()}"

    @property
    def line(self) -> str:
        """The key and its name, as one line of a file."""
        return f"{self.text} {self.name}".rstrip()

    @property
    def fingerprint(self) -> str:
        """What `ssh-keygen -l` prints of it."""
        digest = hashlib.sha256(_HEAD + self.raw).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def parse_key(text: str) -> PublicKey:
    """Read a public key, with or without a name; raises ValueError that says what is wrong."""
    words = text.split(maxsplit=2)
    if not words:
        raise ValueError("it is empty")
    if words[0] != KIND:
        raise ValueError(f"it begins with {words[0][:40]!r}, and {KIND!r} was expected")
    if len(words) < 2:
        raise ValueError(f"nothing follows {KIND!r}")
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{words[1][:40]!r} is not base64") from None
    if len(blob) != len(_HEAD) + 32 or not blob.startswith(_HEAD):
        raise ValueError(f"it holds {len(blob)} bytes that are not an Ed25519 key (51 bytes); is it whole?")
    return PublicKey(blob[len(_HEAD) :], check_key_name(words[2] if len(words) > 2 else ""))


def check_key_name(name: str) -> str:
    """Return a key's name; raises ValueError for one that does not fit into a line."""
    name = name.strip()
    if len(name) > MAX_NAME or not name.isprintable():
        raise ValueError(f"its name has to be printable and of at most {MAX_NAME} characters")
    return name


def check_only_mine(path: Path, forbidden: int, why: str) -> None:
    """Refuse a file or folder that others own, or may use in a forbidden way, as ssh does.

    `forbidden` are bits of a mode, such as 0o077. Raises `RequestError` with the command that mends it.
    """
    found = path.stat()
    command = shlex.quote(str(path))
    if found.st_uid not in (os.geteuid(), 0):
        raise RequestError(
            f"{path} belongs to user {found.st_uid}, and {why}", hint=f"chown {os.geteuid()} {command}"
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & forbidden:
        letters = "go-rwx" if forbidden == 0o077 else "go-w"
        raise RequestError(f"{path} has mode {mode:04o}, and {why}", hint=f"chmod {letters} {command}")


PRIVATE, PUBLIC = "signing-key", "signing-key.pub"

KEY_FILE = "GRAVEL_SIGNING_KEY_FILE"
"""Names the file of the key on machines that come and go, where it is mounted as a secret."""


def own_public_key() -> PublicKey | None:
    """Return this user's public key, or None if none was made yet; raises `RequestError`."""
    if os.environ.get(KEY_FILE):
        return signing_key()[1]
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
    if named := os.environ.get(KEY_FILE):
        key = _parse_private(Path(named), _read_mounted(Path(named)))
        return key, PublicKey(key.public_key().public_bytes_raw(), _name())
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


def _read_mounted(path: Path) -> bytes:
    """Read the key that `GRAVEL_SIGNING_KEY_FILE` names; links are followed, as Kubernetes mounts secrets.

    Raises `RequestError` unless it is a file of the user or of root that others cannot read. The group may
    read a file of root, which is how a pod's user gets at it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            _refuse_open(path, os.fstat(handle))
            return file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise RequestError(
            f"{KEY_FILE} names {path}, which cannot be read: {error.strerror}",
            hint="mount the key there, or unset the variable to use the key of the configuration folder",
        ) from error


def _refuse_open(path: Path, found: os.stat_result) -> None:
    """Refuse a key that others than the user, root, and the group of a file of root's could use."""
    mode, mine = stat.S_IMODE(found.st_mode), os.geteuid()
    shown = f"{KEY_FILE} names {path}, a file of user {found.st_uid} with mode {mode:04o}"
    if found.st_uid not in (mine, 0):
        raise RequestError(
            f"{shown}, and a signing key must belong to you or to root",
            hint=f"chown {mine} {shlex.quote(str(path))}",
        )
    right = 0o440 if found.st_uid == 0 else 0o400
    if mode & 0o077 & ~right:
        who = "its group" if found.st_uid == 0 else "you"
        raise RequestError(
            f"{shown}, and a signing key must be readable by {who} alone",
            hint=f"chmod {right:04o} {shlex.quote(str(path))}; "
            f"for a secret of Kubernetes, set its defaultMode: {right:04o}",
        )


def _parse_private(path: Path, text: bytes) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unusable(path, error) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable(path, ValueError("it is a key of another kind than Ed25519"))
    return key


def _read(path: Path, text: bytes) -> tuple[Ed25519PrivateKey, PublicKey]:
    key = _parse_private(path, text)
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


def add_trusted(key: PublicKey) -> bool:
    """Trust a key from now on; says whether it was not trusted before. A new name replaces the old one."""
    with _changing() as keys:
        known = key in keys
        keys[:] = [*(each for each in keys if each != key), key]
    return not known


def remove_trusted(text: str) -> PublicKey:
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
