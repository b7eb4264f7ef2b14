"""The id of an artifact that is in memory, before anything of it is written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy
from blake3 import blake3

from gravel.pipeline.store.content import LEAF_BYTES, ArrayContent, LeafDigest, artifact_id
from gravel.pipeline.store.fields import split
from gravel.pipeline.store.layout import DTYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifact import Array, Artifact

PIECE_BYTES = 16 << 20
"""Bytes that a thread digests at a time: 16 leaves, about 4 ms."""

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


def content_of(array: Array, pool: Executor, threads: int) -> ArrayContent:
    """Return what of an array goes into an id; raises TypeError for one that cannot be stored."""
    dtype = numpy.dtype(array.dtype).newbyteorder("<")
    if dtype.name not in DTYPES:
        raise TypeError(f"an array of {dtype} cannot be stored; bool, integers and floats can")
    shape = tuple(int(length) for length in array.shape)
    if isinstance(array, numpy.ndarray):
        view = numpy.ascontiguousarray(array, dtype=dtype).reshape(-1).view(numpy.uint8)
        return ArrayContent(dtype.name, shape, _root(view, pool, threads))
    digest = LeafDigest()
    for rows in _row_blocks(array, dtype.itemsize):
        digest.update(numpy.ascontiguousarray(rows, dtype=dtype).reshape(-1).view(numpy.uint8).data)
    return ArrayContent(dtype.name, shape, digest.finish())


def _root(view: NDArray[Any], pool: Executor, threads: int) -> str:
    starts = range(0, len(view), PIECE_BYTES)
    several = threads > 1 and len(view) >= THREADS_FROM
    pieces = (pool.map if several else map)(lambda start: _leaves(view[start : start + PIECE_BYTES]), starts)
    root = blake3()
    for leaves in pieces:
        root.update(leaves)
    return root.hexdigest()


def _leaves(piece: NDArray[Any]) -> bytes:
    data = piece.data
    return b"".join(
        blake3(data[start : start + LEAF_BYTES]).digest() for start in range(0, len(data), LEAF_BYTES)
    )


def _row_blocks(array: Array, itemsize: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array that is not in host memory, some MiB at a time."""
    row_bytes = max(1, itemsize * math.prod(array.shape[1:]))
    step = max(1, PIECE_BYTES // row_bytes)
    for start in range(0, len(array), step):
        rows: Any = array[start : start + step]
        yield rows.get() if hasattr(rows, "get") else rows
