"""Graphs in folders of their own: the store's Zarr groups, which a workflow's stage `saved` reads as well.

`graph.json` has the record of each group, with the digests that every read is checked against.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.encoded_ids import Encoded
from gravel.vertex_ids import Objects

if TYPE_CHECKING:
    from gravel.graphs import Graph
    from gravel.vertex_ids import Ids

RECORD = "graph.json"


def save_graph(graph: Graph, path: str | os.PathLike[str]) -> Path:
    """Write a graph to a new folder, which appears when it is whole.

    Raises FileExistsError for a path that is there, and TypeError for ids that Arrow has no type for.
    """
    from gravel.pipeline.core.files import private_files
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.records import RECORD_FORMAT, seal
    from gravel.stored import vertex_ids_of

    target = Path(path).expanduser().absolute()
    if target.exists():
        raise FileExistsError(
            f"{str(path)!r} is there already; remove it, or save the graph under another name"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    ids = graph._ids
    # Before anything is written: ids that cannot be.
    kept = vertex_ids_of(ids)
    listed = graph.vertices if kept is None else None
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with private_files(), Cache(draft / "cache").writer() as writer:
            body: dict[str, Any] = {"format": RECORD_FORMAT, "ids": None}
            body["graph"] = _moved(writer.publish(graph._stored), draft / "graph")
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


def load_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph that `save_graph` wrote, checking it.

    Raises FileNotFoundError where there is none, and ValueError for one that is damaged.
    """
    from gravel.graphs import Graph
    from gravel.memory import refuse, this_machine
    from gravel.pipeline.core.errors import DamagedArtifact
    from gravel.pipeline.store.opening import read_file
    from gravel.pipeline.store.reader import open_artifact
    from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord, unseal
    from gravel.stored import in_memory

    folder = Path(path).expanduser()
    if not (folder / RECORD).exists():
        raise FileNotFoundError(f"{str(path)!r} holds no graph that was saved: it has no {RECORD}")
    try:
        body = unseal(read_file(folder, RECORD))
        record = ArtifactRecord.from_json(body["graph"], folder, 0.0, ".")
        machine = this_machine()
        refuse(
            "the saved graph", record.bytes, machine, None, "Use a machine with more memory, or a workflow"
        )
        stored: Any = in_memory(open_artifact(record))
        return Graph(stored, _ids(folder, body), machine=machine)
    except (DamagedArtifact, BrokenRecord, KeyError, OSError) as error:
        raise ValueError(f"the graph saved in {str(path)!r} is damaged: {error}; save it again") from error


def _moved(record: Any, folder: Path) -> dict[str, Any]:
    record.path.rename(folder)
    return dict(record.to_json()) | {"data": folder.name}


def _write_arrow(ids: Any, file: Path) -> dict[str, Any]:
    import pyarrow
    from blake3 import blake3

    table = pyarrow.table({"id": ids})
    with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {"file": file.name, "blake3": blake3(file.read_bytes()).hexdigest()}


def _ids(folder: Path, body: dict[str, Any]) -> Ids:
    from gravel.pipeline.store.opening import read_file
    from gravel.pipeline.store.reader import open_artifact
    from gravel.pipeline.store.records import ArtifactRecord, BrokenRecord
    from gravel.stored import ids_of

    if body["ids"] is not None:
        return ids_of(open_artifact(ArtifactRecord.from_json(body["ids"], folder, 0.0, ".")))
    import pyarrow
    from blake3 import blake3

    content = read_file(folder, body["arrow"]["file"], None)
    if blake3(content).hexdigest() != body["arrow"]["blake3"]:
        raise BrokenRecord("its ids are not those that were saved")
    with pyarrow.ipc.open_file(pyarrow.py_buffer(content)) as reader:
        values = reader.read_all()["id"].combine_chunks()
    return ids_in_order(values)


def ids_in_order(values: Any) -> Ids:
    """Return the ids of vertices 0, 1, 2, ...: found by bisection where they ascend, else by a table."""
    import pyarrow.compute as compute

    from gravel.id_types import plain
    from gravel.stages.vertex_ids.dictionary import Dictionary

    stored = plain(values)
    if len(stored) < 2 or bool(compute.all(compute.less(stored[:-1], stored[1:])).as_py()):
        return Encoded(Dictionary(values))
    return Objects(values.to_pylist())
