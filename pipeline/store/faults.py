"""Reading all of an artifact: what is wrong with it, if anything is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gravel.pipeline.core.errors import DamagedArtifact
from gravel.pipeline.store.layout import Layout
from gravel.pipeline.store.metadata import METADATA, read_attributes, read_metadata

if TYPE_CHECKING:
    from gravel.pipeline.store.records import ArtifactRecord

VERIFY_THREADS = 8
"""Artifacts that are read at the same time, at most; large arrays have threads of their own."""


def find_fault(record: ArtifactRecord, count: Callable[[int], None] = lambda size: None) -> str | None:
    """Read every file of an artifact and make its id again; return what is wrong first, or None.

    `count` is called with the sizes of what was read.
    """
    from gravel.pipeline.store.reader import open_array

    try:
        check_metadata(record, count)
        for name in record.arrays:
            open_array(record, name).verify()
            count(sum(file.size for file in record.files_of(name) if file.blake3 is None))
    except DamagedArtifact as error:
        return error.reason
    return None


def check_metadata(record: ArtifactRecord, count: Callable[[int], None] = lambda size: None) -> None:
    """Read all files of an artifact but those of its arrays; raises `DamagedArtifact`."""
    from gravel.pipeline.store.identity import WrongContent, check_id

    place = record.root, record.inside, record.id, record.files
    layouts = {f"{name}/{METADATA}": Layout(*shape) for name, shape in record.arrays.items()}
    try:
        check_id(record, read_attributes(*place))
    except WrongContent as error:
        raise DamagedArtifact(record.id, str(error)) from error
    for file in record.files:
        if file.blake3 is not None:
            text = read_metadata(*place, file.path)
            if file.path in layouts and text != layouts[file.path].metadata():
                problem = f"{file.path} is not that of an array of its dtype and shape"
                raise DamagedArtifact(record.id, problem)
            count(file.size)


def find_faults(
    records: Sequence[ArtifactRecord], count: Callable[[int], None] = lambda size: None
) -> dict[str, str]:
    """Return what is wrong with each artifact that is damaged, as `find_fault` does."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(VERIFY_THREADS) as pool:
        found = pool.map(lambda record: find_fault(record, count), records)
        return {record.id: fault for record, fault in zip(records, found, strict=True) if fault is not None}
