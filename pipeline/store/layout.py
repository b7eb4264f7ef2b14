"""How an artifact lies on the disk: a Zarr group, whose attributes are its plain fields, and its arrays.

An array is one shard of Zarr's sharding codec. Its file begins with the array's bytes in C order,
little-endian, as they are in memory: whoever knows dtype and shape maps it from the first byte on. Zeros fill
the last inner chunk up, and the shard's index follows, which Zarr reads and gravel does not. Inner chunks are
about 1 MiB of whole rows along axis 0, or one row where a row is larger. All of that follows from dtype and
shape.

Digests of the pieces of an array of more than one piece lie beside it, in `leaves`
(`gravel.pipeline.store.identity`). An array without elements has no file.

Imports neither NumPy nor Zarr, since records and attributes are read when a cached run is planned.
"""

from __future__ import annotations

import json
import math
import struct
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from gravel.stages.artifact import Array, ArrayGroup, Artifact

METADATA = "zarr.json"

LEAVES = "leaves"
"""The file of the digests of an array's pieces."""

LEAF_BYTES = 1 << 20
"""Bytes of a piece that has a digest of its own, of so many bytes:"""
DIGEST_BYTES = 32

ITEMSIZE = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}
"""Bytes of an element of each dtype that can be stored."""

MAX_AXES = 32

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
    def chunk_bytes(self) -> int:
        """Bytes of an inner chunk."""
        return ITEMSIZE[self.dtype] * math.prod(self.chunk)

    @property
    def chunk_count(self) -> int:
        """Inner chunks, the last of which may be filled up."""
        return max(1, -(-self.shape[0] // self.chunk[0]))

    @property
    def tail_bytes(self) -> int:
        """Bytes of the file behind the array: what fills its last chunk up, and the index."""
        return self.chunk_count * (self.chunk_bytes + _ENTRY.size) - self.nbytes

    def tail(self) -> bytes:
        """Return what follows the array in its file."""
        size = self.chunk_bytes
        index = b"".join(_ENTRY.pack(number * size, size) for number in range(self.chunk_count))
        return bytes(self.chunk_count * size - self.nbytes) + index

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


def group_metadata(attributes: dict[str, Any]) -> bytes:
    """Write the `zarr.json` of a group."""
    body = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    return json.dumps(body, indent=1, allow_nan=False).encode()


def attributes_in(data: bytes) -> dict[str, Any]:
    """Return the attributes that a group's metadata hold; raises ValueError, KeyError or TypeError."""
    attributes = json.loads(data)["attributes"]
    return {name: value for name, value in attributes.items() if name != "gravel"}


ARRAY, GROUP, ATTRIBUTE = "array", "group", "attribute"


@cache
def fields_of(kind: str) -> dict[str, str]:
    """Map each field of an artifact kind to `array`, `group` or `attribute`; raises KeyError."""
    hints = typing.get_type_hints(Artifact.kinds[kind])
    hints = {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not typing.ClassVar}
    return {name: _role(hint) for name, hint in hints.items()}


def _role(hint: Any) -> str:
    if hint == ArrayGroup:
        return GROUP
    return ARRAY if hint is Array or Array in typing.get_args(hint) else ATTRIBUTE


def split(artifact: Artifact) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return an artifact's arrays by path and its other fields as plain data.

    Raises TypeError or ValueError for fields that cannot be stored.
    """
    arrays: dict[str, Array] = {}
    attributes: dict[str, Any] = {}
    kind = type(artifact).__name__
    for name, role in fields_of(kind).items():
        value = getattr(artifact, name)
        if role == ATTRIBUTE:
            if name not in artifact.implied or value != artifact.implied[name]:
                attributes[name] = _plain(value, f"{kind}.{name}")
        elif role == GROUP and value is not None:
            for path, array in value.items():
                _check_name(path)
                arrays[f"{name}/{path}"] = array
        elif value is not None:
            arrays[name] = value
    return arrays, attributes


def _check_name(path: str) -> None:
    for part in path.split("/"):
        if part in ("", ".", "..", METADATA) or part.startswith("__") or "\\" in part:
            raise ValueError(f"an array cannot be named {path!r}")


def _plain(value: Any, where: str) -> Any:
    """Return a value as JSON holds it: NumPy scalars as numbers, tuples as lists.

    Raises TypeError for what JSON cannot hold and ValueError for NaN and infinities.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, and attributes are JSON, which has no such number")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise TypeError(f"{where} has the key {key!r}, and keys of attributes are strings")
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _plain(value.item(), where)
    raise TypeError(f"{where} is a {type(value).__qualname__}, and attributes are plain data")
