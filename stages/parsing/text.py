"""Lines of text, read on a GPU or on all cores: both accept and refuse the same."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from gravel.stages.parsing.lists import ListGrammar, read_lists_on_host
from gravel.stages.parsing.pairs import PairGrammar, read_pairs_on_host
from gravel.stages.readers import Chunk, Reading
from gravel.stages.streams import LineStream


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
    from gravel.stages.parsing.pairs_device import read_pairs_on_device

    yield from read_pairs_on_device(reading, reading.device, lines, grammar)


def read_lists(reading: Reading, lines: LineStream, grammar: ListGrammar) -> Generator[Chunk, None, int]:
    """Yield the arcs of all rows that are left, and return the number of rows.

    Raises StageError naming the first bad line. The arrays of a chunk are reused for the next.
    """
    if reading.device is None:
        return (yield from read_lists_on_host(reading, lines, grammar))
    from gravel.stages.parsing.lists_device import read_lists_on_device

    return (yield from read_lists_on_device(reading, reading.device, lines, grammar))
