"""Memory and results of ingest: by a generator's parameters, a file's header, or its size."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from gravel.kernels.buffers import Buffer, Table, during, exact, table, total, vertex_type
from gravel.stages.errors import StageError
from gravel.stages.ingest_parameters import LEAST_MEMORY
from gravel.stages.many_files import EXPANSION, text_size
from gravel.stages.sizes import PUBLISHING_BYTES, published
from gravel.stages.stage import Extent, Machine, Need

if TYPE_CHECKING:
    from gravel.stages.generators import GeneratorSource
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.parsing.head import Head
    from gravel.stages.readers import Reader

BASE = 112 << 20
"""Bytes beside the budget: kernels, their compiler, pyarrow, and what is written; measured 50-100 MiB."""

COMPILED, COMPILED_PARQUET, COMPILED_GENERATORS = 74 << 20, 112 << 20, 56 << 20
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

LINE = 4
"""Bytes of the shortest line: two ids of one letter."""

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
    vertex = vertex_type(file.vertices)
    block = min(block_bytes(memory, threads), max(1, file.text_bytes))
    at_once = file.edges * block // max(1, file.text_bytes)
    weights = at_once if file.weighted else 0

    def waiting(phase: str, kind: str, waiting_weights: int) -> Table:
        ends = kind, (threads + 1, 2, at_once)
        return table("host", phase, ends_waiting=ends, weights_waiting=("f8", (threads + 1, waiting_weights)))

    ends, each_weight = ("i8", (threads, 2, at_once)), ("f8", (threads, weights))
    blocks = table("host", "parsed", blocks=("u1", (threads + 3, block)), ends=ends, weights=each_weight)
    if file.states_vertices:
        return *blocks, *waiting("parsed", vertex, weights)
    kind = "u8" if _reach(file) >= NARROW else "u4"
    spool = exact(table(ends=(kind, (2, file.edges)), weights=("f8", file.edges if file.weighted else 0)))
    kept = table("host", spool=("u1", min(memory // 4, spool)), **ids(file, memory // 4))
    numbered = *waiting("numbered", vertex, 0), *during(published(*_written(file), *_ids(file)), "numbered")
    return *kept, *blocks, *waiting("parsed", kind, weights), *numbered


def _written(file: FileSize) -> Table:
    vertex = vertex_type(file.vertices)
    weights = "f8", file.edges if file.weighted else 0
    return table("host", source=(vertex, file.edges), target=(vertex, file.edges), weight=weights)


def _ids(file: FileSize) -> Table:
    return table("host", ids=("i8", file.vertices))


def reading_bytes(file: FileSize, memory: int, threads: int) -> int:
    """State what reading a file takes on the host, within `memory` beside what is compiled and written."""
    compiled = COMPILED_PARQUET if file.reader in ("arrow", "parquet") else COMPILED
    written = exact(published(*_written(file))) if file.states_vertices else 0
    return compiled + min(memory, total(reading(file, memory, threads), "host")) + written


def ids(file: FileSize, memory: int) -> dict[str, tuple[str, int]]:
    """Bound the set of ids (`gravel.stages.vertex_ids.ids`): a bitmap with its counts, and ids outside it."""
    bitmap = memory // 2 + memory // 16
    if file.largest is not None and file.largest <= DENSE * file.edges:
        return {"bitmap": ("u1", min(bitmap, 9 * _reach(file) // 64))}
    # A page of the bitmap for each id at worst; outside it, ids that are sorted and joined, and their table.
    joined, listed = (exact(table(ids=("i8", each))) for each in ((3, 2 * file.edges), file.vertices))
    outside = {"joined": ("u1", min(memory // 3, joined)), "listed": ("u1", min(memory // 3, listed))}
    return {"bitmap": ("u1", min(bitmap, 4096 * 2 * file.edges)), **outside}


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


def texts_bytes(text_bytes: int, memory: int) -> int:
    """State what reading texts takes beside code: all of `memory` where the size is not known.

    Ids are in a set, with 40 bytes each beside their letters; there are their ranks, and codes that wait.
    """
    ids, published = 2 * text_bytes // LINE, ("u1", PUBLISHING_BYTES)
    rows = table("host", names=("u1", (ids, 40)), ranks=("u4", ids), codes=("u4", ids), published=published)
    return min(memory, total(rows, "host")) if text_bytes else memory


def _parsed_on_device(text_bytes: int, memory: int) -> int:
    """State what the host takes where a GPU parses: text, ids that come back, and those set aside."""
    lines, published = text_bytes // LINE, ("u1", PUBLISHING_BYTES)
    ends, text = ("i8", (2, lines)), ("u1", text_bytes)
    return min(memory, exact(table(text=text, ends=ends, spool=("i8", lines), published=published)))


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
        return _generating(parameters.source, memory, machine)
    files = parameters.files or (str(parameters.file),)
    largest = max(files, key=text_size)
    found = _of_all(_file_size(parameters, largest, machine), largest, files)
    text_bytes, ids = found.text_bytes, _ids(found)
    outputs = (
        _edge_list(found.vertices, found.edges, weight="f8"),
        Extent(
            kind="VertexIds", vertices=found.vertices, bytes=exact(ids) + (text_bytes if found.texts else 0)
        ),
    )
    if found.texts:
        note = ON_CPU if machine.backend == "cuda" else ""
        return Need(BASE + found.inflating + texts_bytes(text_bytes, memory), 0, outputs, note=note)
    host = BASE + memory
    if text_bytes and found.device_bytes:
        host = BASE + _parsed_on_device(text_bytes, memory)
    elif text_bytes:
        host = min(host, reading_bytes(found, memory, machine.threads))
    return Need(host_bytes=host + found.inflating, device_bytes=found.device_bytes, outputs=outputs)


def _edge_list(vertices: int, edges: int, **weight: str) -> Extent:
    ends = vertex_type(vertices), (2, edges)
    columns = table(ends=ends, **{name: (kind, edges) for name, kind in weight.items()})
    return Extent(kind="EdgeList", vertices=vertices, arcs=edges, bytes=exact(columns))


def _generating(source: GeneratorSource, memory: int, machine: Machine) -> Need:
    """State parts: for each thread one, and one that waits or is written."""
    from gravel.kernels.generate import size
    from gravel.stages.generators import fits_device, part_edges, table_device_bytes

    vertices, edges = size(source.name, **source.arguments())
    made = _edge_list(vertices, edges)
    at_once = min(edges, 2 * machine.threads * part_edges(memory, machine.threads))
    parts = min(memory, exact(table(ends=(vertex_type(vertices), (2, at_once)))))
    helpers = HELPER_BYTES * (min(machine.threads, MAX_MAKERS) - 1)
    rows = table("host", Numba=("u1", COMPILED_GENERATORS), parts=("u1", parts), helpers=("u1", helpers))
    host = total((*rows, *published(Buffer("edges", "u1", made.bytes))), "host")
    # Edges are made on a GPU where they stay there, and are counted as what stays.
    on_device = table_device_bytes(source) if fits_device(source, machine) else 0
    return Need(host, on_device, (made, Extent(kind="VertexIds", vertices=vertices)))


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
