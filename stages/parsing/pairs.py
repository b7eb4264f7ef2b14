"""Files with one edge a line: blocks of lines, parsed side by side, their edges in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.errors import StageError
from gravel.stages.readers import LARGEST_ID, Chunk, Reading
from gravel.stages.streams import LineStream

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class PairGrammar:
    """How a line gives an edge; `form` shows a good line in messages. Columns count from 0, -1 is none."""

    form: str
    columns: int = 2
    delimiter: str = ""
    comments: str = ""
    prefix: str = ""
    source_column: int = 0
    target_column: int = 1
    weight_column: int = -1
    low: int = 0
    high: int = LARGEST_ID


@dataclass(frozen=True)
class _Parsed:
    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any]
    lines: int
    code: int
    place: int


def read_pairs(reading: Reading, lines: LineStream, grammar: PairGrammar) -> Iterator[Chunk]:
    """Yield the edges of all lines that are left; raises StageError naming the first bad line."""
    if reading.device is not None:
        from gravel.stages.parsing.pairs_device import read_pairs_on_device

        return read_pairs_on_device(reading, reading.device, lines, grammar)
    return read_blocks(reading, lines, lines.blocks(), grammar)


def read_blocks(
    reading: Reading, lines: LineStream, blocks: Iterator[bytes], grammar: PairGrammar
) -> Iterator[Chunk]:
    """Yield the edges of blocks of whole lines, the next ones of `lines`; raises as `read_pairs` does."""
    from gravel.kernels.text.kinds import byte_kinds

    kinds = byte_kinds(grammar.delimiter, grammar.comments)
    pending: deque[tuple[bytes, Future[_Parsed]]] = deque()
    broken: StageError | None = None
    ended = False
    with ThreadPoolExecutor(max(1, reading.threads), thread_name_prefix="gravel-parse") as pool:
        try:
            while True:
                while not ended and len(pending) <= reading.threads:
                    try:
                        block = next(blocks, None)
                    except StageError as error:
                        broken, block = error, None
                    ended = block is None
                    if block is not None:
                        pending.append((block, pool.submit(_parse, block, kinds, grammar)))
                if not pending:
                    break
                block, future = pending.popleft()
                parsed = future.result()
                if parsed.code:
                    _complain(lines, block, parsed, grammar)
                lines.line += parsed.lines
                if len(parsed.source):
                    weight = parsed.weight if grammar.weight_column >= 0 else None
                    yield Chunk(parsed.source, parsed.target, weight)
        finally:
            for _, future in pending:
                future.cancel()
    if broken is not None:
        raise lines.placed(broken)


def _parse(block: bytes, kinds: NDArray[Any], grammar: PairGrammar) -> _Parsed:
    import numpy

    from gravel.kernels.text.pairs import parse_pairs

    most = block.count(b"\n")
    source, target = numpy.empty(most, numpy.int64), numpy.empty(most, numpy.int64)
    weight = numpy.empty(most if grammar.weight_column >= 0 else 0, numpy.float64)
    rows, line_count, code, place = parse_pairs(
        numpy.frombuffer(block, numpy.uint8),
        kinds,
        ord(grammar.prefix) if grammar.prefix else -1,
        grammar.columns,
        grammar.source_column,
        grammar.target_column,
        grammar.weight_column,
        grammar.low,
        grammar.high,
        source,
        target,
        weight,
    )
    return _Parsed(source[:rows], target[:rows], weight[:rows], int(line_count), int(code), int(place))


def _complain(lines: LineStream, block: bytes, parsed: _Parsed, grammar: PairGrammar) -> None:
    from gravel.stages.parsing.problem import describe

    message, hint = describe(
        parsed.code,
        block,
        parsed.place,
        form=grammar.form,
        low=grammar.low,
        high=grammar.high,
        delimiter=grammar.delimiter,
    )
    lines.fail(message, line=lines.line + parsed.lines + 1, hint=hint)
