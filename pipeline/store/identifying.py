"""The id of an artifact that is in memory, before anything of it is written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy
from blake3 import blake3

from gravel.pipeline.store.content import LEAF_BYTES, ArrayContent, LeafDigest, artifact_id, root_of
from gravel.pipeline.store.fields import split
from gravel.pipeline.store.layout import DTYPES

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.stages.artifact import Array, Artifact

BLOCK_BYTES = 16 << 20
"""Bytes that a thread digests or writes at a time: 16 leaves, about 4 ms."""

THREADS_FROM = 4 << 20
"""Bytes from which threads pay for being started."""


def identify(artifact: Artifact, threads: int | None = None) -> str:
    """Return the id that the store gives to an artifact.

    Raises TypeError or ValueError for fields that cannot be stored.
    """
    arrays, attributes = split(artifact)
    threads = min(threads or os.cpu_count() or 1, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads, "gravel-identify") as pool:
        contents = {name: content_of(array, pool, threads) for name, array in arrays.items()}
    return artifact_id(type(artifact).__name__, attributes, contents)


def stored_dtype(dtype: DTypeLike) -> numpy.dtype[Any]:
    """Return a dtype as it is stored, little-endian; raises TypeError for one that cannot be."""
    found = numpy.dtype(dtype).newbyteorder("<")
    if found.name not in DTYPES:
        raise TypeError(f"an array of {found} cannot be stored; bool, integers and floats can")
    return found


def content_of(array: Array, pool: Executor, threads: int) -> ArrayContent:
    """Return what of an array goes into an id; raises TypeError for one that cannot be stored."""
    dtype = stored_dtype(array.dtype)
    shape = tuple(int(length) for length in array.shape)
    size = dtype.itemsize * math.prod(shape)
    if isinstance(array, numpy.ndarray) and array.flags.c_contiguous and array.dtype == dtype:
        several = threads > 1 and size >= THREADS_FROM
        leaves = b"".join((pool.map if several else map)(leaves_of, byte_blocks(array)))
    else:
        stream = LeafDigest()
        for block in byte_blocks(array):
            stream.update(block)
        leaves = stream.finish()
    return ArrayContent(dtype.name, shape, root_of(leaves))


def leaves_of(block: memoryview) -> bytes:
    """Return the leaves of bytes that begin where a leaf does."""
    return b"".join(
        blake3(block[start : start + LEAF_BYTES]).digest() for start in range(0, len(block), LEAF_BYTES)
    )


def byte_blocks(array: Array) -> Iterator[memoryview]:
    """Yield an array's bytes as they are stored, some MiB at a time.

    Of an array that lies so in memory they are its own, cut where leaves begin. One on a GPU or in another
    order is copied, some rows at a time.
    """
    dtype = stored_dtype(array.dtype)
    if isinstance(array, numpy.ndarray) and array.flags.c_contiguous and array.dtype == dtype:
        whole = array.reshape(-1).view(numpy.uint8).data if array.size else memoryview(b"")
        for start in range(0, len(whole), BLOCK_BYTES):
            yield whole[start : start + BLOCK_BYTES]
        return
    row_bytes = max(1, dtype.itemsize * math.prod(array.shape[1:]))
    step = max(1, BLOCK_BYTES // row_bytes)
    for start in range(0, len(array), step):
        rows: Any = array[start : start + step]
        rows = rows.get() if hasattr(rows, "get") else rows
        if rows.size:
            yield numpy.ascontiguousarray(rows, dtype=dtype).reshape(-1).view(numpy.uint8).data
