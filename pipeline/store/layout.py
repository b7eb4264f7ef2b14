"""How an array lies in its file, and how Zarr's metadata say so.

An array is one shard of Zarr's sharding codec. Its file begins with the array's bytes in C order,
little-endian, as they are in memory: whoever knows dtype and shape maps it from the first byte on. Zeros fill
the last inner chunk up, and the shard's index follows, which Zarr reads and gravel does not. Inner chunks are
about 1 MiB of whole rows along axis 0, or one row where a row is larger. All of that follows from dtype and
shape.

Digests of the pieces of an array of more than one piece lie beside it, in `leaves`
(`gravel.pipeline.store.content`). An array without elements has no file.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gravel.pipeline.store.content import DIGEST_BYTES, LEAF_BYTES
from gravel.pipeline.store.record_types import ITEMSIZE, METADATA

DTYPES = frozenset(ITEMSIZE)

LEAVES = "leaves"
"""The file of the digests of an array's pieces."""

_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
_ENTRY = struct.Struct("<QQ")


@dataclass(frozen=True)
class Layout:
    """Where an array of this dtype and shape lies in its file."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the array, with which its file begins."""
        return ITEMSIZE[self.dtype] * math.prod(self.shape)

    @property
    def leaf_count(self) -> int:
        """Pieces that have a digest each."""
        return -(-self.nbytes // LEAF_BYTES)

    @property
    def path(self) -> str:
        """The file of the array, in its folder."""
        return "/".join(["c", *("0" for _ in self.shape)])

    @property
    def chunk(self) -> tuple[int, ...]:
        """Shape of an inner chunk."""
        rest = tuple(max(1, length) for length in self.shape[1:])
        rows = max(1, LEAF_BYTES // (ITEMSIZE[self.dtype] * math.prod(rest)))
        return (max(1, min(rows, self.shape[0])), *rest)

    @property
    def chunk_count(self) -> int:
        """Inner chunks, the last of which may be filled up."""
        return max(1, -(-self.shape[0] // self.chunk[0]))

    @property
    def tail_bytes(self) -> int:
        """Bytes of the file behind the array: what fills its last chunk up, and the index."""
        chunk = ITEMSIZE[self.dtype] * math.prod(self.chunk)
        return self.chunk_count * (chunk + _ENTRY.size) - self.nbytes

    def tail(self) -> bytes:
        """Return what follows the array in its file."""
        chunk = ITEMSIZE[self.dtype] * math.prod(self.chunk)
        index = b"".join(_ENTRY.pack(number * chunk, chunk) for number in range(self.chunk_count))
        return bytes(self.chunk_count * chunk - self.nbytes) + index

    def metadata(self) -> bytes:
        """Write the array's `zarr.json`."""
        fill: Any = False if self.dtype == "bool" else 0.0 if self.dtype.startswith("float") else 0
        sharding = {
            "chunk_shape": list(self.chunk),
            "codecs": [_LITTLE],
            "index_codecs": [_LITTLE],
            "index_location": "end",
        }
        shard = [self.chunk_count * self.chunk[0], *self.chunk[1:]]
        body = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill,
            "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            "attributes": {},
            "storage_transformers": [],
        }
        return json.dumps(body, indent=1).encode()

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield path and size of each file in the array's folder."""
        yield METADATA, len(self.metadata())
        if self.nbytes:
            yield self.path, self.nbytes + self.tail_bytes
        if self.leaf_count > 1:
            yield LEAVES, self.leaf_count * DIGEST_BYTES
