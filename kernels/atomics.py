"""Atomic operations on array elements inside CPU kernels, for which Numba has no public functions.

Each works on a contiguous one-dimensional array of int32, int64, uint32 or uint64, is sequentially
consistent, and returns the element's value from before.

| function | does |
|---|---|
| `atomic_load(array, index)` | read |
| `atomic_store(array, index, value)` | write, returning nothing |
| `fetch_add(array, index, value)` | add |
| `fetch_or(array, index, value)` | set bits |
| `fetch_min(array, index, value)` | keep the smaller |
| `compare_and_swap(array, index, expected, desired)` | write `desired` if the element is `expected` |

`pause()` gives the processor to whoever waits for it; `rest(microseconds)` sleeps.
"""

from __future__ import annotations

import operator
import time
from functools import partial
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from gravel.kernels.generated import changed, external, generated

_ELEMENTS = (types.int32, types.int64, types.uint32, types.uint64)
_ORDER = "seq_cst"

pause = external(types.ExternalFunction("sched_yield", types.int32()), partial(time.sleep, 0))
rest = external(
    types.ExternalFunction("usleep", types.int32(types.uint32)),
    lambda microseconds: time.sleep(microseconds / 1e6),
)


def _element(array: Any) -> Any:
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"):
        raise TypingError(f"atomics need a contiguous one-dimensional array, not {array}")
    if array.dtype not in _ELEMENTS:
        raise TypingError(f"atomics need 32- or 64-bit integers, not {array.dtype}")
    return array.dtype


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    return cgutils.gep_inbounds(builder, view.data, index)


def _update(array: Any, operation: str) -> tuple[Any, Any]:
    element = _element(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, index, value = arguments
        pointer = _pointer(context, builder, signature.args[0], values, index)
        return builder.atomic_rmw(operation, pointer, value, _ORDER)

    return element(array, types.intp, element), generate


@generated(changed(operator.add))
def fetch_add(typing_context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Add `value` to array[index] and return what was there."""
    return _update(array, "add")


@generated(changed(operator.or_))
def fetch_or(typing_context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Set the bits of `value` in array[index] and return what was there."""
    return _update(array, "or")


@generated(changed(min))
def fetch_min(typing_context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Lower array[index] to `value` if that is smaller and return what was there."""
    return _update(array, "min" if _element(array).signed else "umin")


@generated(changed(lambda before, expected, desired: desired if before == expected else before))
def compare_and_swap(
    typing_context: Any, array: Any, index: Any, expected: Any, desired: Any
) -> tuple[Any, Any]:
    """Write `desired` to array[index] if it holds `expected`; return what it held."""
    element = _element(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, index, expected, desired = arguments
        pointer = _pointer(context, builder, signature.args[0], values, index)
        return builder.extract_value(builder.cmpxchg(pointer, expected, desired, _ORDER, _ORDER), 0)

    return element(array, types.intp, element, element), generate


@generated(changed(lambda before: before))
def atomic_load(typing_context: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """Read array[index], never from a register."""
    element = _element(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, index = arguments
        pointer = _pointer(context, builder, signature.args[0], values, index)
        return builder.load_atomic(pointer, _ORDER, element.bitwidth // 8)

    return element(array, types.intp), generate


@generated(changed(lambda before, value: value))
def atomic_store(typing_context: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any]:
    """Write array[index] so that whoever reads it sees every earlier write of this thread."""
    element = _element(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, index, value = arguments
        pointer = _pointer(context, builder, signature.args[0], values, index)
        builder.store_atomic(value, pointer, _ORDER, element.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, types.intp, element), generate
