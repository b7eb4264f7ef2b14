"""Host memory that reading a file of edges takes, phase by phase."""

from __future__ import annotations

from typing import NamedTuple

from gravel.stages.sizes import publishing_bytes

COMPILED, COMPILED_PARQUET = 74 << 20, 112 << 20
"""Measured: what Numba takes to compile what reads and numbers edges, and to be there at all; with pyarrow
besides."""

DENSE = 8
"""Ids lie close together where none is above so many times the edges."""

NARROW = 1 << 32
"""Ids below it are set aside in 32 bits."""

TABLE_BYTES_PER_EDGE = 80
"""Of a GPU while ids from anywhere are sorted: both ends of 8 bytes, a copy, and what sorting them takes."""


class FileSize(NamedTuple):
    """Bounds of a file's vertices and edges, of its bytes decompressed (0: unknown), and of the device's.

    `largest` is the largest id in the head, None where the head does not show ids. `states_vertices` says
    that ids need not be collected, `texts` that they are texts. `inflating` is what decompression takes.
    """

    vertices: int = 0
    edges: int = 0
    text_bytes: int = 0
    device_bytes: int = 0
    largest: int | None = None
    states_vertices: bool = False
    weighted: bool = False
    reader: str = ""
    texts: bool = False
    inflating: int = 0


def block_bytes(memory: int, threads: int) -> int:
    """Return the bytes of text parsed at once; all blocks and edges under way take a quarter of `memory`.

    A block waits, is parsed or is handed on: threads + 2 of them. Its edges take at most 6 times its bytes
    (a line of 4 bytes becomes two ids and a weight), beside the block itself and a copy.
    """
    return max(1 << 16, min(4 << 20, memory // (32 * (threads + 2))))


def reading_bytes(file: FileSize, memory: int, threads: int) -> int:
    """State what reading a file takes on the host, within `memory` beside what is compiled and written."""
    compiled = COMPILED_PARQUET if file.reader in ("arrow", "parquet") else COMPILED
    width = 4 if file.vertices < 1 << 32 else 8
    weight = 8 if file.weighted else 0
    written = [width * file.edges, width * file.edges, weight * file.edges]
    block = min(block_bytes(memory, threads), max(1, file.text_bytes))
    edges_at_once = file.edges * block // max(1, file.text_bytes)
    # Of each thread's block: ids as they are parsed; what is made of them waits for its turn.
    parsing = (threads + 3) * block + threads * (16 + weight) * edges_at_once
    if file.states_vertices:
        waiting = (threads + 1) * (2 * width + weight) * edges_at_once
        return compiled + min(memory, parsing + waiting) + publishing_bytes(*written)
    spooled = (16 if _reach(file) >= NARROW else 8) + weight
    kept = min(memory // 4, spooled * file.edges) + id_bytes(file, memory // 4)
    numbering = (threads + 1) * 2 * width * edges_at_once + publishing_bytes(*written, 8 * file.vertices)
    parsing += (threads + 1) * spooled * edges_at_once
    return compiled + min(memory, kept + parsing if parsing > numbering else kept + numbering)


def id_bytes(file: FileSize, memory: int) -> int:
    """Bound the set of ids (`gravel.stages.vertex_ids.ids`): a bitmap with its counts, and ids outside it."""
    bitmap = memory // 2 + memory // 16
    if file.largest is not None and file.largest <= DENSE * file.edges:
        return min(bitmap, 9 * _reach(file) // 64)
    # A page of the bitmap for each id at worst; outside it, ids that are sorted and joined, and their table.
    sparse = min(memory // 3, 24 * 2 * file.edges) + min(memory // 3, 8 * file.vertices)
    return min(bitmap, 4096 * 2 * file.edges) + sparse


def _reach(file: FileSize) -> int:
    """Bound the ids, as far as the head tells."""
    return max(file.largest or 0, DENSE * file.edges) if file.largest is not None else 1 << 63
