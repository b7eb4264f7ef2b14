"""What unfinished stage runs have done, `unfinished/<recipe>`: a seal, a line of JSON, and the arrays.

The seal covers the line, which names the recipe, the stage with its version, the form of the file, and each
array's dtype and shape. A checkpoint is replaced by the next of its recipe, by one step. It goes when the
recipe has its result, and otherwise with `gravel cache gc`.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.store.descriptors import NoFolder
from gravel.pipeline.store.layout import MAX_AXES
from gravel.pipeline.store.opening import open_file, read_whole

if TYPE_CHECKING:
    from gravel.pipeline.store.files import LocalFiles
    from gravel.stages.context import Arrays

FOLDER = "unfinished"

INTERVAL = 10.0
"""Seconds between two checkpoints: what a kill may cost."""

COST = 50
"""Times as long as a checkpoint took to write, before the next: at most 2 percent of a run."""


FORMAT = 2

MAX_HEAD_BYTES = 1 << 20


class Misfit(ValueError):
    """A checkpoint that is damaged, or of something else."""


class StoredCheckpoint:
    """The checkpoint of one recipe in a cache; `log` gets a line for what cannot be used.

    `stage` is the stage's name and version, `most` the bytes of memory that the stage may use.
    """

    def __init__(
        self,
        files: LocalFiles,
        recipe: str,
        log: Callable[[str], None],
        stage: str = "",
        most: int | None = None,
    ) -> None:
        self._files, self._log, self._most = files, log, most
        self._name = f"{FOLDER}/{recipe}"
        self._of = {"format": FORMAT, "recipe": recipe, "stage": stage}
        self._due = time.monotonic() + INTERVAL

    def load(self) -> Arrays | None:
        """Return the arrays of the last checkpoint, or None; what is damaged or another's is removed."""
        try:
            with open_file(self._files.root, self._name, self._most) as file:
                return self._read(file)
        except (FileNotFoundError, NoFolder):
            return None
        except Misfit as error:
            self.drop(str(error))
        except OSError as error:
            self.drop(f"cannot be read ({error.strerror})")
        return None

    def drop(self, reason: str) -> None:
        """Remove the last checkpoint, which cannot be used."""
        self._log(f"what an earlier run left of this stage {reason}, so the stage starts anew")
        with suppress(GravelError):
            self._files.remove(self._name)

    def _read(self, file: BinaryIO) -> Arrays:
        """Read a checkpoint; more than its line only if the file is as long as that says."""
        from blake3 import blake3

        size = os.fstat(file.fileno()).st_size
        start = file.read(MAX_HEAD_BYTES)
        try:
            end = start.index(b"\n") + 1
            head = json.loads(start[64:end])
            shapes = [(name, dtype, tuple(shape)) for name, (dtype, shape) in head.pop("arrays").items()]
            wanted = end + sum(_bytes_of(dtype, shape) for _, dtype, shape in shapes)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Misfit("is damaged") from error
        if size != wanted:
            raise Misfit(f"is damaged: it has {size:,} bytes, and its arrays have {wanted:,}")
        file.seek(0)
        text = memoryview(read_whole(file))
        if bytes(text[:64]) != blake3(text[64:]).hexdigest().encode():
            raise Misfit("is damaged")
        if head != self._of:
            raise Misfit("is of another recipe, stage or version")
        return _unpacked(text, shapes, end)

    def save(self, arrays: Callable[[], Arrays]) -> None:
        """Keep the arrays if it is time to; a disk that takes none costs the checkpoint alone."""
        began = time.monotonic()
        if began < self._due:
            return
        try:
            self._files.folder(FOLDER)
            self._files.replace(self._name, _packed(self._of, arrays()), durable=False)
        except GravelError as error:
            self._log(f"no checkpoint was written: {error}")
        ended = time.monotonic()
        self._due = ended + max(INTERVAL, COST * (ended - began))


def _packed(of: Mapping[str, Any], arrays: Arrays) -> bytes:
    from blake3 import blake3

    whole = {name: array if array.flags.c_contiguous else array.copy() for name, array in arrays.items()}
    head = {**of, "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in whole.items()}}
    parts: list[Any] = [json.dumps(head).encode() + b"\n"]
    parts += [array.data.cast("B") for array in whole.values() if array.size]
    seal = blake3()
    for part in parts:
        seal.update(part)
    return b"".join([seal.hexdigest().encode(), *parts])


def _bytes_of(dtype: str, shape: tuple[int, ...]) -> int:
    import numpy

    known = numpy.dtype(dtype)
    if known.kind not in "biuf" or len(shape) > MAX_AXES or any(type(each) is not int for each in shape):
        raise ValueError(dtype)
    if min(shape, default=0) < 0:
        raise ValueError(shape)
    return known.itemsize * math.prod(shape)


def _unpacked(text: memoryview, shapes: list[tuple[str, str, tuple[int, ...]]], at: int) -> Arrays:
    import numpy

    arrays = {}
    for name, dtype, shape in shapes:
        arrays[name] = numpy.frombuffer(text, dtype, math.prod(shape), at).reshape(shape)
        at += arrays[name].nbytes
    return arrays
