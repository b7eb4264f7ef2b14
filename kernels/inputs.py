"""Graphs as others hold them, made into what kernels take, without copies where their memory allows it.

SciPy and CuPy sparse matrices, NumPy and CuPy arrays, and whatever speaks DLPack, the CUDA array interface or
NumPy's: PyTorch, JAX, TensorFlow, Numba, RAPIDS. An array on a GPU stays there and needs CuPy here.

    from gravel.kernels.bfs import bfs
    from gravel.kernels.inputs import csr

    rows = csr(matrix)
    result = bfs(*rows, 0, symmetric=is_symmetric(rows))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from gravel.kernels.arrays import backend_of, index_dtype

__all__ = ["CSR", "array", "as_csr", "csr", "edges", "is_symmetric"]

HOST = (1, 3)
"""DLPack's device types that the CPU reads: its own memory, and pinned memory."""

CUDA = (2, 13)
"""Those that CuPy reads: memory of a GPU, and managed memory."""

_UNSIGNED = {numpy.dtype(f"int{bits}"): numpy.dtype(f"uint{bits}") for bits in (32, 64)}
_INDEX = (numpy.dtype(numpy.uint32), numpy.dtype(numpy.uint64))


class CSR(NamedTuple):
    """`row_offsets` int64 (vertices + 1,) and `column_indices` uint32 or uint64 (arcs,), strictly ascending
    within each row: what `gravel.kernels.bfs` and `gravel.kernels.components` take, in their order.
    """

    row_offsets: Any
    column_indices: Any


def array(value: Any) -> Any:
    """Return a NumPy or CuPy array over the memory of an array-like, on the side where it lives.

    Nothing is copied, except for lists and for NumPy arrays of foreign byte order. Raises ValueError for
    memory that neither side reads, for an array on a GPU without CuPy, and for what is no array.
    """
    if isinstance(value, numpy.ndarray):
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if backend_of(value) == "cuda":
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return _cupy("an array on a GPU").asarray(value)
    if hasattr(value, "__dlpack_device__"):
        device = int(value.__dlpack_device__()[0])
        if device in CUDA:
            return _cupy("an array on a GPU").from_dlpack(value)
        if device not in HOST:
            raise ValueError(
                f"an array on a device of DLPack's type {device}; bring it to the CPU or to CUDA"
            )
        return numpy.from_dlpack(value)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return array(numpy.asarray(value))
    if isinstance(value, list | tuple | range):
        return numpy.asarray(value)
    raise ValueError(f"a {type(value).__name__} is no array: it has neither DLPack nor an array interface")


def csr(graph: Any) -> CSR:
    """Return the rows of a graph: an arc v -> w for each stored entry [v, w].

    Parameters
    ----------
    graph : a square sparse matrix or array of SciPy or CuPy in any format (values are not looked at: entries
        that are stored as zeros count), or a pair of arrays `(row_offsets, column_indices)`.

    Returns
    -------
    Rows over the graph's own memory if its columns ascend within each row and occur once; signed columns are
    then read as unsigned ones, and offsets of 32 bits are copied. Other rows are sorted into new memory,
    without duplicates; loops stay.

    Raises ValueError for offsets or columns that make no graph.

    """
    if not _is_sparse(graph):
        return _checked(*_pair(graph, "row_offsets, column_indices"))
    size = _square(graph)
    if graph.format in ("csr", "csc"):
        offsets = array(graph.indptr)
        # SciPy leaves room behind the last column.
        rows = _checked(offsets, array(graph.indices)[: int(offsets[-1])])
        # Columns of a matrix are rows of its transpose.
        return rows if graph.format == "csr" else _turned(rows)
    found = graph.tocoo()
    return _built(array(found.row), array(found.col), size)


def edges(graph: Any) -> tuple[Any, Any]:
    """Return sources and targets, uint32 or uint64 (edges,), of a sparse matrix or of a pair of such arrays.

    A pair, and a matrix in COO format, is taken without a copy. Raises ValueError as `csr` does.
    """
    if not _is_sparse(graph):
        source, target = _pair(graph, "source, target")
        if source.shape != target.shape:
            raise ValueError(f"{len(source)} sources and {len(target)} targets make no edges")
        return _unsigned(source, None), _unsigned(target, None)
    size = _square(graph)
    found = graph.tocoo()
    return _unsigned(array(found.row), size), _unsigned(array(found.col), size)


def is_symmetric(rows: CSR) -> bool:
    """Say whether every arc has its reverse; takes the memory and the time of sorting all arcs."""
    turned = _turned(rows)
    return bool(
        (turned.row_offsets == rows.row_offsets).all()
        and turned.column_indices.shape == rows.column_indices.shape
        and (turned.column_indices == rows.column_indices).all()
    )


def as_csr(row_offsets: Any, column_indices: Any) -> CSR:
    """Take the arrays of a kernel's caller; what has the right types already is not looked at.

    Raises ValueError as `csr` does, and for lists that do not ascend.
    """
    if _is_ready(row_offsets, (numpy.dtype(numpy.int64),)) and _is_ready(column_indices, _INDEX):
        return CSR(row_offsets, column_indices)
    offsets, columns = array(row_offsets), array(column_indices)
    rows = _shaped(offsets, columns)
    if not _ascends(rows):
        raise ValueError("the columns do not ascend within each row; gravel.kernels.inputs.csr sorts them")
    return rows


def _is_ready(value: Any, dtypes: tuple[Any, ...]) -> bool:
    return (isinstance(value, numpy.ndarray) or backend_of(value) == "cuda") and value.dtype in dtypes


def _is_sparse(graph: Any) -> bool:
    return hasattr(graph, "format") and hasattr(graph, "tocoo")


def _pair(graph: Any, names: str) -> tuple[Any, Any]:
    if not isinstance(graph, tuple | list) or len(graph) != 2:
        raise ValueError(f"a {type(graph).__name__} is no graph: give a sparse matrix, or a pair ({names})")
    first, second = array(graph[0]), array(graph[1])
    if backend_of(first) != backend_of(second):
        raise ValueError(f"of the arrays ({names}) one is on a GPU and the other is not")
    return first, second


def _square(matrix: Any) -> int:
    if len(matrix.shape) != 2:
        raise ValueError(f"a sparse array of {len(matrix.shape)} dimensions is no graph: it has to have 2")
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(f"a matrix of {rows} x {columns} is no graph: it has to be square")
    return int(rows)


def _checked(offsets: Any, columns: Any) -> CSR:
    """Take rows as they are if they ascend, else sort them."""
    rows = _shaped(offsets, columns)
    if _ascends(rows):
        return rows
    return _built(_sources(rows), rows.column_indices, len(rows.row_offsets) - 1)


def _shaped(offsets: Any, columns: Any) -> CSR:
    for name, each in (("row_offsets", offsets), ("column_indices", columns)):
        if each.ndim != 1 or (each.dtype.kind not in "iu" and len(each)):
            raise ValueError(
                f"{name} is {each.dtype} with shape {each.shape}; integers in a row are expected"
            )
    offsets = _contiguous(offsets).astype(numpy.int64, copy=False)
    if not len(offsets) or int(offsets[0]) != 0 or int(offsets[-1]) != len(columns):
        raise ValueError(f"row_offsets have to run from 0 to {len(columns)}, the number of columns")
    if bool((offsets[1:] < offsets[:-1]).any()):
        raise ValueError("row_offsets have to ascend")
    return CSR(offsets, _unsigned(columns, len(offsets) - 1))


def _unsigned(columns: Any, size: int | None) -> Any:
    """Read vertex numbers as unsigned ones of the same width; raises ValueError for one that is no vertex."""
    if columns.dtype.kind not in "iu":
        if len(columns):
            raise ValueError(f"vertices are {columns.dtype}; integers are expected")
        columns = columns.astype(numpy.uint32)
    columns = _contiguous(columns)
    if columns.dtype.kind == "i" and len(columns) and int(columns.min()) < 0:
        raise ValueError(f"{int(columns.min())} is no vertex")
    if size is not None and len(columns) and int(columns.max()) >= size:
        raise ValueError(f"{int(columns.max())} is no vertex of {size:,}, which are counted from 0")
    if columns.dtype.itemsize < 4:
        return columns.astype(numpy.uint32)
    return columns.view(_UNSIGNED.get(columns.dtype, columns.dtype))


def _contiguous(each: Any) -> Any:
    return each if each.flags.c_contiguous else each.copy()


def _ascends(rows: CSR) -> bool:
    columns = rows.column_indices
    falls = columns[1:] <= columns[:-1]
    starts = rows.row_offsets[1:-1]
    falls[starts[(starts > 0) & (starts < len(columns))] - 1] = False
    return not bool(falls.any())


def _sources(rows: CSR) -> Any:
    """Write each row's number once for each of its arcs."""
    count, arcs = len(rows.row_offsets) - 1, len(rows.column_indices)
    if backend_of(rows.row_offsets) == "cpu":
        return numpy.repeat(numpy.arange(count, dtype=index_dtype(count)), numpy.diff(rows.row_offsets))
    cupy = _cupy("rows on a GPU")  # whose repeat takes no array of counts
    places = cupy.arange(arcs, dtype=numpy.int64)
    return (cupy.searchsorted(rows.row_offsets, places, side="right") - 1).astype(index_dtype(count))


def _turned(rows: CSR) -> CSR:
    """Turn every arc around."""
    return _built(rows.column_indices, _sources(rows), len(rows.row_offsets) - 1)


def _built(source: Any, target: Any, size: int) -> CSR:
    from gravel.kernels.csr import build

    dtype = index_dtype(size)
    source, target = (_unsigned(each, size).astype(dtype, copy=False) for each in (source, target))
    rows = build(source, target, size, direction="as_given", keep_loops=True)
    return CSR(rows.row_offsets, rows.column_indices)


def _cupy(what: str) -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ValueError(f"{what} needs CuPy: pip install 'gravel[gpu]' ({error})") from error
    return cupy
