"""Many files that are one graph: each becomes an `EdgePiece`, and the pieces are merged.

They are merged in the order of their digests, so that the order of the files changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gravel.stages.context import Context, Part
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.stage import Stage

FEWEST_KEPT = 8
LEAST_KEPT = 64 << 20
"""Files, or bytes of text in all, from which on pieces are stored."""

EXPANSION = {"gz": 8, "bz2": 10, "xz": 12, "zst": 10}
"""How many bytes of text one stored byte becomes at most in files of edges, as a rule."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value in the column of a path."""


def path_columns(location: str) -> dict[str, str]:
    """Return the columns of the folders `name=value` that a file lies in, as Hive and Spark write them."""
    found: list[tuple[str, str]] = []
    folders = (location.partition("?")[0] if is_url(location) else location).split("/")[:-1]
    while folders and "=" in folders[-1][1:]:
        name, _, value = folders.pop().partition("=")
        found.append((unquote(name), unquote(value)))
    return dict(reversed(found))


def text_size(file: str) -> int:
    """Bound the bytes of a file's text, as a rule; 0 where its size cannot be known."""
    from gravel.stages.streams import file_size

    return (file_size(file) or 0) * EXPANSION.get(file.partition("?")[0].rpartition(".")[2].lower(), 1)


def are_kept(files: Sequence[str]) -> bool:
    """Say whether the pieces of these files are stored, to be found when another file changes."""
    return len(files) >= FEWEST_KEPT or (len(files) > 1 and sum(map(text_size, files)) >= LEAST_KEPT)


def read_many(
    context: Context, parts: Sequence[tuple[Stage, IngestParameters]], memory: int, *, skip: bool
) -> tuple[EdgeList, VertexIds]:
    """Make a piece of each file and merge them; `skip` leaves out files that cannot be read."""
    from gravel.stages.vertex_ids.pieces import merged

    return merged(context, read_pieces(context, parts, skip=skip), memory)


def read_pieces(
    context: Context, parts: Sequence[tuple[Stage, IngestParameters]], *, skip: bool
) -> list[EdgePiece]:
    """Make a piece of each file; those that have edges, all of one kind, in the order of their digests."""
    files = [str(parameters.file) for _, parameters in parts]
    for file, times in Counter(files).items():
        if times > 1:
            context.remark(f"{shown(file)} is listed {times} times, and its edges count as often")
    kept, sizes, found = are_kept(files), list(map(text_size, files)), []
    ends = [0, *accumulate(sizes)]
    context.make_parts(parts, kept=kept)
    for number, (stage, parameters) in enumerate(parts):
        file, before = files[number], ends[number]

        def progress(done: int, before: int = before) -> None:
            context.progress(before + done, ends[-1], "B")

        try:
            part = context.part(stage, parameters, kept=kept, progress=progress)
        except StageError as error:
            _leave_out(context, file, error, skip=skip)
        else:
            found.append((file, part))
            context.log(
                f"{number + 1:,} of {len(files):,} files: {len(part.artifact.source):,} edges, {shown(file)}"
            )
        progress(sizes[number])
    found = _of_one_kind(context, found, skip=skip)
    if not found:
        raise StageError("none of the files can be read", hint="the remarks say what is wrong with each")
    found = [(file, part) for file, part in found if len(part.artifact.source)]
    if not found:
        why = ", or the filter leaves none" if parts[0][1].filter is not None else ""
        raise StageError(f"none of the {len(files):,} files has an edge{why}", hint="name other files")
    return [part.artifact for part in sorted((part for _, part in found), key=lambda part: part.digest)]


def _leave_out(context: Context, file: str, error: StageError, *, skip: bool) -> None:
    """Remark on a file that is left out, or raise what is wrong with it."""
    if skip:
        context.remark(f"{shown(file)} is left out (skip_broken): {error.message}")
        return
    hint = f"{error.hint or 'mend the file'}; or leave such files out with `skip_broken: true`"
    raise StageError(error.message, hint=hint, file=error.file or shown(file), line=error.line) from None


def _kind(part: Part) -> tuple[str, ...]:
    """Say what the files of one graph have in common."""
    taken = next(filter(None, (re.search(r" as: .*?\b(source .*)", remark) for remark in part.remarks)), None)
    return (
        "ids that are whole numbers" if part.artifact.text is None else "ids that are texts",
        "" if taken is None else "the columns " + ", ".join(sorted(re.split(", |; left out: ", taken[1]))),
        "no weights" if part.artifact.weight is None else "weights",
    )


def _of_one_kind(context: Context, found: list[tuple[str, Part]], *, skip: bool) -> list[tuple[str, Part]]:
    """Return the files of the kind that most have, and those without edges; the others are left out."""
    kinds = [_kind(part) if len(part.artifact.source) else () for _, part in found]
    counts = Counter(filter(None, kinds))
    usual = max(counts, key=lambda kind: (counts[kind], kind), default=())
    for (file, _), kind in zip(found, kinds, strict=True):
        if kind not in ((), usual):
            its, theirs = next(pair for pair in zip(kind, usual, strict=True) if pair[0] != pair[1])
            message = f"it has {its}, and {counts[usual]:,} others of the files have {theirs}"
            hint = "`ids: text` reads all ids as texts" if its == kind[0] else "name files of one kind"
            _leave_out(context, file, StageError(message, hint=hint), skip=skip)
    return [each for each, kind in zip(found, kinds, strict=True) if kind in ((), usual)]
