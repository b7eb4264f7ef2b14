"""Public keys as OpenSSH writes them, `ssh-ed25519 AAAA... name`, and the files that hold them.

Reading them needs no `cryptography`, so that a cached run does without it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import shlex
import stat
from dataclasses import dataclass, field
from pathlib import Path

from gravel.pipeline.core.errors import RequestError

KIND = "ssh-ed25519"
_HEAD = len(KIND).to_bytes(4, "big") + KIND.encode() + (32).to_bytes(4, "big")
MAX_NAME = 100


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
