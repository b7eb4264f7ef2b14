"""Lines of text, read on a GPU or on all cores: both accept and refuse the same."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from gravel.stages.parsing.device import HostPieces
from gravel.stages.parsing.lists import ListGrammar, Rows, read_lists_on_host
from gravel.stages.parsing.pairs import PairGrammar, parse_pieces, read_pairs_on_host
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams import LineStream
from gravel.stages.streams.pieces import Piece, Pieces
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
                    parts = _pair_parts(piece, reading.block_bytes)
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


def _pair_parts(piece: Piece, size: int) -> Iterator[Piece]:
    """Cut whole lines into pieces of whole lines, each of about so many bytes."""
    text = piece.tobytes()
    begin = 0
    while begin < len(text):
        cut = text.find(b"\n", min(begin + size, len(text) - 1)) + 1
        yield Piece(piece.buffer, piece.first + begin, piece.first + cut)
        begin = cut


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


def read_pairs(reading: Reading, lines: LineStream, grammar: PairGrammar) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line."""
    if grammar.layout is not None:
        from gravel.stages.parsing.general_pairs import read_general_pairs

        yield from read_general_pairs(reading, lines, grammar, grammar.layout)
        return
    if grammar.texts:
        from gravel.stages.parsing.text_pairs import read_text_pairs

        yield from read_text_pairs(reading, lines, grammar)
        return
    if reading.device is None:
        yield from read_pairs_on_host(reading, lines, grammar)
        return
    from gravel.stages.parsing.text import read_pairs_on_device

    yield from read_pairs_on_device(reading, reading.device, lines, grammar)


def read_lists(reading: Reading, lines: LineStream, grammar: ListGrammar) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, and return the number of rows.

    Raises StageError naming the first bad line. The arrays of a chunk are reused for the next.
    """
    if reading.device is None:
        return (yield from read_lists_on_host(reading, lines, grammar))
    from gravel.stages.parsing.text import read_lists_on_device

    return (yield from read_lists_on_device(reading, reading.device, lines, grammar))
