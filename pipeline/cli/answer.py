"""The answer of a search, printed at the end of a run of a data file: how far and how many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gravel.pipeline.progress.text_table import text_table

if TYPE_CHECKING:
    from pathlib import Path

    from gravel.pipeline.store.cache import Cache

DONE = ("computed", "cached")


def answer(root: Path, record: Mapping[str, Any], sources: Sequence[str]) -> Iterator[str]:
    """Yield lines on each search of a run: vertices reached, levels, milliseconds; then if it was verified.

    `sources` are the ids that were asked for. Those of random sources are looked up among the file's.
    """
    from gravel.pipeline.store.cache import Cache

    cache = Cache(root)
    stages = [stage for stage in record["stages"] if stage["state"] in DONE]
    outputs = [(stage, cache.find(name)) for stage in stages for name in stage["outputs"]]
    found = [(stage, each) for stage, each in outputs if each is not None]
    measured = [each.attributes for _, each in found if each.kind == "Measurement"]
    searches = [search for each in measured for search in each["searches"] if "reached" in search]
    if not searches:
        return
    vertices = measured[0]["graph"]["vertices"]
    names = sources or _ids(cache, found, [search["source"] for search in searches])
    rows = [("SOURCE", "REACHED", "LEVELS", "MILLISECONDS")]
    for name, search in zip(names, searches, strict=False):
        reached = search["reached"]
        share = f"{reached:,} of {vertices:,} vertices ({reached / max(vertices, 1):.1%})"
        rows.append((str(name), share, str(search["depth"]), f"{search['milliseconds']:.3g}"))
    yield from text_table(rows, right=(2, 3))
    checked = [stage for stage in stages if stage["stage"] == "verify"]
    yield "searches verified: every check passed" if checked else "searches not verified"


def _ids(cache: Cache, found: Sequence[tuple[Any, Any]], indices: Sequence[int]) -> list[str]:
    """Return the ids of vertices as the file writes them; their indices where the ids cannot be read."""
    with suppress(Exception):  # the ids are a convenience
        import numpy

        from gravel.pipeline.export.columns import FileIds

        one = next(each for _, each in found if each.kind == "VertexIds")
        named = FileIds(cache.open(one.id))(numpy.asarray(indices, numpy.int64))  # type: ignore[arg-type]
        return [str(each) for each in named.tolist()]
    return [f"vertex {index}" for index in indices]
