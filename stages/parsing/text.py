"""Lines of text, read on a GPU or on all cores: both accept and refuse the same."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

from gravel.stages.parsing.pairs import (
    SMALLER,
    PairGrammar,
    number_parser,
    parse_pieces,
    read_pieces,
    text_parser,
)
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams.lines import NEWLINE, LineStream, Piece, Pieces
from gravel.stages.streams.stream import UnplacedError

if TYPE_CHECKING:
    from gravel.kernels.text.pairs_cuda import PairParser, Parsed
    from gravel.stages.parsing.lists import ListGrammar
    from gravel.stages.readers import DeviceText

NARROW = 1 << 32
"""Ids below it are kept in 32 bits."""


def read_pairs(reading: Reading, lines: LineStream, grammar: PairGrammar) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line."""
    if grammar.layout is not None:
        from gravel.stages.parsing.general_pairs import GeneralParser

        parse = GeneralParser(reading, grammar, grammar.layout)
        yield from read_pieces(reading, lines, grammar, parse, smaller=SMALLER)
    elif grammar.texts:
        yield from read_pieces(reading, lines, grammar, text_parser(reading, grammar), smaller=SMALLER)
    elif reading.device is None:
        yield from read_pieces(reading, lines, grammar, number_parser(reading, grammar))
    else:
        yield from _pairs_on_device(reading, reading.device, lines, grammar)


def read_stated(
    reading: Reading,
    lines: LineStream,
    grammar: PairGrammar,
    stated: int,
    *,
    says: str,
    noun: str = "edges",
    exact: bool = True,
) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left, and compare their number with the stated one.

    `says` names what states it ("the header says"). Where the file has fewer edges, a last line without an
    end may be cut within a number: it is none of them. Raises StageError at the file's end for fewer, unless
    the reading allows it, and for more if the number is `exact`; else both are remarked on.
    """
    found = 0
    lines.holds_back = True
    for chunk in read_pairs(reading, lines, grammar):
        found += len(chunk.source)
        # The text is read to its end all the same, so that the same line is named whatever a chunk holds.
        if not exact or found <= stated:
            yield chunk
    cut = lines.last_line
    if cut is not None and found + 1 >= stated and (not exact or found <= stated):
        # The file is whole up to this line, which merely lacks its end.
        lines.take_last_line()
        for chunk in read_pairs(reading, lines, grammar):
            found += len(chunk.source)
            yield chunk
        cut = None
    message = f"{says} {stated:,} {noun}; {found:,} were found"
    if found < stated:
        message += ", and the file ends in the middle of a line" if cut is not None else ""
        if not reading.allow_short:
            lines.fail(
                message,
                line=lines.line + (cut is not None),
                hint="the file is truncated, or what it says of itself is wrong: get it again, or set "
                "allow_short: true to go on with what is there",
            )
        message += ", which is left out" if cut is not None else ""
        reading.remark(f"{lines.stream.location}: {message}; it is used since allow_short is true")
    elif found > stated and exact:
        lines.fail(
            f"{says} {stated:,} {noun}; more than {stated:,} were found",
            hint="the file holds more than one graph, or what it says of itself is wrong",
        )
    elif found > stated:
        reading.remark(f"{lines.stream.location}: {says} {stated:,} {noun}; the file has {found:,}")


def read_lists(reading: Reading, lines: LineStream, grammar: ListGrammar) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, and return the number of rows.

    Raises StageError naming the first bad line. The arrays of a chunk are reused for the next.
    """
    if reading.device is None:
        from gravel.stages.parsing.lists import read_lists_on_host

        return (yield from read_lists_on_host(reading, lines, grammar))
    return (yield from _lists_on_device(reading, reading.device, lines, grammar))


def _pairs_on_device(
    reading: Reading, device: DeviceText, lines: LineStream, grammar: PairGrammar
) -> Iterator[Chunk]:
    """Yield edges, most of them as arrays of the device."""
    parser = _Narrowing(_parser(grammar, len(device.text.buffers[0])))
    with Pieces(lines, device.text.buffers, reading.threads) as pieces:
        try:
            for piece, text in device.uploaded(pieces):
                line_count = parser.count(text.text, text.first, text.end)
                parsed = device.with_room(parser.parse)
                if parsed is None or not parsed.fine:
                    device.on_host += 1
                    parts = _parts(piece, reading.block_bytes)
                    on_host = number_parser(reading, grammar)
                    yield from parse_pieces(reading, lines, grammar, on_host, parts, lambda part: None)
                    pieces.release(piece)
                    continue
                lines.line += line_count
                pieces.release(piece)
                if len(parsed.source):
                    yield Chunk(parsed.source, parsed.target, parsed.weight, (parsed.least, parsed.most))
        except UnplacedError as error:
            raise lines.placed(error) from None
    device.tell(reading.log)


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


def _lists_on_device(
    reading: Reading, device: DeviceText, lines: LineStream, grammar: ListGrammar
) -> Generator[Chunk, None, int]:
    """Yield arcs, most of them as arrays of the device; arrays of the host are reused for the next chunk."""
    from gravel.kernels.arrays import index_dtype
    from gravel.kernels.text.lists_cuda import ListParser
    from gravel.stages.parsing.lists import Rows

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
    with Pieces(lines, device.text.buffers, reading.threads, any_length=True) as pieces:
        try:
            for piece, text in device.uploaded(pieces):
                parsed = None
                if rows.begins and piece.buffer[piece.end - 1] == NEWLINE:
                    parse = partial(parser.parse, text.text, text.first, text.end, rows.count)
                    parsed = device.with_room(parse)
                if parsed is None:
                    device.on_host += 1
                    for part in _parts(piece, reading.block_bytes, any_length=True):
                        yield from rows.parse(part.buffer[part.first : part.end])
                    pieces.release(piece)
                    continue
                rows.skip(parsed.lines, parsed.lines)
                pieces.release(piece)
                if len(parsed.source):
                    yield Chunk(parsed.source, parsed.target, parsed.weight)
        except UnplacedError as error:
            raise lines.placed(error) from None
    device.tell(reading.log)
    return rows.count


def _parts(piece: Piece, size: int, *, any_length: bool = False) -> Iterator[Piece]:
    """Cut a piece into parts of about so many bytes: after lines, or within one of any length at a blank."""
    text = piece.tobytes()
    begin = 0
    while begin < len(text):
        end = min(begin + size, len(text))
        cut = text.rfind(b"\n", begin, end) + 1
        if not cut and any_length:
            # A number that is longer than the part is an error.
            cut = max(text.rfind(blank, begin, end) for blank in (b" ", b"\t", b"\r")) + 1 or len(text)
        cut = cut or text.find(b"\n", end - 1) + 1
        yield Piece(piece.buffer, piece.first + begin, piece.first + cut)
        begin = cut
