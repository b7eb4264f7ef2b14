"""What ingest needs and what comes out of it: by a generator's parameters, a file's header, or its size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gravel.stages.errors import StageError
from gravel.stages.ingest_texts import ON_CPU, has_texts, reading_bytes
from gravel.stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from gravel.stages.ingest import IngestParameters
    from gravel.stages.parsing.head import Head

BASE = 112 << 20
"""Bytes beside the budget: kernels, their compiler, the store's writer, pyarrow; measured 50-100 MiB."""

HELPER_BYTES = 36 << 20
"""Measured: what each other process takes that makes parts, for its kernels and their compiler."""

MOST_MAKERS = 8
"""Processes of one machine that make parts: one for each core, and few where cores are many."""

LEAST_MEMORY = 16 << 20
"""Bytes to work in below which the parts are too small to be worth their overhead."""

EXPANSION = {"gz": 8, "bz2": 10, "xz": 12, "zst": 10}
"""How many bytes of text one stored byte becomes at most in files of edges, as a rule."""


def working_memory(parameters: IngestParameters, machine: Machine) -> int:
    """Return the bytes to work in: the parameter, or what a smaller machine leaves of it."""
    return max(LEAST_MEMORY, min(int(parameters.memory), machine.host_memory - _base(parameters, machine)))


def _base(parameters: IngestParameters, machine: Machine) -> int:
    """Return the bytes beside those to work in; `BASE` has room for two processes that make parts."""
    makers = min(machine.threads, MOST_MAKERS) if parameters.source is not None else 1
    return BASE + HELPER_BYTES * max(0, makers - 2)


def estimate(
    parameters: IngestParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the need; a file that cannot be read is left for the run to complain about."""
    memory = working_memory(parameters, machine)
    if parameters.source is not None:
        from gravel.kernels.generate import size
        from gravel.stages.generators import fits_device, generated_device_bytes, part_edges

        vertices, edges = size(parameters.source.name, **parameters.source.arguments())
        width = 4 if vertices < 1 << 32 else 8
        list_extent = Extent(kind="EdgeList", vertices=vertices, arcs=edges, bytes=2 * width * edges)
        ids = Extent(kind="VertexIds", vertices=vertices)
        # A part for each thread, one that waits and one that is written.
        part = min(part_edges(memory, machine.threads), edges)
        working = min(memory, 2 * width * part * (machine.threads + 2))
        base = _base(parameters, machine)
        on_device = (
            generated_device_bytes(parameters.source) if fits_device(parameters.source, machine) else 0
        )
        return Need(host_bytes=base + working, device_bytes=on_device, outputs=(list_extent, ids))
    assert parameters.file is not None
    vertices, edges, text_bytes, on_device, texts = _file_extent(parameters, parameters.file, machine)
    width = 4 if vertices < 1 << 32 else 8
    outputs = (
        Extent(kind="EdgeList", vertices=vertices, arcs=edges, bytes=(2 * width + 8) * edges),
        Extent(kind="VertexIds", vertices=vertices, bytes=8 * vertices + (text_bytes if texts else 0)),
    )
    if texts:
        note = ON_CPU if machine.backend == "cuda" else ""
        host = BASE + reading_bytes(text_bytes, memory)
        return Need(host_bytes=host, device_bytes=0, outputs=outputs, note=note)
    # A small file fills little of it: a line of 4 bytes becomes two ids of 8 bytes, and 8 in the spool.
    working = min(memory, 7 * text_bytes + (16 << 20)) if text_bytes else memory
    return Need(host_bytes=BASE + working, device_bytes=on_device, outputs=outputs)


class _FileExtent(NamedTuple):
    """Bounds of vertices and edges, of the decompressed bytes (0 where unknown), and of the device's.

    `texts` says that ids are texts.
    """

    vertices: int = 0
    edges: int = 0
    text_bytes: int = 0
    device_bytes: int = 0
    texts: bool = False


def _file_extent(parameters: IngestParameters, location: str, machine: Machine) -> _FileExtent:
    from gravel.stages.detection import BINARY, choose_reader
    from gravel.stages.ingest_device import device_need
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.streams import file_size, open_stream

    size = file_size(location)
    stored = size or 0
    try:
        with open_stream(location, piece=HEAD_BYTES) as stream:
            data = stream.peek(HEAD_BYTES)
            head = Head(data, whole=len(data) < HEAD_BYTES)
            reader = choose_reader(stream.name, head, location, parameters.format).reader
            compression = stream.compression
        counts = reader.counts(head, location)
    except StageError:
        return _FileExtent()
    text_bytes = len(data) if head.whole else stored * EXPANSION.get(compression or "", 1)
    edges = counts.edges if counts and counts.edges is not None else _edges_by_size(head, text_bytes)
    if reader.name not in BINARY and (head.whole or compression is None):
        # Two bytes an arc at least: a header that states more is wrong, and reading it says so best.
        edges = min(edges, text_bytes // 2)
    vertices = counts.vertices if counts and counts.vertices is not None else edges + 1
    on_device = device_need(
        machine,
        reader,
        head,
        stored=size,
        memory=working_memory(parameters, machine),
        edges=edges,
        weights=parameters.weights,
    )
    texts = has_texts(parameters, reader.name, head, location)
    return _FileExtent(vertices, edges, text_bytes, on_device, texts)


def _edges_by_size(head: Head, text_bytes: int) -> int:
    """Bound the edges by the size: lines are rarely much shorter than the file's first ones."""
    content = head.content(b"#%")
    if not content:
        return text_bytes // 4
    if head.whole:
        return max(len(content), sum(len(line.split()) for line in content))
    mean = sum(map(len, content)) / len(content) + 1
    return int(1.25 * text_bytes / mean)
