"""Arrays of an artifact that other processes write, each into a folder of its writer, which adopts it."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.store.sharing import mask_for
from gravel.pipeline.store.sink import ArraySink, WriteThreads, manifest_of
from gravel.pipeline.store.stored_array import StoredArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@dataclass(frozen=True)
class SinksElsewhere:
    """Makes sinks in any process that sees the cache (`gravel.stages.context.SinkMaker`).

    On another host than the writer's, small files are on the disk, too, before an array counts as written.
    """

    root: Path
    folder: Path
    host: str
    durable: bool
    passing: bool

    @contextmanager
    def open(self) -> Iterator[Callable[[DTypeLike], ArraySink]]:
        """Give what starts an array; what was closed is on the disk at the end, as far as it has to be."""
        # Workers of an existing cluster have the mask of whoever started them.
        os.umask(mask_for(self.root))
        threads, sinks = WriteThreads(), list[ArraySink]()

        def sink(dtype: DTypeLike) -> ArraySink:
            sinks.append(
                ArraySink(
                    self.folder / uuid.uuid4().hex,
                    dtype,
                    (),
                    threads,
                    root=self.root,
                    durable=self.durable or self.host != socket.gethostname(),
                    passing=self.passing,
                    before_each=lambda: None,
                )
            )
            return sinks[-1]

        try:
            yield sink
            for each in sinks:
                each.wait()
        finally:
            for each in sinks:
                each.abandon()
            threads.close()


class WrittenElsewhere(ArraySink):
    """The sink of an array that another process has written and closed."""

    def __init__(self, array: StoredArray, threads: WriteThreads) -> None:
        super().__init__(
            array.folder,
            array.dtype,
            array.shape[1:],
            threads,
            root=array.root,
            durable=False,
            passing=True,
            before_each=lambda: None,
        )
        self.closed, self.manifest = array, manifest_of(array.layout)
