"""Graphs and ids as artifacts of the store: of its cache, and in folders of their own.

A folder has the store's Zarr groups, which a workflow's stage `saved` reads as well. `graph.json` has the
record of each group, with digests. Every read is checked against them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy
import pyarrow
from blake3 import blake3

from gravel.conversion.ids import Encoded, Ids, Integers, Objects
from gravel.kernels.arrays import backend_of
from gravel.memory import refuse, this_machine
from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.core.files import private_files
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.opening import read_file
from gravel.pipeline.store.reader import open_artifact
from gravel.pipeline.store.records import RECORD_FORMAT, ArtifactRecord, BrokenRecord, seal, unseal
from gravel.stages.artifacts import VertexIds

RECORD = "graph.json"


def save(stored: Any, ids: Ids, path: str | os.PathLike[str]) -> Path:
    """Write a graph to a new folder, which appears when it is complete.

    Raises FileExistsError for a path that is there, and TypeError for ids that Arrow has no type for.
    """
    target = Path(path).expanduser().absolute()
    if target.exists():
        raise FileExistsError(
            f"{str(path)!r} is there already; remove it, or save the graph under another name"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    # Before anything is written: ids that cannot be.
    kept = vertex_ids_of(ids)
    listed = ids.take(numpy.arange(ids.count)) if kept is None else None
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with private_files(), Cache(draft / "cache").writer() as writer:
            body: dict[str, Any] = {"format": RECORD_FORMAT, "ids": None}
            body["graph"] = _moved(writer.publish(stored), draft / "graph")
            if kept is not None:
                body["ids"] = _moved(writer.publish(kept), draft / "ids")
            else:
                body["arrow"] = _write_arrow(listed, draft / "ids.arrow")
        shutil.rmtree(draft / "cache")
        (draft / RECORD).write_bytes(seal(body))
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def load(path: str | os.PathLike[str]) -> tuple[Any, Ids]:
    """Read a graph that `save` wrote, and its ids, checking them.

    Raises FileNotFoundError where there is none, and ValueError for one that is damaged.
    """
    folder = Path(path).expanduser()
    if not (folder / RECORD).exists():
        raise FileNotFoundError(f"{str(path)!r} holds no graph that was saved: it has no {RECORD}")
    try:
        body = unseal(read_file(folder, RECORD))
        record = ArtifactRecord.from_json(body["graph"], folder, 0.0, ".")
        hint = "Use a machine with more memory, or a workflow"
        refuse("the saved graph", record.bytes, this_machine(), None, hint)
        return in_memory(open_artifact(record)), _ids(folder, body)
    except (DamagedArtifact, BrokenRecord, KeyError, OSError) as error:
        raise ValueError(f"the graph saved in {str(path)!r} is damaged: {error}; save it again") from error


def _moved(record: Any, folder: Path) -> dict[str, Any]:
    record.path.rename(folder)
    return dict(record.to_json()) | {"data": folder.name}


def _write_arrow(ids: Any, file: Path) -> dict[str, Any]:
    table = pyarrow.table({"id": ids})
    with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {"file": file.name, "blake3": blake3(file.read_bytes()).hexdigest()}


def _ids(folder: Path, body: dict[str, Any]) -> Ids:
    if body["ids"] is not None:
        return ids_of(open_artifact(ArtifactRecord.from_json(body["ids"], folder, 0.0, ".")))
    content = read_file(folder, body["arrow"]["file"], None)
    if blake3(content).hexdigest() != body["arrow"]["blake3"]:
        raise BrokenRecord("its ids are not those that were saved")
    with pyarrow.ipc.open_file(pyarrow.py_buffer(content)) as reader:
        values = reader.read_all()["id"].combine_chunks()
    return ids_in_order(values)


def ids_in_order(values: Any) -> Ids:
    """Return ids of vertices 0, 1, 2, ..., looked up by bisection if they ascend, else in a table."""
    import pyarrow.compute as compute

    from gravel.conversion.id_types import plain
    from gravel.stages.vertex_ids.dictionary import Dictionary

    stored = plain(values)
    if len(stored) < 2 or bool(compute.all(compute.less(stored[:-1], stored[1:])).as_py()):
        return Encoded(Dictionary(values))
    return Objects(values.to_pylist())


def in_memory(stored: Any) -> Any:
    """Return an artifact with its arrays read into memory."""
    read = {}
    for field in fields(stored):
        value = getattr(stored, field.name)
        # Read in slices, as arrays of the cache are; arrays in memory stay as they are.
        if (
            hasattr(value, "__array__")
            and not isinstance(value, numpy.ndarray)
            and backend_of(value) == "cpu"
        ):
            read[field.name] = numpy.asarray(value)
    return replace(stored, **read) if read else stored


def ids_of(stored: Any) -> Ids:
    """Return the ids that a `VertexIds` holds."""
    if stored.text is not None:
        from gravel.stages.vertex_ids.dictionary import Dictionary

        buffers = [pyarrow.py_buffer(numpy.asarray(part)) for part in (stored.offsets, stored.text)]
        return Encoded(Dictionary(pyarrow.LargeStringArray.from_buffers(stored.vertex_count, *buffers)))
    values = None if stored.ids is None else numpy.asarray(stored.ids)
    return Integers(stored.vertex_count, stored.first, values)


def vertex_ids_of(ids: Ids) -> VertexIds | None:
    """Return integers or strings as an artifact; None for ids of other kinds."""
    if isinstance(ids, Integers):
        return VertexIds(ids=ids.values, first=ids.first, vertex_count=ids.count)
    if not isinstance(ids, Encoded) or ids.kind != "strings":
        return None
    whole = pyarrow.concat_arrays([ids.dictionary.values])
    _, ends, text = whole.buffers()
    offsets = numpy.frombuffer(ends, numpy.int64)[whole.offset : whole.offset + ids.count + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    content = numpy.frombuffer(text, numpy.uint8)[begin:end] if text else numpy.empty(0, numpy.uint8)
    return VertexIds(vertex_count=ids.count, text=content, offsets=offsets - begin)
