"""Files with one edge a line, parsed on a GPU: one piece is read, one copied and one parsed at the same time.

A piece with a line that the GPU does not understand goes to the parser of the CPU as a whole, so that the
same files are accepted and the same line is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.stages.parsing.device import HostPieces
from gravel.stages.parsing.pairs import PairGrammar, parse_pieces
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams.pieces import Piece, Pieces
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from gravel.kernels.text.pairs_cuda import PairParser, Parsed
    from gravel.stages.parsing.device import DeviceText
    from gravel.stages.streams import LineStream

NARROW = 1 << 32
"""Ids below it are kept in 32 bits."""


def read_pairs_on_device(
    reading: Reading, device: DeviceText, lines: LineStream, grammar: PairGrammar
) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left, most of them as arrays of the device.

    Raises StageError naming the first bad line.
    """
    parser = _Narrowing(_parser(grammar, len(device.text.buffers[0])))
    counts = HostPieces()
    with Pieces(lines, device.text.buffers, reading.threads) as pieces:
        try:
            for piece, text in device.uploaded(pieces):
                counts.all += 1
                line_count = parser.count(text.text, text.first, text.end)
                parsed = device.with_room(parser.parse)
                if parsed is None or not parsed.fine:
                    counts.on_host += 1
                    parts = _parts(piece, reading.block_bytes)
                    yield from parse_pieces(reading, lines, parts, lambda part: None, grammar)
                    pieces.release(piece)
                    continue
                lines.line += line_count
                pieces.release(piece)
                if len(parsed.source):
                    yield Chunk(parsed.source, parsed.target, parsed.weight, (parsed.least, parsed.most))
        except UnplacedError as error:
            raise lines.placed(error) from None
    counts.tell(reading.log)


def _parser(grammar: PairGrammar, piece_bytes: int) -> PairParser:
    from gravel.kernels.text.pairs_cuda import PairParser

    return PairParser(
        columns=grammar.columns,
        source_column=grammar.source_column,
        target_column=grammar.target_column,
        weight_column=grammar.weight_column,
        prefix=ord(grammar.prefix) if grammar.prefix else -1,
        delimiter=grammar.delimiter,
        comments=grammar.comments,
        low=grammar.low,
        high=grammar.high,
        piece_bytes=piece_bytes,
    )


class _Narrowing:
    """Parses into 32 bits as long as ids have room there."""

    def __init__(self, parser: PairParser) -> None:
        self._parser = parser
        self._narrow = True

    def count(self, text: object, first: int, end: int) -> int:
        """Count the lines of a piece, which `parse` then parses."""
        return self._parser.count(text, first, end).lines

    def parse(self) -> Parsed:
        import numpy

        if self._narrow:
            parsed = self._parser.parse(numpy.uint32)
            if not parsed.fine or parsed.most < NARROW:
                return parsed
            del parsed
            self._narrow = False
        return self._parser.parse(numpy.uint64)


def _parts(piece: Piece, size: int) -> Iterator[Piece]:
    """Cut whole lines into pieces of whole lines, each of about so many bytes."""
    text = piece.tobytes()
    begin = 0
    while begin < len(text):
        cut = text.find(b"\n", min(begin + size, len(text) - 1)) + 1
        yield Piece(piece.buffer, piece.first + begin, piece.first + cut)
        begin = cut
