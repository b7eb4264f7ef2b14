"""Sizes of artifacts, the machine, and the memory that a stage run and its publishing take.

It imports little, so that the records of a cache are read without Pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass

from gravel.kernels.buffers import Buffer, Table, exact, table

PUBLISHING_BYTES = 16 << 20
"""Of a result, however large: pieces of 1 MiB that up to 16 threads read back and digest."""


@dataclass(frozen=True)
class Extent:
    """The size of an artifact, or its bound: enough to state what the next stage needs.

    `arcs` counts edges for an `EdgeList`; `bytes` is the sum of its arrays, uncompressed. `kind` is the
    artifact's type name. `searches` counts rows of a BFS `Traversal`. `directed` says that
    arcs may lack their reverse. `normal_arcs` counts the arcs between normal vertices of a `Partition`, also
    of a compressed one; None marks what is no partition. `ranks` counts its ranks, 0 for anything else, and
    `striped` says that it has no delegates. `weighted` says that the arcs of
    a graph have weights, and of a `Traversal` that it went by them; `direction` is that of a `Traversal`, and
    `strong` says that its components are strongly connected ones.
    """

    kind: str
    vertices: int = 0
    arcs: int = 0
    bytes: int = 0
    searches: int = 0
    directed: bool = False
    normal_arcs: int | None = None
    ranks: int = 0
    striped: bool = False
    weighted: bool = False
    direction: str = "out"
    strong: bool = False


@dataclass(frozen=True)
class Machine:
    """The part of the machine that a stage run may plan with."""

    backend: str  # "cpu" or "cuda"
    threads: int
    host_memory: int  # bytes that this stage run may use
    device_memory: int = 0  # bytes, 0 without a GPU


@dataclass(frozen=True)
class Need:
    """Memory that a stage run takes at its peak, above an idle worker, and its outputs.

    Arrays of inputs are not part of it: they are mapped files, or results that are counted where they lie.
    Nor are those that go into sinks.

    `refusal` says why it cannot run within its own parameters, with the numbers; such a run is not started.
    `note` is what `plan` says beside: why the CPU does what a GPU might.
    """

    host_bytes: int
    device_bytes: int
    outputs: tuple[Extent, ...]
    workers: int = 0  # workers that it would use at the same time; it does without where there are fewer
    least_workers: int = 0  # of them are of use, too; 0: all or none
    each_host_bytes: int = 0  # that each of them takes but the first
    refusal: str = ""
    note: str = ""
    outputs_guessed: bool = False  # its outputs are bounds, with a new vertex for each end of an edge
    guessed: bool = False  # it depends on such bounds, and is checked when they are known


def published(*arrays: Buffer) -> Table:
    """What writing arrays takes that a stage holds, or appends to sinks."""
    return table("host", published=("u1", min(PUBLISHING_BYTES, exact(arrays))))
