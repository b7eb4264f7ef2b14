"""Readers of graph files: one module per format, which defines `READER` and imports nothing heavy at its top.

A reader first says what the file declares about its graph, then yields its edges in chunks, under the ids
that the file uses. Nobody but the reader knows the format, and the reader knows nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gravel.stages.edge_columns import NOT_ASKED, Columns
from gravel.stages.threads import started_ahead

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.kernels.text.upload_cuda import TextBuffers, Uploaded
    from gravel.stages.filters import Filter
    from gravel.stages.parsing.columns import ListOptions
    from gravel.stages.parsing.head import Head
    from gravel.stages.streams import ByteStream
    from gravel.stages.streams.lines import Piece
    from gravel.stages.texts import Texts

Result = TypeVar("Result")

LARGEST_ID = (1 << 63) - 1
LONGEST_ID = (1 << 16) - 1
"""Bytes of an id that is a text."""


class Chunk(NamedTuple):
    """Edges by file id: source and target int64 (edges,), weight float64 (edges,) or None.

    Valid until the next chunk is asked for. Of a `Reading` with a device, arrays may be CuPy's, with ids in
    uint32 or uint64 whose `bounds` are known; those stay valid.
    """

    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any] | None
    bounds: tuple[int, int] | None = None  # the smallest and the largest id


class TextChunk(NamedTuple):
    """Edges whose ids are texts: 2 i and 2 i + 1 of `ends` are source and target of edge i.

    With `swapped` it is the other way round. Valid until the next chunk is asked for.
    """

    ends: Texts
    weight: NDArray[Any] | None
    swapped: bool = False


class Digested(Chunk):
    """A chunk that `Reading.digest` has seen; it stays valid."""


@dataclass(frozen=True)
class Header:
    """Declaration of a file; its vertices are `vertex_count` ids from `first_id` up, or unstated (None).

    With `texts`, ids are texts, and the reader yields each as a `TextChunk` or what a digest makes of it.
    With `ends_unordered` nothing says which end of an edge is its source. `stated_vertices`, by a comment, is
    how many occur at most.
    """

    vertex_count: int | None = None
    first_id: int = 0
    undirected: bool = False
    weighted: bool = False
    texts: bool = False
    ends_unordered: bool = False
    stated_vertices: int | None = None


@dataclass(frozen=True)
class Counts:
    """Counts of vertices and edges that a file states or can hold at most, None where it does not say.

    `largest` is the largest id among the first edges, where the reader knows.
    """

    vertices: int | None
    edges: int | None
    largest: int | None = None


@dataclass
class DeviceText:
    """Text on the current device: what the reader of a line format needs to parse its pieces.

    `make_room` moves to the host what was parsed so far, where the device has no room for more. `pieces` and
    `on_host` count all pieces, and those that were left to the host.
    """

    text: TextBuffers
    make_room: Callable[[], None] = field(default=lambda: None)
    pieces: int = 0
    on_host: int = 0

    def uploaded(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Uploaded]]:
        """Yield pieces that are on the device, while the next one is on its way.

        What stops the pieces is raised after the last of them.
        """
        try:
            for piece, uploaded in started_ahead(pieces, lambda each: (each, self.text.upload(*each)), 1):
                uploaded.wait()
                self.pieces += 1
                yield piece, uploaded
        finally:
            self.text.wait()

    def with_room(self, parse: Callable[[], Result]) -> Result | None:
        """Call a function that allocates, once more after making room; None if that does not help either."""
        from gravel.kernels.cuda.room import is_out_of_memory

        for attempt in range(2):
            try:
                return parse()
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            if not attempt:
                self.make_room()
        return None

    def tell(self, log: Callable[[str], None]) -> None:
        """Log how much of the text the device did not parse."""
        if self.on_host:
            log(
                f"{self.on_host:,} of {self.pieces:,} pieces were parsed by the CPU: the GPU reads whole "
                "lines of whole numbers and short decimals, and needs room for them"
            )
        self.pieces = self.on_host = 0


@dataclass
class Reading:
    """Inputs of a reader: the bytes, the budget, and where to put what it must set aside.

    `digest` may be set before the first chunk is asked for: a reader that parses on several threads then has
    each of them hand out `digest(chunk)`, whose own arrays may be used again afterwards.

    `allow_short`: a file with fewer edges than it states is taken, and remarked on. `device`: where a reader
    that is `on_device` parses. `ids`, `columns` and `filter` are parameters of ingest, and `asked` are
    those of an edge list. `constants` are columns that hold one text in all rows: those of the path of
    a partitioned data set.

    A file that is not `alone` is one of many, and may have no edges.

    A reader says what it takes in one line by `note`: `read FILE as: comma, header; source payer, ...`. What
    is doubtful about it is a `remark`.
    """

    stream: ByteStream
    scratch: Path
    threads: int
    block_bytes: int
    weights: bool
    log: Callable[[str], None]
    remark: Callable[[str], None]
    note: Callable[[str], None]
    allow_short: bool = False
    device: DeviceText | None = None
    digest: Callable[[Any], Any] | None = None
    ids: str = "auto"
    asked: ListOptions | None = None
    columns: Columns = NOT_ASKED
    constants: Mapping[str, str] = field(default_factory=dict)
    filter: Filter | None = None
    alone: bool = True


@dataclass(frozen=True)
class Reader:
    """The reader of one format.

    `fits` judges the first bytes of a file; `read` raises StageError for everything that is wrong with it;
    `counts` looks at the head, or the file, without reading it whole. Where several formats fit the content
    and the name says nothing, the lowest `rank` is taken: the plainer its mark, the lower.
    """

    name: str
    title: str
    rank: int
    suffixes: tuple[str, ...]
    fits: Callable[[Head], bool]
    read: Callable[[Reading], tuple[Header, Iterator[Chunk]]]
    counts: Callable[[Head, str], Counts | None]
    aliases: tuple[str, ...] = ()
    on_device: bool = False  # has lines that a GPU can parse
    binary: bool = False  # is no text
    takes: tuple[str, ...] = ()  # of the parameters that not every format can use


FORMATS = tuple(
    sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
)
"""The names of all formats, known without importing their readers."""


@cache
def all_readers() -> dict[str, Reader]:
    """Return every reader by name, in the order of their ranks."""
    readers = (importlib.import_module(f"gravel.stages.readers.{name}").READER for name in FORMATS)
    return {reader.name: reader for reader in sorted(readers, key=lambda reader: reader.rank)}
