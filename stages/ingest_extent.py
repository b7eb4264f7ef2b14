"""Needs and results of ingest: by a generator's parameters, a file's header, or its size."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from gravel.stages.errors import StageError
from gravel.stages.ingest_memory import FileSize, reading_bytes
from gravel.stages.ingest_parameters import LEAST_MEMORY
from gravel.stages.many_files import EXPANSION, text_size
from gravel.stages.sizes import publishing_bytes
from gravel.stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.parsing.head import Head

BYTES_PER_BYTE = 24
"""Memory for a byte of a small file: of a line of 4 bytes, two ids of one letter and 40 bytes each in a set,
their ranks, and codes that wait."""

ON_CPU = "ids are texts, which the CPU reads"
"""What `plan` says where a GPU might."""


def has_texts(parameters: IngestParameters, reader: str, head: Head, location: str) -> bool:
    """Return whether ids will be read as texts, as far as the file's first bytes tell; raises nothing."""
    if parameters.ids == "integer":
        return False
    try:
        if reader == "edge_list":
            from gravel.stages.readers.edge_list import head_layout

            layout = head_layout(head, parameters.asked)
            # Other columns than plain ones are read as texts, whatever ids are.
            return layout.texts or not layout.fast
        if reader in ("arrow", "parquet"):
            from gravel.stages.parsing.arrow_tables import find, has_text_ids
            from gravel.stages.streams.opening import local_path

            schema = import_module(f"gravel.stages.readers.{reader}").schema_of(local_path(location))
            found = find(schema, parameters.asked_columns, parameters.weights, {})
            return has_text_ids(schema, found, parameters.ids, {})
        if reader == "numpy":
            return parameters.ids == "text" or b"'<U" in head.data[:512] or b"'|S" in head.data[:512]
    except Exception:  # the run itself says what is wrong with the file
        return False
    return False


def texts_bytes(text_bytes: int, memory: int) -> int:
    """State what reading takes beside code: all of `memory` where the size is not known."""
    return min(memory, BYTES_PER_BYTE * text_bytes + (16 << 20)) if text_bytes else memory


BASE = 112 << 20
"""Bytes beside the budget: kernels, their compiler, pyarrow, and what is written; measured 50-100 MiB."""

COMPILED_GENERATORS = 56 << 20
"""Measured: what Numba takes to compile a generator, and to be there at all."""

HELPER_BYTES = 36 << 20
"""Measured: what each other process takes that makes parts, for its kernels and their compiler."""

MAX_MAKERS = 8
"""Processes of one machine that make parts: one for each core, and few where cores are many."""


def working_memory(parameters: IngestParameters, machine: Machine) -> int:
    """Return the bytes to work in: the parameter, or what a smaller machine leaves of it."""
    return max(LEAST_MEMORY, min(int(parameters.memory), machine.host_memory - _base(parameters, machine)))


def _base(parameters: IngestParameters, machine: Machine) -> int:
    """Return the bytes beside those to work in; `BASE` has room for two processes that make parts."""
    makers = min(machine.threads, MAX_MAKERS) if parameters.source is not None else 1
    return BASE + HELPER_BYTES * max(0, makers - 2)


def estimate(
    parameters: IngestParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the need; a file that cannot be read is left for the run to complain about."""
    memory = working_memory(parameters, machine)
    if parameters.source is not None:
        from gravel.kernels.generate import size
        from gravel.stages.generators import fits_device, part_edges, table_device_bytes

        vertices, edges = size(parameters.source.name, **parameters.source.arguments())
        width = 4 if vertices < 1 << 32 else 8
        list_extent = Extent(kind="EdgeList", vertices=vertices, arcs=edges, bytes=2 * width * edges)
        ids = Extent(kind="VertexIds", vertices=vertices)
        # For each thread a part, and one that waits or is written.
        part = part_edges(memory, machine.threads)
        working = min(memory, 2 * width * min(edges, 2 * machine.threads * part))
        working += publishing_bytes(2 * width * edges)
        base = COMPILED_GENERATORS + HELPER_BYTES * (min(machine.threads, MAX_MAKERS) - 1)
        # Edges are made on a GPU where they stay there, and are counted as what stays.
        on_device = table_device_bytes(parameters.source) if fits_device(parameters.source, machine) else 0
        return Need(host_bytes=base + working, device_bytes=on_device, outputs=(list_extent, ids))
    files = parameters.files or (str(parameters.file),)
    largest = max(files, key=text_size)
    found = _of_all(_file_size(parameters, largest, machine), largest, files)
    vertices, edges = found.vertices, found.edges
    text_bytes = found.text_bytes
    width = 4 if vertices < 1 << 32 else 8
    outputs = (
        Extent(kind="EdgeList", vertices=vertices, arcs=edges, bytes=(2 * width + 8) * edges),
        Extent(kind="VertexIds", vertices=vertices, bytes=8 * vertices + (text_bytes if found.texts else 0)),
    )
    host = BASE + memory
    if found.texts:
        note = ON_CPU if machine.backend == "cuda" else ""
        return Need(BASE + found.inflating + texts_bytes(text_bytes, memory), 0, outputs, note=note)
    if text_bytes and found.device_bytes:
        # A line of 4 bytes becomes two ids of 8 bytes, and 8 in the spool.
        host = BASE + min(memory, 7 * text_bytes + (16 << 20))
    elif text_bytes:
        host = min(host, reading_bytes(found, memory, machine.threads))
    return Need(host_bytes=host + found.inflating, device_bytes=found.device_bytes, outputs=outputs)


def _of_all(found: FileSize, largest: str, files: tuple[str, ...]) -> FileSize:
    """Let the largest of many files stand for all."""
    share = max(1.0, sum(map(text_size, files)) / max(1, text_size(largest)))
    vertices, edges, text_bytes = (int(share * each) for each in found[:3])
    return found._replace(vertices=vertices, edges=edges, text_bytes=text_bytes)


def _file_size(parameters: IngestParameters, location: str, machine: Machine) -> FileSize:
    from gravel.stages.detection import BINARY, choose_reader
    from gravel.stages.ingest_device import device_need
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.streams import file_size, open_stream
    from gravel.stages.streams.compression import inflating_bytes

    size = file_size(location)
    stored = size or 0
    try:
        with open_stream(location, piece=HEAD_BYTES) as stream:
            data = stream.peek(HEAD_BYTES)
            head = Head(data, whole=len(data) < HEAD_BYTES)
            reader = choose_reader(
                stream.name, head, location, parameters.format, as_list=parameters.asked.as_list
            ).reader
            compression = stream.compression
        counts = reader.counts(head, location)
    except StageError:
        return FileSize()
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
    return FileSize(
        vertices,
        edges,
        text_bytes,
        on_device,
        largest=counts.largest if counts and counts.largest is not None else _largest(reader.name, head),
        states_vertices=counts is not None and counts.vertices is not None,
        weighted=parameters.weights and _is_weighted(reader.name, head),
        reader=reader.name,
        texts=has_texts(parameters, reader.name, head, location),
        inflating=inflating_bytes(compression, machine.threads, text_bytes),
    )


def _fields(head: Head) -> list[list[bytes]]:
    return [line.replace(b",", b" ").split() for line in head.content(b"#%c")]


def _largest(reader: str, head: Head) -> int | None:
    """Return the largest whole number in the head of a text."""
    from gravel.stages.detection import BINARY

    if reader in BINARY:
        return None
    return max((int(field) for line in _fields(head) for field in line if field.isdigit()), default=0)


def _is_weighted(reader: str, head: Head) -> bool:
    """Say whether edges may have weights: more than two columns, or arrays of which the head says nothing."""
    return any(len(line) > 2 for line in _fields(head)) if reader == "edge_list" else reader != "numpy"


def _edges_by_size(head: Head, text_bytes: int) -> int:
    """Bound the edges by the size: lines are rarely much shorter than the file's first ones."""
    content = head.content(b"#%")
    if not content:
        return text_bytes // 4
    if head.whole:
        return max(len(content), sum(len(line.split()) for line in content))
    mean = sum(map(len, content)) / len(content) + 1
    return int(1.25 * text_bytes / mean)
