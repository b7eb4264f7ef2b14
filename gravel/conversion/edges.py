"""Edges or rows, and weights, of data in memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gravel.conversion import arrow
from gravel.conversion.converted import Edges, Rows
from gravel.conversion.ids import Ids, Integers, Objects
from gravel.stages.edge_columns import Columns

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine


def of_table(
    data: Any, asked: dict[str, Any], weights: Any, directed: bool | None, machine: Machine
) -> tuple[Edges, Any]:
    """Return the edges of a table, and their weights, unchecked; None where `weights` is None.

    `asked` are the labels of the ends and the filter, each where it is asked for.
    """
    from gravel.stages.filters import parse

    of_column = arrow.as_label(weights, data)
    columns = Columns(arrow.end_of(asked, "source", data), arrow.end_of(asked, "target", data), of_column)
    rows = parse(asked["filter"]) if "filter" in asked else None
    found = arrow.from_table(
        data,
        columns,
        weights=weights is True or of_column is not None,
        directed=bool(directed),
        rows=rows,
        machine=machine,
    )
    if weights is None or found.weights is not None:
        return found.edges, found.weights
    return found.edges, weights if found.kept is None else _kept_weights(weights, found.kept)


def of_data(data: Any, weights: Any, directed: bool | None, machine: Machine) -> tuple[Edges | Rows, Any]:
    """Return the edges of data that is no table, in its order, and their weights, unchecked.

    Without weights NetworkX's graphs, and matrices of directed graphs, come as rows.
    """
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return (_rows_of_networkx(data), None) if weights is None else _edges_of_networkx(data, weights)
    if hasattr(data, "tocoo") and hasattr(data, "format"):
        return _of_matrix(data, weights, directed)
    if isinstance(data, tuple | list) or (getattr(data, "ndim", None) == 2 and data.shape[1] == 2):
        if isinstance(weights, str | int):  # True is an integer.
            raise TypeError("the weights of edges in arrays are an array of one number for each")
        return from_arrays(data, machine), weights
    if weights is not None:
        raise TypeError(f"a {type(data).__name__} is nothing that has weights")
    shape = getattr(data, "shape", None)
    what = f"{type(data).__name__}{'' if shape is None else f' of shape {shape}'}"
    raise TypeError(
        f"cannot make a graph of {what}: give (sources, targets), a list of pairs, an array of two columns, "
        "a table, a sparse matrix, a NetworkX graph, or the path of a file"
    )


def from_arrays(data: Any, machine: Machine | None = None) -> Edges:
    """Return the edges of `(sources, targets)`, of an array (edges, 2), or of a list of pairs.

    Raises TypeError for what is no id, and ValueError for ends that differ in number.
    """
    source, target = _ends(data)
    if len(source) != len(target):
        raise ValueError(f"{len(source):,} sources and {len(target):,} targets make no edges")
    from gravel.kernels.arrays import backend_of

    if "cuda" in (backend_of(source), backend_of(target)):
        from gravel.conversion.cupy import from_device

        return from_device(source, target)
    from gravel.conversion.columns import numbered

    return numbered(_column(source, "source"), _column(target, "target"), machine=machine)


def _ends(data: Any) -> tuple[Any, Any]:
    if not isinstance(data, tuple | list):
        whole = _array(data)
        return whole[:, 0], whole[:, 1]
    if not len(data):
        return [], []
    if isinstance(data, list) and _may_be_pairs(data):
        raise ValueError(
            "a list of two sequences may be two edges or both ends of all: give a list of tuples, "
            "[(1, 2), (3, 4)], for edges, and a tuple of two, ([1, 3], [2, 4]), for sources and targets"
        )
    if isinstance(data, list) and all(isinstance(each, tuple | list) for each in data):
        wrong = next((row for row, each in enumerate(data) if len(each) != 2), None)
        if wrong is not None:
            raise ValueError(f"edge {wrong} has {len(data[wrong])} ends; expected 2")
        return [each[0] for each in data], [each[1] for each in data]
    if len(data) != 2:
        raise ValueError(
            f"a {type(data).__name__} of {len(data)} makes no edges; give two sequences, (sources, targets), "
            "or a list of pairs"
        )
    return _array(data[0]), _array(data[1])


def _may_be_pairs(data: list[Any]) -> bool:
    """Say whether a list may be two pairs as well as two sequences of ends."""
    if len(data) != 2 or all(isinstance(each, tuple) for each in data):
        return False
    if any(isinstance(each, list) for each in data):
        return True
    return all(hasattr(each, "__len__") and not isinstance(each, str) and len(each) == 2 for each in data)


def _array(value: Any) -> Any:
    """Return a sequence that Arrow or NumPy reads as it is, anything else as an array."""
    if isinstance(value, list | tuple | range):
        return value
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise TypeError(f"the ends of edges are in a {type(value).__name__}; lists or arrays are expected")
    if hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__"):
        return value
    from gravel.kernels.inputs import array

    found = array(value)
    if found.ndim > 2:
        raise ValueError(f"the ends of edges are an array of {found.ndim} dimensions; 1 is expected")
    return found


def _column(values: Any, name: str) -> Any:
    import numpy
    import pyarrow

    from gravel.stages.texts.moments import in_single_units

    if isinstance(values, list | tuple | range) or getattr(getattr(values, "dtype", None), "kind", "") == "O":
        arrow.refuse_mixed(values, name)
    if isinstance(values, numpy.ndarray):
        if values.ndim != 1:
            raise ValueError(f"the {name}s are an array of {values.ndim} dimensions; 1 is expected")
        if values.dtype.kind not in "iufOUSMbT":
            raise TypeError(f"the {name}s are {values.dtype}, which are no vertex ids")
        values = in_single_units(values)
    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return values
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pyarrow.chunked_array(values)
        return arrow.exact(values, pyarrow.array(values, from_pandas=True), name)
    except OverflowError:
        raise TypeError(
            f"the {name}s have an id beyond the integers of 64 bits; give such ids as strings"
        ) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"the {name}s have {error.object!r}, which is no text in Unicode") from None
    except pyarrow.ArrowException as error:
        raise TypeError(f"the {name}s are no vertex ids: {error}") from None


def _of_matrix(data: Any, weights: Any, directed: bool | None) -> tuple[Edges | Rows, Any]:
    """Return the entries of a square sparse matrix of SciPy or CuPy, stored zeros included.

    Vertex v is row and column v. Raises ValueError for a matrix that is not square or whose indices make no
    graph.
    """
    from gravel.kernels import inputs
    from gravel.kernels.arrays import index_dtype

    if weights is None and directed:
        rows = inputs.csr(data)
        count = len(rows.row_offsets) - 1
        # The graph has memory of its own: the matrix may change.
        columns = rows.column_indices.astype(index_dtype(count))
        return Rows(rows.row_offsets.copy(), columns, Integers(count), directed=True), None
    if weights is not None and weights is not True:
        raise TypeError("the weights of a sparse matrix are its values: give weights=True")
    source, target = inputs.edges(data)
    edges = Edges(source, target, Integers(int(data.shape[0])))
    return edges, None if weights is None else data.tocoo().data


def _rows_of_networkx(data: Any) -> Rows:
    from gravel.conversion.networkx import nodes_of, rows_of
    from gravel.kernels.inputs import csr

    nodes = nodes_of(data)
    rows = csr(tuple(rows_of(data, nodes)))
    directed = bool(data.is_directed())
    return Rows(
        rows.row_offsets, rows.column_indices, _ids_of(nodes), directed=directed, symmetric=not directed
    )


def _edges_of_networkx(data: Any, attribute: Any) -> tuple[Edges, Any]:
    import numpy

    from gravel.conversion.networkx import nodes_of
    from gravel.kernels.arrays import index_dtype

    attribute = "weight" if attribute is True else attribute
    nodes = nodes_of(data)
    vertex = {node: i for i, node in enumerate(nodes)}
    triples = list(data.edges(data=attribute))
    for u, v, weight in triples:
        if weight is None:
            raise ValueError(f"the edge ({u!r}, {v!r}) has no attribute {attribute!r}")
    dtype = index_dtype(len(nodes))
    source = numpy.fromiter((vertex[u] for u, _, _ in triples), dtype, len(triples))
    target = numpy.fromiter((vertex[v] for _, v, _ in triples), dtype, len(triples))
    # Without edges NumPy would make floats of nothing.
    weights = numpy.array([weight for _, _, weight in triples] or numpy.zeros(0, numpy.int64))
    return Edges(source, target, _ids_of(nodes), directed=bool(data.is_directed())), weights


def _ids_of(nodes: list[Any]) -> Ids:
    from gravel.conversion.networkx import is_range

    return Integers(len(nodes)) if is_range(nodes) else Objects(nodes)


def _kept_weights(weights: Any, kept: Any) -> Any:
    """Return the weights of the rows that a filter keeps; raises ValueError for another number of rows."""
    import numpy

    from gravel.kernels.arrays import on_host

    values = weights if numpy.ma.isMaskedArray(weights) else numpy.asarray(on_host(weights))
    if values.shape[:1] != kept.shape:
        raise ValueError(f"there are {len(values):,} weights and {len(kept):,} rows")
    return values[kept]


def checked_weights(edges: Edges, found: Any) -> Any:
    """Return weights as an array of NumPy, one number for each edge.

    Raises TypeError for weights that are no numbers, and ValueError for another number of weights than edges
    and for one that is negative, NaN or infinite, with the edge.
    """
    import numpy

    from gravel.kernels.arrays import on_host

    if numpy.ma.is_masked(found):
        row = int(numpy.flatnonzero(numpy.ma.getmaskarray(found))[0])
        raise ValueError(f"the weights are null in row {row}; an edge needs its weight: drop such rows")
    values = numpy.asarray(on_host(found))
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        raise TypeError(
            f"weights are of type {values.dtype} and shape {values.shape}; one number for each edge is "
            "expected"
        )
    if len(values) != len(edges.source):
        raise ValueError(f"there are {len(values):,} weights and {len(edges.source):,} edges")
    wrong = numpy.flatnonzero(~((values >= 0) & (values < numpy.inf)))
    if len(wrong):
        ends = numpy.array([int(each[int(wrong[0])]) for each in (edges.source, edges.target)])
        source, target = edges.ids.listed(ends)
        raise ValueError(
            f"the edge ({source!r}, {target!r}) has the weight {values[wrong[0]]}; weights must be finite "
            "and not negative"
        )
    return values.astype(numpy.float32) if values.dtype == numpy.float16 else values
