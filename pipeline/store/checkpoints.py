"""What unfinished stage runs have done, `unfinished/<recipe>`: a seal, a line of JSON, and the arrays.

A checkpoint is replaced by the next of its recipe, by one step. It goes when the recipe has its result, and
otherwise with `gravel cache gc`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError

if TYPE_CHECKING:
    from gravel.pipeline.store.files import LocalFiles
    from gravel.stages.checkpoints import Arrays

FOLDER = "unfinished"

INTERVAL = 10.0
"""Seconds between two checkpoints: what a kill may cost."""

COST = 50
"""Times as long as a checkpoint took to write, before the next: at most 2 percent of a run."""


class StoredCheckpoint:
    """The checkpoint of one recipe in a cache; `log` gets a line for what cannot be used."""

    def __init__(self, files: LocalFiles, recipe: str, log: Callable[[str], None]) -> None:
        self._files, self._log = files, log
        self._name = f"{FOLDER}/{recipe}"
        self._due = time.monotonic() + INTERVAL

    def load(self) -> Arrays | None:
        """Return the arrays of the last checkpoint, or None; a damaged one is removed."""
        from blake3 import blake3

        found = self._files.read(self._name)
        if found is None:
            return None
        text = memoryview(found[0])
        if bytes(text[:64]) != blake3(text[64:]).hexdigest().encode():
            self._log("what an earlier run left of this stage is damaged, so the stage starts anew")
            self._files.remove(self._name)
            return None
        return _unpacked(text[64:])

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep the arrays if it is time to; a disk that takes none costs the checkpoint alone."""
        began = time.monotonic()
        if began < self._due:
            return
        try:
            self._files.folder(FOLDER)
            self._files.replace(self._name, _packed(arrays()), durable=False)
        except GravelError as error:
            self._log(f"no checkpoint was written: {error}")
        ended = time.monotonic()
        self._due = ended + max(INTERVAL, COST * (ended - began))


def _packed(arrays: Arrays) -> bytes:
    from blake3 import blake3

    whole = {name: array if array.flags.c_contiguous else array.copy() for name, array in arrays.items()}
    head = {name: [array.dtype.str, list(array.shape)] for name, array in whole.items()}
    parts: list[Any] = [json.dumps(head).encode() + b"\n"]
    parts += [array.data.cast("B") for array in whole.values() if array.size]
    seal = blake3()
    for part in parts:
        seal.update(part)
    return b"".join([seal.hexdigest().encode(), *parts])


def _unpacked(text: memoryview) -> Arrays:
    import math

    import numpy

    end = bytes(text[: 1 << 20]).index(b"\n")
    arrays, at = {}, end + 1
    for name, (dtype, shape) in json.loads(bytes(text[:end])).items():
        count = math.prod(shape)
        arrays[name] = numpy.frombuffer(text, dtype, count, at).reshape(shape)
        at += arrays[name].nbytes
    return arrays
