"""Memory and results of ingest: by a generator's parameters, a file's header, or its size."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from gravel.kernels.buffers import Buffer, Table, during, exact, table, total, vertex_type
from gravel.kernels.ids import buffers
from gravel.stages.errors import StageError
from gravel.stages.ingest_parameters import LEAST_MEMORY
from gravel.stages.many_files import EXPANSION, text_size
from gravel.stages.parsing.buffers import SHORTEST_LINE, edges, pieces, texts
from gravel.stages.sizes import PUBLISHING_BYTES, published
from gravel.stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from gravel.stages.generators import GeneratorSource
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.parsing.head import Head
    from gravel.stages.readers import Reader

COMPILED, COMPILED_TABLES, COMPILED_GENERATORS = 74 << 20, 112 << 20, 56 << 20
"""Measured: what Numba takes to compile what reads and numbers edges, and to be there at all; with pyarrow
besides; and the same of a generator."""

HELPER_BYTES = 36 << 20
"""Measured: what each other process takes that makes parts, for its kernels and their compiler."""

MAX_MAKERS = 8
"""Processes of one machine that make parts: one for each core, and few where cores are many."""

DENSE = 8
"""Ids lie close together where none is above so many times the edges."""

NARROW = 1 << 32
"""Ids below it are set aside in 32 bits."""

ON_CPU = "ids are texts, which the CPU reads"
"""What `plan` says where a GPU might."""


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


def reading(file: FileSize, memory: int, threads: int) -> Table:
    """Return the table of reading a file on the host: parts are parsed, then numbered.

    Of each thread's block there are ids as they are parsed; what is made of them waits for its turn.
    """
    block = min(block_bytes(memory, threads), max(1, file.text_bytes))
    at_once = file.edges * block // max(1, file.text_bytes)

    def chunks(count: int, kind: str, *, weighted: bool = file.weighted) -> Table:
        return edges(count * at_once, kind, weights=count * at_once * weighted)

    blocks = pieces(threads, block), *chunks(threads, "i8")
    vertex = vertex_type(file.vertices)
    if file.states_vertices:
        return *blocks, *chunks(threads + 1, vertex)
    kind = "u8" if _reach(file) >= NARROW else "u4"
    spool = exact(edges(file.edges, kind, weights=file.edges * file.weighted))
    kept = *table("host", spool=("u1", min(memory // 4, spool))), *_id_set(file, memory // 4)
    numbered = *chunks(threads + 1, vertex, weighted=False), *published(*_written(file), *_ids(file))
    return *kept, *during((*blocks, *chunks(threads + 1, kind)), "parsed"), *during(numbered, "numbered")


def _written(file: FileSize) -> Table:
    return edges(file.edges, vertex_type(file.vertices), weights=file.edges * file.weighted)


def _ids(file: FileSize) -> Table:
    return table("host", ids=("i8", file.vertices))


def reading_bytes(file: FileSize, memory: int, threads: int) -> int:
    """State what reading a file takes on the host, within `memory` beside what is compiled and written."""
    compiled = COMPILED_TABLES if file.reader in ("arrow", "parquet") else COMPILED
    written = exact(published(*_written(file))) if file.states_vertices else 0
    return compiled + min(memory, total(reading(file, memory, threads), "host")) + written


def _id_set(file: FileSize, memory: int) -> Table:
    """Return the table of the set of ids (`gravel.stages.vertex_ids.ids`): a bitmap, and ids outside it."""
    words = buffers.words_within(memory)
    if file.largest is not None and file.largest <= DENSE * file.edges:
        words = min(words, _reach(file) // 64)
        return buffers.words(words), buffers.counts(words)
    # A page of the bitmap for each id at worst; outside it, ids that are sorted and joined, and their table.
    bitmap = buffers.words(words, min(words, 512 * 2 * file.edges)), buffers.counts(words)
    joined, listed = min(memory // 24, 6 * file.edges), min(memory // 24, file.vertices)
    return *bitmap, buffers.outside(joined), *table("host", listed=("i8", listed))


def _reach(file: FileSize) -> int:
    """Bound the ids, as far as the head tells."""
    return max(file.largest or 0, DENSE * file.edges) if file.largest is not None else 1 << 63


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


def texts_bytes(text_bytes: int, memory: int, threads: int) -> int:
    """State what reading texts takes beside code: all of `memory` where the size is not known.

    Ids are in a set, with 40 bytes each beside their letters; there are their ranks, and codes that wait.
    """
    if not text_bytes:
        return memory
    block = min(block_bytes(memory, threads), text_bytes)
    parsed = pieces(threads, block), *texts(threads * block)
    ids, published = 2 * text_bytes // SHORTEST_LINE, ("u1", PUBLISHING_BYTES)
    rows = table("host", names=("u1", (ids, 40)), ranks=("u4", ids), codes=("u4", ids), published=published)
    return min(memory, total((*parsed, *rows), "host"))


def _parsed_on_device(text_bytes: int, memory: int) -> int:
    """State what the host takes where a GPU parses: text, ids that come back, and those set aside."""
    lines = text_bytes // SHORTEST_LINE
    rest = table(text=("u1", text_bytes), spool=("i8", lines), published=("u1", PUBLISHING_BYTES))
    return min(memory, exact((*edges(lines), *rest)))


def working_memory(parameters: IngestParameters, machine: Machine) -> int:
    """Return the bytes to work in: the parameter, or what a smaller machine leaves of it."""
    room = machine.host_memory - total(_beside(parameters, machine), "host")
    return max(LEAST_MEMORY, min(int(parameters.memory), room))


def _beside(parameters: IngestParameters, machine: Machine) -> Table:
    """Return the table of what there is beside the memory to work in."""
    if parameters.source is None:
        return table("host", Numba=("u1", COMPILED_TABLES))
    helpers = ("u1", (min(machine.threads, MAX_MAKERS) - 1, HELPER_BYTES))
    made = Buffer("made", "u1", _generated(parameters.source).bytes)
    return *table("host", Numba=("u1", COMPILED_GENERATORS), helpers=helpers), *published(made)


def estimate(
    parameters: IngestParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    """State the need; a file that cannot be read is left for the run to complain about."""
    if parameters.source is not None:
        return _generating(parameters, parameters.source, machine)
    memory = working_memory(parameters, machine)
    files = parameters.files or (str(parameters.file),)
    largest = max(files, key=text_size)
    found = _of_all(_file_size(parameters, largest, machine), largest, files)
    beside, text_bytes, made = COMPILED_TABLES, found.text_bytes, _expected(parameters, found)
    ids = exact(_ids(made)) + (text_bytes if found.texts else 0)
    outputs = (
        _edge_list(made.vertices, made.edges, made.edges),
        Extent(kind="VertexIds", vertices=made.vertices, bytes=ids),
    )
    guessed = not (found.states_vertices or (parameters.expect and parameters.expect.vertices is not None))
    if found.texts:
        note = ON_CPU if machine.backend == "cuda" else ""
        host = beside + found.inflating + texts_bytes(text_bytes, memory, machine.threads)
        return Need(host, 0, outputs, note=note, outputs_guessed=guessed)
    host = beside + memory
    if text_bytes and found.device_bytes:
        host = beside + _parsed_on_device(text_bytes, memory)
    elif text_bytes:
        host = min(host, reading_bytes(found, memory, machine.threads))
    return Need(host + found.inflating, found.device_bytes, outputs, outputs_guessed=guessed)


def _expected(parameters: IngestParameters, found: FileSize) -> FileSize:
    """Let expected counts stand for bounds of the result: a graph with others is refused."""
    if parameters.expect is None:
        return found
    counts = parameters.expect.model_dump()
    return found._replace(**{name: count for name, count in counts.items() if count is not None})


def _edge_list(vertices: int, count: int, weights: int = 0) -> Extent:
    columns = edges(count, vertex_type(vertices), weights=weights)
    return Extent(kind="EdgeList", vertices=vertices, arcs=count, bytes=exact(columns))


def _generated(source: GeneratorSource) -> Extent:
    from gravel.kernels.generate import size

    return _edge_list(*size(source.name, **source.arguments()))


def _generating(parameters: IngestParameters, source: GeneratorSource, machine: Machine) -> Need:
    """State parts: for each thread one, and one that waits or is written."""
    from gravel.stages.generators import fits_device, part_edges, table_device_bytes

    memory, made = working_memory(parameters, machine), _generated(source)
    at_once = min(made.arcs, 2 * machine.threads * part_edges(memory, machine.threads))
    parts = min(memory, exact(edges(at_once, vertex_type(made.vertices))))
    host = total((*_beside(parameters, machine), *table("host", parts=("u1", parts))), "host")
    # Edges are made on a GPU where they stay there, and are counted as what stays.
    on_device = table_device_bytes(source) if fits_device(source, machine) else 0
    return Need(host, on_device, (made, Extent(kind="VertexIds", vertices=made.vertices)))


def _of_all(found: FileSize, largest: str, files: tuple[str, ...]) -> FileSize:
    """Let the largest of many files stand for all."""
    share = max(1.0, sum(map(text_size, files)) / max(1, text_size(largest)))
    vertices, edges, text_bytes = (int(share * each) for each in found[:3])
    return found._replace(vertices=vertices, edges=edges, text_bytes=text_bytes)


def _file_size(parameters: IngestParameters, location: str, machine: Machine) -> FileSize:
    from gravel.stages.detection import choose_reader
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
    if not reader.binary and (head.whole or compression is None):
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
        largest=counts.largest if counts and counts.largest is not None else _largest(reader, head),
        states_vertices=counts is not None and counts.vertices is not None,
        weighted=parameters.weights and _is_weighted(reader.name, head),
        reader=reader.name,
        texts=has_texts(parameters, reader.name, head, location),
        inflating=inflating_bytes(compression, machine.threads, text_bytes),
    )


def _fields(head: Head) -> list[list[bytes]]:
    return [line.replace(b",", b" ").split() for line in head.content(b"#%c")]


def _largest(reader: Reader, head: Head) -> int | None:
    """Return the largest whole number in the head of a text."""
    if reader.binary:
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
