"""How an array is cut into inner chunks and shards, and how Zarr's metadata says so.

An array is written as one stream in C order. Chunks are consecutive pieces of that stream and shards are
consecutive chunks, so that a writer holds one chunk and no shard. This holds because along one axis a chunk
takes some units, along all axes before it one, and along all after it everything; the same for shards.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gravel.pipeline.store.record_types import ITEMSIZE

CHUNK_BYTES = 1 << 20
"""The unit of reading: zstd's level 1 window is 512 KiB, and a few rows should cost one small read."""

SHARD_BYTES = 64 << 20
"""The unit of writing: few enough files for a terabyte, many enough to copy and check them in parallel."""

PLAIN, ZSTD = "plain", "zstd"
ZSTD_FRAME = "zstd-frame"
"""As `zstd`, with a checksum in the frame in place of a crc32c behind it; read, no longer written."""

_CODECS: dict[str, list[dict[str, Any]]] = {
    PLAIN: [{"name": "crc32c"}],
    ZSTD: [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}, {"name": "crc32c"}],
    ZSTD_FRAME: [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}],
}
_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
DTYPES = frozenset(ITEMSIZE)


@dataclass(frozen=True)
class Layout:
    """An array's dtype, shape, inner chunk shape, shard shape and codec (`gravel.pipeline.store.codecs`)."""

    dtype: str
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    shard: tuple[int, ...]
    codec: str

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEMSIZE[self.dtype]

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one inner chunk, decoded."""
        return self.itemsize * math.prod(self.chunk)

    @property
    def per_shard(self) -> tuple[int, ...]:
        """Inner chunks of a shard along each axis."""
        return tuple(shard // chunk for shard, chunk in zip(self.shard, self.chunk, strict=True))

    @property
    def grid(self) -> tuple[int, ...]:
        """Inner chunks of the array along each axis."""
        return tuple(-(-length // chunk) for length, chunk in zip(self.shape, self.chunk, strict=True))

    def number(self, coordinates: tuple[int, ...]) -> int:
        """Return a chunk's position in the array, in C order: the order in which chunks are written."""
        number = 0
        for coordinate, count in zip(coordinates, self.grid, strict=True):
            number = number * count + coordinate
        return number

    def place(self, coordinates: tuple[int, ...]) -> tuple[str, int]:
        """Return the file of a chunk's shard and the chunk's place in that shard's index."""
        index = 0
        for coordinate, count in zip(coordinates, self.per_shard, strict=True):
            index = index * count + coordinate % count
        shard = (
            str(coordinate // count) for coordinate, count in zip(coordinates, self.per_shard, strict=True)
        )
        return "c/" + "/".join(shard), index


@dataclass(frozen=True)
class Cut:
    """The cut of an array whose length is not known yet: `chunk` and `shard` at their full size."""

    chunk: tuple[int, ...]
    shard: tuple[int, ...]
    axis: int  # along which chunks take more than one unit and less than everything
    unit_bytes: int  # of one unit along that axis
    line: int | None  # units along that axis, None for the growing axis 0


def cut(itemsize: int, row_shape: tuple[int, ...], chunk_bytes: int, shard_bytes: int) -> Cut:
    """Choose chunks and shards of at most these sizes for rows of this shape."""
    rest = tuple(max(1, length) for length in row_shape)
    units = [itemsize * math.prod(rest[axis:]) for axis in range(len(rest) + 1)]
    axis = next((a for a, unit in enumerate(units) if unit <= chunk_bytes), len(rest))
    count = max(1, chunk_bytes // units[axis])
    line = rest[axis - 1] if axis else None
    if line is not None:
        count = min(count, line)
    chunk = (1,) * axis + (count,) + rest[axis:]

    padded = tuple(-(-length // size) * size for length, size in zip(rest, chunk[1:], strict=True))
    shard_units = [itemsize * math.prod(padded[a:]) for a in range(len(padded) + 1)]
    split = next((a for a, unit in enumerate(shard_units[: axis + 1]) if unit <= shard_bytes), axis)
    step = chunk[split]
    length = max(1, shard_bytes // (shard_units[split] * step)) * step
    if split:
        length = min(length, padded[split - 1])
    shard = (1,) * split + (length,) + padded[split:]
    return Cut(chunk, shard, axis, units[axis], line)


def pieces(cut_: Cut, row_shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield each chunk's coordinates and the bytes of the stream that belong to it, without end."""
    count = cut_.chunk[cut_.axis]
    rest = (0,) * (len(row_shape) - cut_.axis)
    if cut_.line is None:
        for index in itertools.count():
            yield (index, *rest), count * cut_.unit_bytes
    line = cut_.line or 0
    inner = [range(max(1, length)) for length in row_shape[: cut_.axis - 1]]
    for row in itertools.count():
        for outer in itertools.product(*inner):
            for index, start in enumerate(range(0, line, count)):
                yield (row, *outer, index, *rest), min(count, line - start) * cut_.unit_bytes


def final_layout(dtype: str, shape: tuple[int, ...], cut_: Cut, codec: str) -> Layout:
    """Return the layout of an array whose length is known."""
    chunk, shard = list(cut_.chunk), list(cut_.shard)
    # What fits into one chunk, or one shard, is not padded to the full size of one.
    if cut_.axis == 0 and shape[0] < chunk[0]:
        chunk[0] = max(1, shape[0])
    shard[0] = min(shard[0], max(1, -(-shape[0] // chunk[0])) * chunk[0])
    return Layout(dtype, shape, tuple(chunk), tuple(shard), codec)


def array_metadata(layout: Layout) -> bytes:
    """Write the `zarr.json` of an array."""
    fill: Any = False if layout.dtype == "bool" else 0.0 if layout.dtype.startswith("float") else 0
    sharding = {
        "chunk_shape": list(layout.chunk),
        "codecs": [_LITTLE, *_CODECS[layout.codec]],
        "index_codecs": [_LITTLE, {"name": "crc32c"}],
        "index_location": "end",
    }
    body = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(layout.shape),
        "data_type": layout.dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(layout.shard)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "attributes": {},
        "storage_transformers": [],
    }
    return json.dumps(body, indent=1).encode()


def read_layout(text: bytes) -> Layout:
    """Read the `zarr.json` of an array that `array_metadata` wrote; raises ValueError for any other."""
    body = json.loads(text)
    try:
        sharding = body["codecs"][0]["configuration"]
        layout = Layout(
            dtype=body["data_type"],
            shape=tuple(body["shape"]),
            chunk=tuple(sharding["chunk_shape"]),
            shard=tuple(body["chunk_grid"]["configuration"]["chunk_shape"]),
            codec=next(name for name, codecs in _CODECS.items() if codecs == sharding["codecs"][1:]),
        )
    except (KeyError, IndexError, TypeError, StopIteration) as error:
        raise ValueError(f"its metadata are not of a gravel array ({error!r})") from error
    if layout.dtype not in DTYPES or json.loads(array_metadata(layout)) != body:
        raise ValueError("its metadata are not of a gravel array")
    return layout
