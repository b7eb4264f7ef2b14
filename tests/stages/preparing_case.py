"""What tests of partition and compress on a device share: graphs, contexts, and results side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from gravel.stages.artifacts import CompressedGraph, Graph, Partition
from gravel.stages.compress import CompressParameters, compress
from gravel.stages.context import PlainContext
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.stage import Machine
from gravel.stages.verifying.host import on_host
from tests.kernels.cuda_case import fast_csr
from tests.stages.traverse_case import as_graph
from tests.zoo import ZooGraph

ROOM = 1 << 30
CODECS = ("csr", "varint", "blocks", "elias_fano")
ASKED: list[dict[str, Any]] = [
    *({"ranks": ranks, "threshold": threshold} for ranks in (1, 3) for threshold in (0, 6, "auto")),
    {"ranks": 18, "threshold": 3},
    {"ranks": 3, "scheme": "striped"},
    {"ranks": 70, "scheme": "striped"},
]
"""Of partition: few ranks, and more than are made at once."""


class Keeping(PlainContext):
    """A context whose results stay on the device."""

    keeps_device_arrays = True


class Refusing:
    """An array of a device that does not become one of the host unless it is asked to, as CuPy's do not."""

    def __init__(self, array: Any) -> None:
        self._array, self.dtype, self.nbytes = array, array.dtype, array.nbytes

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, wanted: Any) -> Refusing:
        return Refusing(self._array[wanted])

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self) -> Any:
        return self._array.copy()


Refusing.__module__ = "cupy"


def words(asked: dict[str, Any]) -> str:
    """Name a test by its parameters."""
    return " ".join(map(str, asked.values()))


def graph_of(member: ZooGraph, symmetric: bool = True, index: Any = numpy.uint32) -> Graph:
    offsets, columns = fast_csr(member, symmetric=symmetric, index=index)
    return as_graph(offsets, columns, symmetric=symmetric)


def machine(backend: str, room: int = ROOM) -> Machine:
    return Machine(backend, threads=2, host_memory=1 << 40, device_memory=room)


def placed(graph: Graph, place: Any) -> Graph:
    """Put a graph's arrays elsewhere."""
    return replace(graph, row_offsets=place(graph.row_offsets), column_indices=place(graph.column_indices))


def divided(context: PlainContext, graph: Graph, **asked: Any) -> Partition:
    return partition(context, PartitionParameters(**asked), input=graph)


def divided_on_cpu(graph: Graph, **asked: Any) -> Partition:
    return divided(PlainContext(machine("cpu")), graph, **asked)


def packed(context: PlainContext, stored: Graph | Partition, codec: str) -> CompressedGraph:
    return compress(context, CompressParameters(codec=codec), input=stored)


def packed_on_cpu(stored: Graph | Partition, codec: str) -> CompressedGraph:
    return packed(PlainContext(machine("cpu")), stored, codec)


def assert_equal(found: Any, expected: Any, name: str) -> None:
    assert numpy.array_equal(on_host(found), expected), name
    assert found.dtype == expected.dtype, name


def same_partition(found: Partition, expected: Partition) -> None:
    assert list(found.arrays) == list(expected.arrays)
    for name, array in expected.arrays.items():
        assert_equal(found.arrays[name], array, name)
    assert_equal(found.delegates, expected.delegates, "delegates")
    assert type(found.delegates) is numpy.ndarray
    plain = [replace(each, arrays={}, delegates=None, permutation=None) for each in (found, expected)]
    assert plain[0] == plain[1]


def same_bytes(found: CompressedGraph, expected: CompressedGraph) -> None:
    for name in ("byte_offsets", "stream"):
        assert_equal(getattr(found, name), getattr(expected, name), name)
    facts = {"byte_offsets": None, "stream": None, "permutation": None, "delegates": None}
    assert replace(found, **facts) == replace(expected, **facts)
