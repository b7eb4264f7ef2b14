"""The rows that measures search, on the CPU, in GPU memory or pinned in host memory.

Compressed rows are decoded once for all searches of a call. A batch reads each arc one to three times:
batches over encoded rows take 1.4 to 1.9 times as long as over columns (64 and 1,024 sources, Kronecker 22,
H100), and decoding, which reads them once, has paid after two of 64 or one of 1,024.

Where decoded rows do not fit into GPU memory and encoded ones do, searches from many sources read the encoded
ones: decoded rows in pinned host memory take 1.7 to 4 times as long
(`python -m tests.benchmarks.many_sources kron22 --sources 64 1024 --layouts varint blocks elias_fano`).
Where neither fit, the decoded ones go to pinned host memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.distances.sizes import device_bytes, encoded_device_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs import Graph
    from gravel.kernels.layouts import EncodedRows

KEPT = "measured rows"
"""The name under which a graph keeps rows in GPU memory for the measures after this one."""

KEPT_SHARE = 8
"""Rows are kept where they take less than this part of the memory, so that other searches have room."""

FEWEST = 64
"""Sources of the narrowest batch, which must fit beside rows in GPU memory."""

Rows = tuple[Any, Any]


def searched_rows(graph: Graph, name: str) -> tuple[EncodedRows, NDArray[Any] | None, int]:
    """Return rows that many sources are searched from, the permutation, and the bytes that a batch may take.

    Rows are encoded, in GPU memory, where that alone fits and the placement is "auto" or "device"; otherwise
    they are those of `plain_rows`, with its errors, `over_link`.
    """
    from gravel.kernels.layouts import columns_as_rows
    from gravel.stages.traversal.encoded import rows_on_device

    stored: Any = graph._stored
    rows = rows_on_device(stored) if _fits_encoded_alone(graph) else None
    if rows is not None:
        return rows, _permutation(stored), graph._machine.device_memory - _encoded_bytes(stored)
    columns, permutation, memory = plain_rows(graph, name, over_link=True)
    return columns_as_rows(*columns), permutation, memory


def plain_rows(graph: Graph, name: str, *, over_link: bool = False) -> tuple[Rows, NDArray[Any] | None, int]:
    """Return plain rows where they are searched, the permutation, and the bytes that a batch may take.

    With `over_link` columns may be a CuPy array over pinned host memory: where the graph was placed so, or
    where its placement is "auto" and they do not fit into GPU memory. Raises ValueError for rows that a GPU
    would read in host memory in another way, and `NotEnoughMemory`.
    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.memory import free_host_bytes, refuse, refuse_device

    machine, placement = graph._machine, graph._placement
    stored: Any = graph._stored
    permutation = _permutation(stored)
    if machine.backend == "cpu":
        if hasattr(stored, "stream"):
            hint = "Use a machine with more memory"
            refuse(f"{name} of decoded rows", _bytes(graph), machine, graph._host_memory, hint)
        rows = tuple(map(on_host, _decoded(stored, "cpu")))
        return (rows[0], rows[1]), permutation, free_host_bytes(machine, graph._host_memory is not None)[0]
    if placement in ("split", "streamed") or (placement == "pinned" and not over_link):
        where, pinned = (" or pinned", "place('pinned'), ") if over_link else ("", "")
        raise ValueError(
            f"{name} reads rows in GPU memory or on the CPU{where}, and these are {placement}; "
            f"place the graph with {pinned}place('device') or place('host')"
        )
    if placement == "pinned" or (over_link and placement == "auto" and not _fits(graph)):
        offsets, columns = _pinned(graph, name)
        return (offsets, columns), permutation, machine.device_memory - int(offsets.nbytes)
    kept: Rows | None = graph._prepared.get(KEPT)
    if kept is None:
        found = _decoded(stored, "cuda")
        refuse_device(name, sum(int(each.nbytes) for each in found), machine)
        kept = on_device(found[0]), on_device(found[1])
        if KEPT_SHARE * _bytes(graph) <= machine.device_memory:
            graph._kept(KEPT, kept)
    return kept, permutation, machine.device_memory - sum(int(each.nbytes) for each in kept)


def _permutation(stored: Any) -> NDArray[Any] | None:
    from gravel.kernels.arrays import on_host

    found = getattr(stored, "permutation", None)
    return None if found is None else on_host(found)


def _decoded(stored: Any, backend: str) -> Rows:
    if hasattr(stored, "stream"):
        from gravel.stages.compressing.decoding import decompress

        stored = decompress(stored, backend=backend)
    return stored.row_offsets, stored.column_indices


def _bytes(graph: Graph) -> int:
    """Count the bytes of decoded rows."""
    from gravel.kernels.arrays import index_dtype

    stored: Any = graph._stored
    n, m = int(stored.vertex_count), int(stored.arc_count)
    return 8 * (n + 1) + index_dtype(n).itemsize * m


def _fits(graph: Graph) -> bool:
    """Whether decoded rows fit into GPU memory: beside encoded ones, and beside the narrowest batch."""
    from gravel.kernels.arrays import index_dtype

    stored: Any = graph._stored
    n, m = stored.vertex_count, stored.arc_count
    encoded = 8 * (n + 1) + len(stored.stream) if hasattr(stored, "stream") else 0
    beside = max(encoded, device_bytes(n, m, index_dtype(n).itemsize, FEWEST))
    return _bytes(graph) + beside <= graph._machine.device_memory


def _encoded_bytes(stored: Any) -> int:
    """Count the bytes of encoded rows on a GPU, where a stream that is there is copied to be padded."""
    from gravel.kernels.arrays import backend_of
    from gravel.kernels.layouts.layout import padded
    from gravel.kernels.placement.device_copies import where_it_is

    size, vertices = len(stored.stream), int(stored.vertex_count)
    twice = padded(size) != size and backend_of(where_it_is(stored.stream)) == "cuda"
    return 8 * (vertices + 1) + padded(size) + (size if twice else 0)


def _fits_encoded_alone(graph: Graph) -> bool:
    """Whether a GPU has room for encoded rows beside the narrowest batch, and not for decoded ones."""
    from gravel.kernels.arrays import index_dtype

    stored: Any = graph._stored
    if graph._machine.backend == "cpu" or graph._placement not in ("auto", "device"):
        return False
    if not hasattr(stored, "stream") or stored.codec == "csr" or _fits(graph):
        return False
    n = stored.vertex_count
    beside = encoded_device_bytes(n, len(stored.stream), index_dtype(n).itemsize, FEWEST)
    return _encoded_bytes(stored) + beside <= graph._machine.device_memory


def _pinned(graph: Graph, name: str) -> Rows:
    """Decode rows in host memory, and pin the columns."""
    from gravel.errors import NotEnoughMemory
    from gravel.kernels.arrays import on_host
    from gravel.kernels.placement.device_copies import on_device
    from gravel.kernels.placement.pinned import PinnedRefused, pin
    from gravel.kernels.placement.placed import in_pages
    from gravel.memory import refuse

    what = f"{name}, which a GPU searches in host memory here,"
    refuse(what, _bytes(graph), graph._machine, graph._host_memory, "Use a machine with more memory")
    offsets, columns = _decoded(graph._stored, "cpu")
    try:
        return on_device(offsets), pin(in_pages(on_host(columns))).view()
    except PinnedRefused as error:
        raise NotEnoughMemory(
            f"{name} reads rows over the link to the GPU, and the system refuses pinned memory ({error}). "
            "Place the graph with place('host')"
        ) from None
