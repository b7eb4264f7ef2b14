"""Files with one vertex a line, parsed on a GPU: one piece is read, one copied and one parsed at a time.

A piece that the GPU does not understand goes to the parser of the CPU, and so does one that begins or ends
within a row, or has a comment.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.stages.parsing.device import HostPieces
from gravel.stages.parsing.lists import ListGrammar, Rows
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams.pieces import Piece, Pieces
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.parsing.device import DeviceText
    from gravel.stages.streams import LineStream

_NEWLINE = 10


def read_lists_on_device(
    reading: Reading, device: DeviceText, lines: LineStream, grammar: ListGrammar
) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, most of them as arrays of the device; return the rows.

    Raises StageError naming the first bad line. Arrays of the host are reused for the next chunk.
    """
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.text.lists_cuda import ListParser

    parser = ListParser(
        rows=grammar.rows,
        low=grammar.low,
        high=grammar.high,
        skip=grammar.skip,
        weighted=grammar.weighted,
        comments=grammar.comments,
        dtype=index_dtype(grammar.high + 1),
        piece_bytes=len(device.text.buffers[0]),
    )
    rows = Rows(lines, grammar)
    counts = HostPieces()
    with Pieces(lines, device.text.buffers, reading.threads, any_length=True) as pieces:
        try:
            for piece, text in device.uploaded(pieces):
                counts.all += 1
                parsed = None
                if rows.begins and piece.buffer[piece.end - 1] == _NEWLINE:
                    parse = partial(parser.parse, text.text, text.first, text.end, rows.count)
                    parsed = device.with_room(parse)
                if parsed is None:
                    counts.on_host += 1
                    for part in _parts(piece, reading.block_bytes):
                        yield from rows.parse(part)
                    pieces.release(piece)
                    continue
                rows.skip(parsed.lines, parsed.lines)
                pieces.release(piece)
                if len(parsed.source):
                    yield Chunk(parsed.source, parsed.target, parsed.weight)
        except UnplacedError as error:
            raise lines.placed(error) from None
    counts.tell(reading.log)
    return rows.count


def _parts(piece: Piece, size: int) -> Iterator[NDArray[Any]]:
    """Cut a piece into parts of about so many bytes: after lines, or within one between numbers."""
    text = piece.tobytes()
    begin = 0
    while begin < len(text):
        end = min(begin + size, len(text))
        cut = text.rfind(b"\n", begin, end) + 1
        cut = cut or max(text.rfind(blank, begin, end) for blank in (b" ", b"\t", b"\r")) + 1
        # A number that is longer than the part is an error.
        cut = cut or len(text)
        yield piece.buffer[piece.first + begin : piece.first + cut]
        begin = cut
