"""Edge arrays: two lists or arrays of ends, one array of two columns, or a list of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.conversion.arrow import exact, refuse_mixed
from gravel.conversion.converted import Edges

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine


def is_pair(data: Any) -> bool:
    """Say whether data is a pair of ends, an array of two columns, or a list of pairs."""
    if isinstance(data, tuple | list):
        return True
    return getattr(data, "ndim", None) == 2 and data.shape[1] == 2


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
    """Whether a list is two sequences that may be two pairs as well."""
    if len(data) != 2 or all(isinstance(each, tuple) for each in data):
        return False
    if any(isinstance(each, list) for each in data):
        return True
    return all(hasattr(each, "__len__") and not isinstance(each, str) and len(each) == 2 for each in data)


def _array(value: Any) -> Any:
    """Return a sequence as it is, if Arrow or NumPy may read it, else as an array."""
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
        refuse_mixed(values, name)
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
        return exact(values, pyarrow.array(values, from_pandas=True), name)
    except OverflowError:
        raise TypeError(
            f"the {name}s have an id beyond the integers of 64 bits; give such ids as strings"
        ) from None
    except UnicodeEncodeError as error:
        raise ValueError(f"the {name}s have {error.object!r}, which is no text in Unicode") from None
    except pyarrow.ArrowException as error:
        raise TypeError(f"the {name}s are no vertex ids: {error}") from None
