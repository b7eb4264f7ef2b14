"""Many files that are one graph: each is read into an `EdgePiece`, and the pieces are merged.

Pieces are merged in the order of their digests, so that the order of the files changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, cast

from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.urls import shown

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.stage import Stage

FEWEST_KEPT = 8
"""Files from which on each becomes a piece that is stored."""

LEAST_KEPT = 64 << 20
"""Bytes of text in all, as a rule, from which on fewer files do, too."""

EXPANSION = {"gz": 8, "bz2": 10, "xz": 12, "zst": 10}
"""How many bytes of text one stored byte becomes at most in files of edges, as a rule."""

MAX_REMARKS = 10
"""Different remarks of readers that are told."""


def text_size(file: str) -> int:
    """Bound the bytes of a file's text, as a rule; 0 where its size cannot be known."""
    from gravel.stages.streams import file_size

    suffix = file.partition("?")[0].rpartition(".")[2].lower()
    return (file_size(file) or 0) * EXPANSION.get(suffix, 1)


def are_kept(files: tuple[str, ...]) -> bool:
    """Say whether the pieces of these files are stored, to be found when another file changes."""
    return len(files) >= FEWEST_KEPT or (len(files) > 1 and sum(map(text_size, files)) >= LEAST_KEPT)


def of_one(parameters: IngestParameters, file: str) -> IngestParameters:
    """Return the parameters that read one of the files."""
    return parameters.model_copy(update={"file": file, "files": None, "expect": None, "skip_broken": False})


class _Read(NamedTuple):
    """A file and its piece."""

    file: str
    piece: EdgePiece


def read_many(
    context: Context, parameters: IngestParameters, stage: Stage, files: tuple[str, ...], memory: int
) -> tuple[EdgeList, VertexIds]:
    """Read files with the stage that makes a piece of one, and merge the pieces."""
    from gravel.stages.merging import merged

    for file, times in Counter(files).items():
        if times > 1:
            context.remark(f"{shown(file)} is listed {times} times, and its edges count as often")
    found, broken = _pieces(context, parameters, stage, files)
    found = _of_one_kind(found, broken, skip=parameters.skip_broken)
    for file, error in broken:
        context.remark(f"{shown(file)} is left out (skip_broken): {error}")
    if not found:
        raise StageError("none of the files can be read", hint="see what is wrong with each")
    _tell(context, found)
    return merged(context, sorted((each.piece for each in found), key=lambda piece: piece.digest), memory)


def _pieces(
    context: Context, parameters: IngestParameters, stage: Stage, files: tuple[str, ...]
) -> tuple[list[_Read], list[tuple[str, StageError]]]:
    from gravel.stages.streams import file_size

    kept = are_kept(files)
    sizes = [file_size(file) or 0 for file in files]
    total, before = sum(sizes) or None, 0
    found, broken = [], []
    for number, (file, size) in enumerate(zip(files, sizes, strict=True), 1):

        def progress(done: int, before: int = before) -> None:
            context.progress(before + done, total, "B")

        try:
            made = context.part(stage, of_one(parameters, file), kept=kept, progress=progress)
        except StageError as error:
            if error.file is None:
                error = StageError(error.message, hint=error.hint, file=shown(file))
            if not parameters.skip_broken:
                raise StageError(
                    error.message,
                    hint=f"{error.hint or 'mend the file'}; or leave such files out with `skip_broken: true`",
                    file=error.file,
                    line=error.line,
                ) from None
            broken.append((file, error))
        else:
            piece = cast(EdgePiece, made)
            found.append(_Read(file, piece))
            count = f"{len(piece.source):,} edges, {piece.vertex_count:,} ids"
            context.log(f"{number:,} of {len(files):,} files: {shown(file)}: {count}")
        before += size
        context.progress(before, total, "B")
    return found, broken


class _Kind(NamedTuple):
    """What the files of one graph have in common."""

    ids: str
    columns: str
    weights: str
    direction: str


def _kind(piece: EdgePiece) -> _Kind:
    columns = ""
    for remark in piece.remarks:
        match = re.search(r" as: .*?\b(source .*)", remark)
        if match is not None:
            taken, _, left = match[1].partition("; left out: ")
            rest = f"; left out: {', '.join(sorted(left.split(', ')))}" if left else ""
            columns = f"the columns {taken}{rest}"
    return _Kind(
        "ids that are whole numbers" if piece.text is None else "ids that are texts",
        columns,
        "no weights" if piece.weight is None else "weights",
        "edges that go both ways" if piece.undirected else "edges from source to target",
    )


def _of_one_kind(found: list[_Read], broken: list[tuple[str, StageError]], *, skip: bool) -> list[_Read]:
    """Return the files that are of the kind of most; others are broken. One without edges is of any kind."""
    kinds = {each.file: _kind(each.piece) for each in found if len(each.piece.source)}
    counts = Counter(kinds.values())
    if len(counts) < 2:
        return found
    usual = max(counts, key=lambda kind: (counts[kind], kind))
    kept = []
    for each in found:
        kind = kinds.get(each.file, usual)
        if kind == usual:
            kept.append(each)
            continue
        name = next(name for name in kind._fields if getattr(kind, name) != getattr(usual, name))
        hint = "`ids: text` reads all ids as texts; or name" if name == "ids" else "name"
        error = StageError(
            f"it has {getattr(kind, name)}, and {counts[usual]:,} others of the files have "
            f"{getattr(usual, name)}",
            hint=f"{hint} files of one kind, or leave others out with `skip_broken: true`",
            file=shown(each.file),
        )
        if not skip:
            raise error
        broken.append((each.file, error))
    return kept


def _tell(context: Context, found: list[_Read]) -> None:
    """Make the remarks of all readers, equal ones once."""
    groups: dict[str, list[str]] = {}
    for file, piece in sorted(found, key=lambda each: each.file):
        for remark in piece.remarks:
            name = next((name for name in (shown(file), file.rpartition("/")[2]) if name in remark), "\0")
            groups.setdefault(remark.replace(name, "\0"), []).append(name)
    for text, names in list(groups.items())[:MAX_REMARKS]:
        more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        context.remark(text.replace("\0", f"{names[0]}{more}"))
    if len(groups) > MAX_REMARKS:
        context.remark(f"{len(groups) - MAX_REMARKS:,} more remarks on single files")
