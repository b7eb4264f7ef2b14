"""saved: a graph that Python saved, with its ids, for the stages of a workflow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from gravel.kernels.buffers import Buffer, Table, table, total
from gravel.stages.artifacts import Graph, VertexIds
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, FileInput, FileName, Machine, Need, Parameters, Stage

if TYPE_CHECKING:
    from gravel.stages.context import Context

RECORD = "graph.json"
"""Describes a saved graph. It has the digest of all content, so that a recipe rests on this file alone."""

WORKING_BYTES = 8 << 20
"""What reading takes beside the arrays and the text of the ids."""

PIECE_BYTES = 1 << 20
"""Bytes of an array that have a digest each; the digest of these is in the record."""


class SavedParameters(Parameters):
    """Parameters that say which graph."""

    folder: FileName = Field(min_length=1)
    """The folder that `Graph.save` made; a relative path starts from the current folder."""


def saved(context: Context, parameters: SavedParameters) -> tuple[Graph, VertexIds]:
    """Read a saved graph.

    Ids that are neither integers nor strings, such as dates, become strings.

    Raises `StageError` for a folder that holds none, for one that is damaged, and for a graph that was
    reordered or compressed before it was saved.
    """
    from gravel.kernels.inputs import csr

    folder = Path(parameters.folder)
    record = _record(folder)
    kind = record["graph"]["kind"]
    if kind != "Graph":
        raise StageError(
            f"the saved graph is of kind {kind}, and a workflow starts with a plain Graph",
            hint="save it before it is reordered or compressed, and let stages of the workflow do that",
            file=str(folder),
        )
    try:
        attributes = _attributes(folder / "graph")
        offsets, columns = (
            _whole(folder / "graph", record["graph"], name) for name in ("row_offsets", "column_indices")
        )
        rows = csr((offsets, columns))
        first, (known, text, ends) = _ids(folder, record)
        count = int(attributes["vertex_count"])
        if count != len(rows.row_offsets) - 1 or any(
            each is not None and len(each) != size for each, size in ((known, count), (ends, count + 1))
        ):
            raise ValueError(f"it states {count:,} vertices, and has {len(rows.row_offsets) - 1:,} rows")
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise StageError(
            f"the saved graph is damaged: {error}", hint="save it again", file=str(folder)
        ) from None
    graph = Graph(
        row_offsets=rows.row_offsets,
        column_indices=rows.column_indices,
        vertex_count=count,
        arc_count=len(rows.column_indices),
        symmetric=bool(attributes["symmetric"]),
        deduplicated=bool(attributes["deduplicated"]),
        loop_count=int(attributes["loop_count"]),
    )
    return graph, VertexIds(ids=known, first=first, vertex_count=count, text=text, offsets=ends)


def _ids(folder: Path, record: Mapping[str, Any]) -> tuple[int, tuple[Any, Any, Any]]:
    """Return the first of consecutive ids; and all integers, or the bytes and the ends of texts."""
    if record["ids"] is None:
        return 0, (None, *_as_texts(folder, record["arrow"]))
    ids, text, ends = (_whole(folder / "ids", record["ids"], name) for name in ("ids", "text", "offsets"))
    return int(_attributes(folder / "ids")["first"]), (ids, text, ends)


def _as_texts(folder: Path, stated: Mapping[str, Any]) -> tuple[Any, Any]:
    """Read ids of other types as texts; raises `StageError` where these do not ascend as the vertices do."""
    import pyarrow
    import pyarrow.compute as compute
    from blake3 import blake3

    from gravel.stages.texts import Texts

    content = (folder / stated["file"]).read_bytes()
    if blake3(content).hexdigest() != stated["blake3"]:
        raise ValueError("its ids are not those that were saved")
    with pyarrow.ipc.open_file(pyarrow.py_buffer(content)) as reader:
        values = reader.read_all()["id"].combine_chunks()
    if isinstance(values.type, pyarrow.UuidType):
        texts = pyarrow.array(map(str, values.to_pylist()), pyarrow.large_string())
    else:
        try:
            texts = values.cast(pyarrow.large_string())
        except pyarrow.ArrowException:
            texts = None
    # None where there are fewer than two.
    if texts is None or compute.all(compute.less(texts[:-1], texts[1:])).as_py() is False:
        raise StageError(
            f"the ids of the saved graph, of type {values.type}, are in no order that strings have",
            hint="make strings of them before the graph is made",
            file=str(folder),
        )
    found = Texts.of(texts)
    return found.text, found.offsets - found.offsets[0]


def _attributes(group: Path) -> dict[str, Any]:
    attributes: dict[str, Any] = json.loads((group / "zarr.json").read_text())["attributes"]
    return attributes


def _stored(record: Mapping[str, Any]) -> dict[str, Buffer]:
    """Return the arrays of a graph or of its ids, by name."""
    return {
        name: Buffer(name, f"{dtype[0]}{int(dtype.lstrip('uintfloa')) // 8}", length, place="host")
        for name, (dtype, (length,)) in record["arrays"].items()
    }


def _whole(group: Path, record: Mapping[str, Any], name: str) -> Any:
    """Read an array, with which its file begins; raises ValueError for one that is not what was saved."""
    import numpy
    from blake3 import blake3

    stored = _stored(record)
    if name not in stored:
        return None
    array = stored[name].make(numpy)
    if len(array):
        with (group / name / "c" / "0").open("rb") as file:
            file.readinto(array)
    view = array.view(numpy.uint8).data
    pieces = (view[start : start + PIECE_BYTES] for start in range(0, len(view), PIECE_BYTES))
    if blake3(b"".join(blake3(piece).digest() for piece in pieces)).hexdigest() != record["roots"][name]:
        raise ValueError(f"{name} is not what was saved")
    return array


def _record(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / RECORD).read_text())
        return found
    except (OSError, ValueError) as error:
        raise StageError(
            f"the folder holds no graph that was saved ({error})",
            hint="name a folder that Graph.save made",
            file=str(folder),
        ) from None


def _estimate(
    parameters: SavedParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    stated: dict[str, Any] = {}
    arrays: Table = ()
    try:
        record = _record(Path(parameters.folder))
        stated = record["graph"]["extent"]
        arrays = *_stored(record["graph"]).values(), *_stored(record["ids"] or {"arrays": {}}).values()
    except (StageError, KeyError, ValueError):  # reported when the file is looked for
        pass
    n, arcs = int(stated.get("vertices", 0)), int(stated.get("arcs", 0))
    graph = Extent(
        kind="Graph",
        vertices=n,
        arcs=arcs,
        bytes=int(stated.get("bytes", 0)),
        directed=bool(stated.get("directed", False)),
        weighted=bool(stated.get("weighted", False)),
    )
    ids = Extent(kind="VertexIds", vertices=n, bytes=8 * n)
    # NumPy tests columns, but where rows start.
    reading = table("host", reading=("u1", WORKING_BYTES), tests=("b1", arcs), starts=("i8", (2, n)))
    return Need(host_bytes=total((*arrays, *reading), "host"), device_bytes=0, outputs=(graph, ids))


def _files(parameters: SavedParameters) -> tuple[FileInput, ...]:
    return (FileInput(str(Path(parameters.folder) / RECORD)),)


STAGE = Stage(
    name="saved",
    version=1,
    about="Reads a graph that Python saved with `Graph.save`.",
    parameters=SavedParameters,
    inputs={},
    outputs=("Graph", "VertexIds"),
    run=saved,
    estimate=_estimate,
    files=_files,
    # What was saved is part of the recipe; where it lies is not.
    hidden=frozenset({"folder"}),
)
