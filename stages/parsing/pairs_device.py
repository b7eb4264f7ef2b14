"""Files with one edge a line, parsed on a GPU: one piece is read, one copied and one parsed at the same time.

A piece with a line that the GPU does not understand goes to the parser of the CPU as a whole, so that the
same files are accepted and the same line is named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gravel.kernels.cuda.room import is_out_of_memory
from gravel.stages.errors import StageError
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams.pieces import Piece, Pieces

if TYPE_CHECKING:
    from gravel.kernels.text.pairs_cuda import Parsed
    from gravel.kernels.text.upload_cuda import Uploaded
    from gravel.stages.parsing.device import DeviceText
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.streams import LineStream

NARROW = 1 << 32
"""Ids below it are kept in 32 bits."""


def read_pairs_on_device(
    reading: Reading, device: DeviceText, lines: LineStream, grammar: PairGrammar
) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left, most of them as arrays of the device.

    Raises StageError naming the first bad line.
    """
    waiting: deque[tuple[Piece, Uploaded]] = deque()
    broken: StageError | None = None
    ended = False
    with Pieces(lines, device.text.buffers, reading.threads) as pieces:
        parser = _Parser(reading, device, lines, grammar)
        following = iter(pieces)
        while waiting or not ended:
            # One piece is on its way to the device while the one before it is parsed.
            while not ended and len(waiting) < 2:
                try:
                    piece = next(following, None)
                except StageError as error:
                    broken, piece = error, None
                ended = piece is None
                if piece is not None:
                    waiting.append((piece, device.text.upload(*piece)))
            if not waiting:
                break
            piece, uploaded = waiting.popleft()
            chunk = parser.parse(uploaded)
            if chunk is None:
                yield from parser.on_host(piece)
                pieces.release(piece)
                continue
            pieces.release(piece)
            if len(chunk.source):
                yield chunk
    parser.tell()
    if broken is not None:
        raise lines.placed(broken)


class _Parser:
    def __init__(self, reading: Reading, device: DeviceText, lines: LineStream, grammar: PairGrammar) -> None:
        from gravel.kernels.text.pairs_cuda import PairParser

        self._reading, self._device, self._lines, self._grammar = reading, device, lines, grammar
        self._parser = PairParser(
            columns=grammar.columns,
            source_column=grammar.source_column,
            target_column=grammar.target_column,
            weight_column=grammar.weight_column,
            prefix=ord(grammar.prefix) if grammar.prefix else -1,
            delimiter=grammar.delimiter,
            comments=grammar.comments,
            low=grammar.low,
            high=grammar.high,
            piece_bytes=len(device.text.buffers[0]),
        )
        self._narrow = True
        self._pieces = self._on_host = 0

    def parse(self, uploaded: Uploaded) -> Chunk | None:
        """Parse a piece on the device; None if the host must do it."""
        self._pieces += 1
        uploaded.wait()
        counted = self._parser.count(uploaded.text, uploaded.first, uploaded.end)
        try:
            parsed = self._roomy()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self._device.make_room()
            try:
                parsed = self._roomy()
            except Exception as again:
                if not is_out_of_memory(again):
                    raise
                return None
        if not parsed.fine:
            return None
        self._lines.line += counted.lines
        return Chunk(parsed.source, parsed.target, parsed.weight, (parsed.least, parsed.most))

    def _roomy(self) -> Parsed:
        """Parse into 32 bits as long as ids have room there."""
        import numpy

        if self._narrow:
            parsed = self._parser.parse(numpy.uint32)
            if not parsed.fine or parsed.most < NARROW:
                return parsed
            del parsed
            self._narrow = False
        return self._parser.parse(numpy.uint64)

    def on_host(self, piece: Piece) -> Iterator[Chunk]:
        """Parse a piece as strictly as without a device."""
        from gravel.stages.parsing.pairs import parse_pieces

        self._on_host += 1
        parts = _parts(piece, self._reading.block_bytes)
        yield from parse_pieces(self._reading, self._lines, parts, lambda part: None, self._grammar)

    def tell(self) -> None:
        """Log how much of the text the device did not parse."""
        if self._on_host:
            self._reading.log(
                f"{self._on_host:,} of {self._pieces:,} pieces were parsed by the CPU: the GPU reads whole "
                "numbers and short decimals, and needs room for them"
            )


def _parts(piece: Piece, size: int) -> Iterator[Piece]:
    """Cut whole lines into pieces of whole lines, each of about so many bytes."""
    text = piece.tobytes()
    begin = 0
    while begin < len(text):
        cut = text.find(b"\n", min(begin + size, len(text) - 1)) + 1
        yield Piece(piece.buffer, piece.first + begin, piece.first + cut)
        begin = cut
