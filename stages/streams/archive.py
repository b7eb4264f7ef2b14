"""The graph in a tar archive, read in passing: collections hand out a file with others that describe it.

SuiteSparse packs `web-Google/web-Google.mtx` into `web-Google.tar.gz`: the file that is called as its folder
or as the archive is the graph. Header fields are those of POSIX.1-1988 (ustar), in blocks of 512 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from gravel.stages.errors import StageError

__all__ = ["graph_of", "is_archive"]

BLOCK = 512
REGULAR = (b"0", b"\0")
MOST_NAMED = 5


def is_archive(first: bytes) -> bool:
    """Tell a tar archive by the magic of its first header."""
    return first[257:262] == b"ustar"


def graph_of(blocks: Iterator[bytes], location: str) -> Iterator[bytes]:
    """Yield the bytes of the graph; raises StageError if there is none or the archive breaks off."""
    reader = _Reader(blocks, location)
    names: list[str] = []
    while True:
        header = reader.take(BLOCK, at_end=True)
        if not header.strip(b"\0"):
            break
        size, name = _size(header, location), header[:100].split(b"\0")[0].decode("utf-8", "replace")
        padding = -size % BLOCK
        if header[156:157] in REGULAR and _is_graph(PurePosixPath(name), location):
            yield from reader.pieces(size)
            for _ in blocks:  # to the end, so that all of it is checked
                pass
            return
        if header[156:157] in REGULAR:
            names.append(name)
        for _ in reader.pieces(size + padding):
            pass
    held = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    raise StageError(
        "none of the files in this archive is called as its folder or as the archive",
        hint=f"unpack it and name one of its files: {held}" if names else "it holds no files",
        file=location,
    )


def _is_graph(path: PurePosixPath, location: str) -> bool:
    archive = PurePosixPath(location.split("?")[0]).name.split(".tar")[0]
    return path.suffix != "" and path.stem in (path.parent.name, archive)


def _size(header: bytes, location: str) -> int:
    field = header[124:136]
    try:
        if field[0] & 0x80:  # GNU: 8 GiB and more, as a binary number
            return int.from_bytes(field[1:], "big")
        return int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        raise StageError("this archive is damaged: a header states no size", file=location) from None


class _Reader:
    def __init__(self, blocks: Iterator[bytes], location: str) -> None:
        self._blocks = blocks
        self._location = location
        self._rest = b""

    def take(self, count: int, *, at_end: bool = False) -> bytes:
        found = b"".join(self.pieces(count, at_end=at_end))
        return found if len(found) == count else b""

    def pieces(self, count: int, *, at_end: bool = False) -> Iterator[bytes]:
        while count:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    if at_end:
                        return
                    raise StageError(
                        "this archive ends too early", hint="fetch it again", file=self._location
                    )
                self._rest = block
            piece, self._rest = self._rest[:count], self._rest[count:]
            count -= len(piece)
            if piece:
                yield piece
