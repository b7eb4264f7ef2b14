"""The id of an artifact: a Merkle digest of what it says, whatever way it is stored.

An array's leaves are the BLAKE3 digests of each MiB of its logical bytes (C order, little-endian; the last
leaf may be shorter). Its root is the BLAKE3 of the leaves in order. An artifact's id is the typed digest of
its kind, its attributes and, for each array by name, the dtype, the shape and the root. So it does not depend
on files, nor on when, where and in which pieces the arrays were written.

What is stored under an id has to be what the id says, whatever its record claims besides. Whoever writes
another's data under an id and seals a fitting record is found out: the id is made again from the attributes
and the roots of the arrays, and the arrays are checked against their roots when they are read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from gravel.pipeline.core.hashing import digest
from gravel.pipeline.store.layout import ITEMSIZE, LEAF_BYTES, split
from gravel.stages.sizes import Extent

if TYPE_CHECKING:
    import numpy
    from numpy.typing import DTypeLike

    from gravel.pipeline.store.records import ArtifactRecord
    from gravel.stages.artifact import Array, Artifact

CONTENT_FORMAT = 1

BLOCK_BYTES = 16 << 20
"""Bytes that a thread digests or writes at a time: 16 leaves, about 4 ms."""

THREADS_FROM = 4 << 20
"""Bytes from which threads pay for being started."""


class WrongContent(ValueError):
    """Files that are whole, and not those of the artifact whose record names them."""


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


def identify(artifact: Artifact, threads: int | None = None) -> str:
    """Return the id of an artifact in memory, of which nothing need have been written.

    Raises TypeError or ValueError for fields that cannot be stored.
    """
    arrays, attributes = split(artifact)
    threads = min(threads or os.cpu_count() or 1, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads, "gravel-identify") as pool:
        contents = {name: content_of(array, pool) for name, array in arrays.items()}
    return artifact_id(type(artifact).__name__, attributes, contents)


def stored_dtype(dtype: DTypeLike) -> numpy.dtype[Any]:
    """Return a dtype as it is stored, little-endian; raises TypeError for one that cannot be."""
    import numpy

    found = numpy.dtype(dtype).newbyteorder("<")
    if found.name not in ITEMSIZE:
        raise TypeError(f"an array of {found} cannot be stored; bool, integers and floats can")
    return found


def content_of(array: Array, pool: Executor) -> ArrayContent:
    """Return what of an array goes into an id; raises TypeError for one that cannot be stored."""
    dtype = stored_dtype(array.dtype)
    shape = tuple(int(length) for length in array.shape)
    if _lies_as_stored(array):
        several = dtype.itemsize * math.prod(shape) >= THREADS_FROM
        leaves = b"".join((pool.map if several else map)(_leaves_of, byte_blocks(array)))
    else:
        stream = LeafDigest()
        for block in byte_blocks(array):
            stream.update(block)
        leaves = stream.finish()
    return ArrayContent(dtype.name, shape, root_of(leaves))


def _leaves_of(block: memoryview) -> bytes:
    """Return the leaves of bytes that begin where a leaf does."""
    starts = range(0, len(block), LEAF_BYTES)
    return b"".join(blake3(block[start : start + LEAF_BYTES]).digest() for start in starts)


def _lies_as_stored(array: Array) -> bool:
    """Say whether an array's bytes in memory are those that are stored."""
    import numpy

    return (
        isinstance(array, numpy.ndarray)
        and array.flags.c_contiguous
        and array.dtype == stored_dtype(array.dtype)
    )


def byte_blocks(array: Array) -> Iterator[memoryview]:
    """Yield an array's bytes as they are stored, some MiB at a time.

    Of an array that lies so in memory they are its own, cut where leaves begin. One on a GPU or in another
    order is copied, some rows at a time.
    """
    import numpy

    if _lies_as_stored(array):
        own = numpy.asarray(array)
        whole = own.reshape(-1).view(numpy.uint8).data if own.size else memoryview(b"")
        for start in range(0, len(whole), BLOCK_BYTES):
            yield whole[start : start + BLOCK_BYTES]
        return
    dtype = stored_dtype(array.dtype)
    step = max(1, BLOCK_BYTES // max(1, dtype.itemsize * math.prod(array.shape[1:])))
    for start in range(0, len(array), step):
        rows: Any = array[start : start + step]
        rows = rows.get() if hasattr(rows, "get") else rows
        if rows.size:
            yield numpy.ascontiguousarray(rows, dtype=dtype).reshape(-1).view(numpy.uint8).data


def check_id(record: ArtifactRecord, attributes: Mapping[str, Any]) -> None:
    """Raise `WrongContent` unless these attributes, with the record's shapes and roots, make its id.

    Also where the record says that a field is absent which the content has, or another size.
    """
    try:
        arrays = {name: ArrayContent(*shape, record.roots[name]) for name, shape in record.arrays.items()}
        found = artifact_id(record.kind, attributes, arrays)
        size = sum(layout.nbytes for layout in record.layouts.values())
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise WrongContent(f"its content has no id ({error})") from error
    if found != record.id:
        raise WrongContent(f"its content is not what its id says, but that of {found[:12]}")
    if record.bytes != size:
        raise WrongContent(f"its record says {record.bytes:,} bytes, and its arrays have {size:,}")
    for name in record.absent:
        if attributes.get(name) is not None or any(
            f"{array}/".startswith(f"{name}/") for array in record.arrays
        ):
            raise WrongContent(f"its record says that {name} is absent, and it is not")


def with_true_extent(record: ArtifactRecord, attributes: Mapping[str, Any]) -> ArtifactRecord:
    """Return a record whose sizes for estimates are those of the content, whatever it claimed."""
    try:
        extent = extent_of(record.kind, attributes, record.arrays, record.bytes)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise WrongContent(f"its attributes have no size ({error})") from error
    return replace(record, extent=extent)


def extent_of(
    kind: str, attributes: Mapping[str, Any], arrays: Mapping[str, tuple[str, tuple[int, ...]]], size: int
) -> Extent:
    """Say how large an artifact is, in the words of the stages' estimates."""
    arcs = attributes.get("arc_count")
    if arcs is None and "source" in arrays:
        arcs = arrays["source"][1][0]
    searches = next((arrays[name][1][0] for name in ("distance", "predecessor") if name in arrays), 0)
    return Extent(
        kind=kind,
        vertices=attributes.get("vertex_count") or 0,
        arcs=arcs or 0,
        bytes=size,
        searches=searches,
        directed=attributes.get("symmetric") is False,
        normal_arcs=_normal_arcs(attributes, arrays),
        ranks=attributes.get("ranks") or 0,
        striped=attributes.get("scheme") == "striped",
        weighted=attributes.get("algorithm") == "shortest_paths"
        or any(name.rpartition("/")[2] == "weights" for name in arrays),
        direction=attributes.get("direction", "out"),
        strong=attributes.get("algorithm") == "strong_components",
    )


def _normal_arcs(
    attributes: Mapping[str, Any], arrays: Mapping[str, tuple[str, tuple[int, ...]]]
) -> int | None:
    """Count the arcs in a partition's subgraphs nn, stored, compressed or stated; None for anything else."""
    if attributes.get("ranks") is None:
        return None
    if attributes.get("generator") is not None:
        return int((attributes.get("statistics") or {}).get("nn_arcs", 0))
    if attributes.get("subgraphs") is not None:
        return sum(int(record["arcs"]) for record in attributes["subgraphs"] if record["name"] == "nn")
    return sum(shape[0] for name, (_, shape) in arrays.items() if name.endswith("/nn/column_indices"))
