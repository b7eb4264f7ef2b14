"""The leaves of an array's digest, from shards that come in any order and on many threads."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from blake3 import blake3

from gravel.pipeline.store.codecs import CHECKSUM_BYTES, INDEX_ENTRY, MISSING, decode, decode_index
from gravel.pipeline.store.content import LEAF_BYTES
from gravel.pipeline.store.layout import Layout
from gravel.pipeline.store.record_types import MAX_SHARD_BYTES

MAX_CHUNK_BYTES = 64 << 20
MAX_CHUNKS = 1 << 20
"""Of a shard that came from elsewhere; gravel writes chunks of 1 MiB, and 64 of them to a shard."""


@dataclass(frozen=True)
class ShardLeaves:
    """What a shard gives to the digest: whole leaves, and the bytes before the first and after the last."""

    start: int  # of the shard in the array's stream of bytes
    size: int
    head: bytes
    leaves: bytes  # digests, in order
    tail: bytes


class Root:
    """The root of one array, from its shards."""

    def __init__(self, layout: Layout) -> None:
        self._total = layout.itemsize * math.prod(layout.shape)
        self._root = blake3()
        self._at = 0
        self._partial = b""
        self._waiting: dict[int, ShardLeaves] = {}
        self._lock = threading.Lock()

    def add(self, shard: ShardLeaves) -> None:
        """Take a shard; those that come too early are kept until the ones before them are there."""
        with self._lock:
            self._waiting[shard.start] = shard
            while (following := self._waiting.pop(self._at, None)) is not None:
                self._take(following)

    def _take(self, shard: ShardLeaves) -> None:
        self._at += shard.size
        self._partial += shard.head
        if len(self._partial) == LEAF_BYTES:
            self._root.update(blake3(self._partial).digest())
            self._partial = b""
        self._root.update(shard.leaves)
        self._partial += shard.tail

    def finish(self) -> str:
        """Return the root; raises ValueError if shards are missing."""
        if self._at != self._total:
            raise ValueError(f"only {self._at:,} of its {self._total:,} bytes are there")
        if self._partial:
            self._root.update(blake3(self._partial).digest())
            self._partial = b""
        return self._root.hexdigest()


def check_layout(layout: Layout) -> None:
    """Raise ValueError unless chunks follow each other in the stream, as those that gravel writes do."""
    padded = [
        -(-max(1, length) // size) * size for length, size in zip(layout.shape, layout.chunk, strict=True)
    ]
    sane = (
        min(*layout.shape, *layout.chunk, *layout.shard, 1) >= 0
        and min(*layout.chunk, *layout.shard) >= 1
        and layout.chunk_bytes <= MAX_CHUNK_BYTES
        and math.prod(layout.per_shard) <= MAX_CHUNKS
        and layout.itemsize * math.prod(layout.shard) <= MAX_SHARD_BYTES
        and all(shard % chunk == 0 for shard, chunk in zip(layout.shard, layout.chunk, strict=True))
        and _is_consecutive(layout.chunk, layout.shape)
        and _is_consecutive(layout.shard, padded)
    )
    if not sane:
        raise ValueError("its chunks are not laid out as gravel does")


def _is_consecutive(piece: tuple[int, ...], whole: tuple[int, ...] | list[int]) -> bool:
    """Say whether a piece takes everything along the last axes and one unit along the first."""
    partial = [axis for axis, length in enumerate(whole) if piece[axis] < length]
    return all(piece[axis] == 1 for axis in range(partial[-1])) if partial else True


def shard_count(layout: Layout) -> int:
    """Return how many shards an array has."""
    return math.prod(-(-length // size) for length, size in zip(layout.shape, layout.shard, strict=True))


def shard_paths(layout: Layout) -> Iterator[str]:
    """Name the files of an array's shards."""
    if 0 in layout.shape:
        return
    counts = (-(-length // size) for length, size in zip(layout.shape, layout.shard, strict=True))
    for place in itertools.product(*(range(count) for count in counts)):
        yield "c/" + "/".join(map(str, place))


def shard_leaves(layout: Layout, path: str, stored: bytes) -> ShardLeaves:
    """Decode a shard, one chunk at a time, and digest its leaves; raises ValueError for a damaged one."""
    place = tuple(int(part) for part in path.split("/")[1:])
    count = math.prod(layout.per_shard)
    index = decode_index(stored[-(count * INDEX_ENTRY.size + CHECKSUM_BYTES) :], count, len(stored))
    first = tuple(at * size for at, size in zip(place, layout.shard, strict=True))
    start = 0
    for at, length in zip(first, layout.shape, strict=True):
        start = start * length + at
    start *= layout.itemsize

    missing = -start % LEAF_BYTES  # bytes that end the leaf which an earlier shard began
    head, partial = bytearray(), bytearray()
    leaves: list[bytes] = []
    size = 0
    for number, inside in enumerate(itertools.product(*(range(each) for each in layout.per_shard))):
        chunk_first = [
            at + part * length for at, part, length in zip(first, inside, layout.chunk, strict=True)
        ]
        lengths = [
            min(length, whole - at)
            for at, length, whole in zip(chunk_first, layout.chunk, layout.shape, strict=True)
        ]
        if min(lengths) <= 0:
            continue  # only fills the shard up
        offset, length = index[number]
        if offset == MISSING:
            raise ValueError("a chunk is missing")
        chunk = decode(layout.codec, stored[offset : offset + length], layout.chunk_bytes)
        view = memoryview(chunk)[: layout.itemsize * math.prod(lengths)]
        size += len(view)
        if missing:
            head += view[:missing]
            view, missing = view[missing:], missing - len(view[:missing])
        while view:
            if not partial and len(view) >= LEAF_BYTES:
                leaves.append(blake3(view[:LEAF_BYTES]).digest())
                view = view[LEAF_BYTES:]
                continue
            taken = view[: LEAF_BYTES - len(partial)]
            partial += taken
            view = view[len(taken) :]
            if len(partial) == LEAF_BYTES:
                leaves.append(blake3(partial).digest())
                partial.clear()
    return ShardLeaves(start, size, bytes(head), b"".join(leaves), bytes(partial))
