"""One file from elsewhere into a file on disk, digested as it comes, in as many pieces as the line allows.

Whatever came of it stays, so that a later attempt, or a later run, goes on where this one stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from blake3 import blake3

from gravel.pipeline.store.opening import open_file, read_file
from gravel.stages.addresses import Address
from gravel.stages.remote import open_at
from gravel.stages.remote.facts import Answer, Changed, Facts, FetchError

PATIENCE = 5
"""How often in a row an attempt may end without a byte."""

PAUSE = 0.5  # seconds
READ_BYTES = 8 << 20


class Digests:
    """The sha256 and the BLAKE3 of bytes that come in order."""

    def __init__(self) -> None:
        self._sha256, self._blake3 = hashlib.sha256(), blake3()

    def add(self, block: bytes) -> None:
        """Take the next bytes in."""
        self._sha256.update(block)
        self._blake3.update(block)

    @property
    def values(self) -> tuple[str, str]:
        """Return both, in hexadecimal digits."""
        return self._sha256.hexdigest(), self._blake3.hexdigest()


@dataclass(frozen=True)
class Watch:
    """Who follows a download.

    `progress` gets the bytes that are there and the bytes that there will be, `log` gets messages. `room` is
    asked with the bytes that are still to come, and raises if there is no room for them. `pause` are the
    seconds before the second attempt that brought nothing; twice as long before each further one.
    """

    progress: Callable[[int, int | None], None]
    room: Callable[[int], None]
    log: Callable[[str], None]
    pause: float


class Part:
    """The beginning of a file that is being downloaded: its size, its digests, and the version that it is of.

    The version lies beside it, in a file with `.json` behind its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._json = path.with_name(f"{path.name}.json")
        self.facts: Facts | None = None
        self.size = 0
        self.digests = Digests()
        try:
            text = read_file(path.parent, self._json.name)
            self.facts = Facts(**json.loads(text))
            with open_file(path.parent, path.name) as file:
                while block := file.read(READ_BYTES):
                    self._count(block)
        except (OSError, ValueError, TypeError):
            self.drop()

    def begin(self, facts: Facts) -> None:
        """Say which version the bytes to come are of."""
        self.facts = facts
        with suppress(FileNotFoundError):
            self._json.unlink()  # a link would be followed
        self._json.write_text(json.dumps(asdict(facts)), encoding="utf-8")

    def append(self, answer: Answer, progress: Callable[[int, int | None], None]) -> None:
        """Write what comes behind what is here, to its end."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self.path, flags, 0o666), "ab", buffering=0) as file:
            while block := answer.read():
                rest = memoryview(block)
                while rest:
                    rest = rest[file.write(rest) :]
                self._count(block)
                progress(self.size, answer.facts.size)

    def _count(self, block: bytes) -> None:
        self.size += len(block)
        self.digests.add(block)

    def drop(self) -> None:
        """Begin anew, with nothing."""
        remove_part(self.path)
        self.facts, self.size, self.digests = None, 0, Digests()


def remove_part(path: Path) -> None:
    """Remove what is here of a file."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)


def fetch(address: Address, part: Part, watch: Watch, *, checked: bool = False) -> Facts:
    """Bring a URL's content into a file that may have the beginning of it already; returns what it is of.

    With `checked` the caller knows a checksum, so that going on needs no word of the server that the file is
    still the same. Raises FetchError if there is no such file or the server does not answer.
    """
    silent = 0
    while True:
        before = part.size
        try:
            with closing(open_at(address, part.size, part.facts, checked=checked)) as answer:
                if part.size and answer.start == 0:
                    watch.log("the server sends the file from its beginning")
                    part.drop()
                if answer.facts.size is not None:
                    watch.room(answer.facts.size - answer.start)
                part.begin(answer.facts)
                part.append(answer, watch.progress)
            return replace(answer.facts, size=part.size)
        except FetchError as error:
            if isinstance(error, Changed):
                part.drop()
            silent = 0 if part.size > before else silent + 1
            if not error.passing or silent >= PATIENCE:
                raise
            watch.log(f"{error}; {part.size:,} bytes are here, and the rest is asked for again")
            time.sleep(watch.pause * 2 ** max(0, silent - 1) if silent else 0)
