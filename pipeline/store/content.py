"""Content ids: a Merkle digest of what an artifact says, whatever way it is stored.

An array's leaves are the BLAKE3 digests of each MiB of its logical bytes (C order, little-endian; the last
leaf may be shorter). Its root is the BLAKE3 of the leaves in order. An artifact's id is the typed digest of
its kind, its attributes and, for each array by name, the dtype, the shape and the root. So it does not depend
on files, nor on when, where and in which pieces the arrays were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blake3 import blake3

from gravel.pipeline.core.hashing import digest

LEAF_BYTES = 1 << 20
DIGEST_BYTES = 32
CONTENT_FORMAT = 1


class LeafDigest:
    """The leaves of an array that arrives as a stream of bytes in pieces of any size."""

    def __init__(self) -> None:
        self._leaves = bytearray()
        self._leaf = blake3()
        self._filled = 0

    def update(self, view: memoryview) -> None:
        """Take the next bytes."""
        start = 0
        while start < len(view):
            piece = view[start : start + LEAF_BYTES - self._filled]
            self._leaf.update(piece)
            self._filled += len(piece)
            start += len(piece)
            if self._filled == LEAF_BYTES:
                self._end_leaf()

    def _end_leaf(self) -> None:
        self._leaves += self._leaf.digest()
        self._leaf = blake3()
        self._filled = 0

    def finish(self) -> bytes:
        """Return the leaves of all bytes so far; take no more after."""
        if self._filled:
            self._end_leaf()
        return bytes(self._leaves)


def root_of(leaves: bytes) -> str:
    """Return the root of an array, of whose leaves these are the digests in order."""
    return blake3(leaves).hexdigest()


@dataclass(frozen=True)
class ArrayContent:
    """What of an array goes into an id."""

    dtype: str  # NumPy's name, without byte order
    shape: tuple[int, ...]
    root: str


def artifact_id(kind: str, attributes: Mapping[str, Any], arrays: Mapping[str, ArrayContent]) -> str:
    """Return the id of an artifact: 64 hexadecimal digits. Attributes are plain data, type-tagged."""
    return digest(
        {
            "content format": CONTENT_FORMAT,
            "kind": kind,
            "attributes": dict(attributes),
            "arrays": {
                name: {"dtype": array.dtype, "shape": list(array.shape), "root": array.root}
                for name, array in arrays.items()
            },
        }
    )
