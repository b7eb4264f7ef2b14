"""Bit operations on 64-bit words inside CPU kernels, for which Numba has no public functions."""

from __future__ import annotations

from typing import Any

import numpy
from llvmlite import ir
from numba import types

from gravel.kernels.generated import generated


@generated(lambda word: numpy.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64))
def trailing_zeros(typing_context: Any, word: Any) -> tuple[Any, Any]:
    """Give the position of the lowest set bit of a uint64, as uint64; 64 where no bit is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@generated(lambda word: numpy.uint64(int(word).bit_count()))
def set_bits(typing_context: Any, word: Any) -> tuple[Any, Any]:
    """Count the set bits of a uint64, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
