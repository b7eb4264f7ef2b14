"""ingest: a file, a URL or a generator becomes an edge list by internal index, and a table of the file's ids.

An internal index is the rank of the file's id, ascending. Where a format states its vertices, an index is
one subtraction away and edges pass straight through. Else they are spooled until all ids are known. Text is
parsed by all cores or by a GPU (`ingest_device`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.generators import GeneratorSource, fits_device, generated_parts
from gravel.stages.ingest_memory import block_bytes, estimate, working_memory
from gravel.stages.ingest_parameters import Expected, IngestParameters
from gravel.stages.many_files import NO_VALUE, are_kept, path_columns, read_many
from gravel.stages.stage import FileInput, Stage, no_parts
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gravel.stages.context import Context
    from gravel.stages.readers import Chunk, Header, Reader, Reading
    from gravel.stages.streams import ByteStream


def ingest(context: Context, parameters: IngestParameters) -> tuple[EdgeList, VertexIds]:
    """Read or generate the edges; raises StageError for any fault of the input.

    With a GPU, text of 4 MiB or more is parsed there, with the same result. What does not fit the GPU is
    stored on the host, and what it cannot parse is parsed on the CPU. The log says so.
    """
    if parameters.source is not None:
        made = _generate(context, parameters.source, working_memory(parameters, context.machine))
    elif len(parameters.files or ()) > 1:
        memory = working_memory(parameters, context.machine)
        made = read_many(context, parts(parameters), memory, skip=parameters.skip_broken)
    else:
        made = _read_file(context, parameters, parameters.file or parameters.files[0])  # type: ignore[index]
    if parameters.expect is not None:
        check_counts(made[0].vertex_count, len(made[0].source), parameters.expect, parameters.file)
    return made


def read_edges(path: str | Path, **options: Any) -> tuple[EdgeList, VertexIds]:
    """Read a file or URL in this process, into arrays in memory.

    `options` are the parameters of the stage, such as format, ids, header, weights and memory. Raises
    StageError for whatever is wrong with the file, and pydantic's ValidationError for a wrong option.
    """
    from gravel.stages.context import PlainContext

    return ingest(PlainContext(), IngestParameters(file=str(path), **options))


def _generate(context: Context, source: GeneratorSource, memory: int) -> tuple[EdgeList, VertexIds]:
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.generate import generate, size

    made = size(source.name, **source.arguments())
    vertices, dtype = made.vertices, index_dtype(made.vertices)
    if context.keeps_device_arrays and fits_device(source, context.machine):
        there = generate(source.name, backend="cuda", **source.arguments())
        edges = EdgeList(source=there[0], target=there[1], vertex_count=vertices, undirected=True)
        return edges, VertexIds(vertex_count=vertices)
    ends = context.sink(dtype, rows=made.edges), context.sink(dtype, rows=made.edges)
    for part in generated_parts(context, source, memory):
        for sink, indices in zip(ends, part, strict=True):
            sink.append(indices)
    edges = EdgeList(source=ends[0].close(), target=ends[1].close(), vertex_count=vertices, undirected=True)
    return edges, VertexIds(vertex_count=vertices)


def _read_piece(context: Context, parameters: IngestParameters) -> EdgePiece:
    """Read one of many files."""
    from gravel.stages.vertex_ids.pieces import piece_of

    assert parameters.file is not None
    edges, ids = _read_file(context, parameters, parameters.file, alone=False)
    return piece_of(context, edges, ids, working_memory(parameters, context.machine))


def _read_file(
    context: Context, parameters: IngestParameters, location: str, *, alone: bool = True
) -> tuple[EdgeList, VertexIds]:
    from gravel.stages.detection import choose_reader
    from gravel.stages.filters import parse
    from gravel.stages.ingest_device import device_text
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.readers import Header, Reading
    from gravel.stages.streams import file_size, open_stream

    memory = working_memory(parameters, context.machine)
    threads = max(1, context.machine.threads)
    piece = block_bytes(memory, threads)
    with open_stream(location, sha256=parameters.sha256, piece=piece, threads=threads) as stream:
        try:
            data = stream.peek(HEAD_BYTES)
            head = Head(data, whole=len(data) < HEAD_BYTES)
            columns = {} if parameters.file and alone else path_columns(location)
            if NO_VALUE in columns.values():
                raise StageError(
                    f"a folder is called {NO_VALUE}", hint="give it a value", file=shown(location)
                )
            if head.whole and not alone and not head.content(parameters.comment.encode()):
                nothing: Any = SimpleNamespace()  # as writers leave among parts
                return _numbered(context, Header(), iter(()), nothing, memory)
            choice = choose_reader(
                stream.name, head, location, parameters.format, as_list=parameters.asked.as_list
            )
            packed = f", {stream.compression}" if stream.compression else ""
            context.log(f"reading {shown(location)} as {choice.reader.title}{packed}: {choice.reason}")
            _refuse_unused(parameters, choice.reader, location)
            stored = file_size(location)
            device = device_text(context, choice.reader, stored, memory)
            reading = Reading(
                stream,
                context.scratch,
                threads,
                piece,
                parameters.weights,
                context.log,
                context.remark,
                context.note,
                parameters.allow_short,
                device,
                ids=parameters.ids,
                asked=replace(parameters.asked, constants=tuple(columns)),
                columns=parameters.asked_columns,
                filter=None if parameters.filter is None else parse(parameters.filter),
                constants=columns,
                alone=alone,
            )
            header, chunks = choice.reader.read(reading)
            if not alone and header.vertex_count is not None:
                raise StageError(
                    f"{choice.reader.title} states the vertices of a whole graph: it is no part of one",
                    hint="read it alone with `file`; if it is an edge list, say `format: edge_list`",
                    file=shown(location),
                )
            watched = _watched(context, stream, chunks, stored)
            edges = _numbered(context, header, watched, reading, memory)
            stream.finish()
            most = header.stated_vertices
            found = edges[0].vertex_count
            if most is not None and found > most:
                context.remark(f"{shown(location)}: a comment says {most:,} vertices, and {found:,} occur")
        except StageError:
            # A file that is not the one that was meant explains whatever else is wrong with it.
            stream.check_stored()
            raise
    context.log(f"{len(edges[0].source):,} edges, {edges[0].vertex_count:,} vertices")
    return edges


def _refuse_unused(parameters: IngestParameters, reader: Reader, location: str) -> None:
    unused = [name for name in parameters.of_some_formats if name not in reader.takes]
    if unused:
        raise StageError(
            f"the file is read as {reader.title}, which has no use for `{unused[0]}`",
            hint="leave it out, or name another format with `format`",
            file=location,
        )


def _numbered(
    context: Context, header: Header, chunks: Iterator[Chunk], reading: Reading, memory: int
) -> tuple[EdgeList, VertexIds]:
    if header.texts:
        from gravel.stages.vertex_ids.edges import numbered_texts

        return numbered_texts(context, header, chunks, reading, memory)
    device = getattr(reading, "device", None)
    if device is None:
        from gravel.stages.vertex_ids.edges import numbered

        return numbered(context, header, chunks, reading, memory)
    from gravel.stages.ingest_device import device_room
    from gravel.stages.vertex_ids.on_device import numbered_on_device

    room = device_room(context.machine, device)
    return numbered_on_device(context, header, chunks, device, memory=memory, room=room)


def check_counts(vertices: int, edges: int, expected: Expected, file: str | None) -> None:
    """Raise StageError for a graph that has other counts than are expected of it."""
    found = {"vertices": vertices, "edges": edges}
    wanted = {name: count for name, count in expected.model_dump().items() if count is not None}
    wrong = [name for name, count in wanted.items() if found[name] != count]
    if wrong:
        counted = " and ".join(f"{found[name]:,} {name}" for name in wrong)
        meant = " and ".join(f"{wanted[name]:,}" for name in wrong)
        raise StageError(
            f"the graph has {counted}, and {meant} {'are' if meant != '1' else 'is'} expected",
            hint="it is another version, incomplete, or not in the format detected; if the graph is right, "
            "correct what is expected of it",
            file=file,
        )


def _watched(
    context: Context, stream: ByteStream, chunks: Iterator[Chunk], total: int | None
) -> Iterator[Chunk]:
    for chunk in chunks:
        yield chunk
        context.progress(stream.position, total, "B")


def _read_lone_piece(context: Context, parameters: IngestParameters) -> EdgePiece:
    """Read the only file of a graph, which may state the graph's vertices."""
    from gravel.stages.vertex_ids.pieces import piece_of

    edges, ids = _read_file(context, parameters, parameters.file or parameters.files[0])  # type: ignore[index]
    return piece_of(context, edges, ids, working_memory(parameters, context.machine))


def files(parameters: IngestParameters) -> tuple[FileInput, ...]:
    """List the files that the parameters name."""
    if parameters.files is not None:
        return tuple(each for _, part in parts(parameters) for each in _piece_files(part))
    return (FileInput(parameters.file, parameters.sha256),) if parameters.file is not None else ()


def _piece_files(parameters: IngestParameters) -> tuple[FileInput, ...]:
    file = str(parameters.file)
    return (FileInput(file, columns=tuple(path_columns(file).items()), several=True),)


def parts(parameters: IngestParameters) -> list[tuple[Stage, IngestParameters]]:
    """Return what makes the piece of each of `files`."""
    rest = {"files": None, "expect": None, "skip_broken": False}
    return [(PIECE, parameters.model_copy(update={"file": file, **rest})) for file in parameters.files or ()]


def kept_parts(parameters: IngestParameters) -> list[tuple[Stage, IngestParameters]]:
    """Return what makes the pieces that are stored."""
    return parts(parameters) if are_kept(parameters.files or ()) else []


STAGE = Stage(
    name="ingest",
    version=2,
    about="Reads a graph from a file or URL, or generates one.",
    parameters=IngestParameters,
    inputs={},
    outputs=("EdgeList", "VertexIds"),
    run=ingest,
    estimate=estimate,
    cuda=True,
    files=files,
    parts=kept_parts,
    # What a file holds and its suffixes are part of the recipe; where it lies is not.
    hidden=frozenset({"file", "files", "memory"}),
)

PIECE = replace(
    STAGE, name="piece", outputs=("EdgePiece",), run=_read_piece, files=_piece_files, parts=no_parts
)
"""What `ingest` asks of its context for each of many files; workflows do not name it."""

LONE_PIECE = replace(PIECE, name="lone_piece", run=_read_lone_piece, files=files)
"""The same of a graph's only file."""
