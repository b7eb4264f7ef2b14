"""How streams end, so that kernels may load whole words."""

from __future__ import annotations

from typing import Any

from gravel.kernels.strategy import backend_of

ALIGNMENT = 16
"""Bytes that a stream's length is a multiple of: the widest load of a lane."""


def padded(size: int) -> int:
    """Round a number of bytes up to a multiple of `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def array_module(array: Any) -> Any:
    """CuPy for its arrays, else NumPy."""
    import numpy

    if backend_of(array) == "cuda":
        import cupy

        return cupy
    return numpy


def pad(stream: Any) -> Any:
    """Append zero bytes up to a multiple of `ALIGNMENT`; an array that ends there comes back itself.

    A host's copy can be pinned as it is.
    """
    rest = padded(len(stream)) - len(stream)
    if not rest:
        return stream
    module = array_module(stream)
    if backend_of(stream) == "cuda":
        return module.concatenate([stream, module.zeros(rest, stream.dtype)])
    from gravel.kernels.placement.pinned import pinnable

    whole = pinnable(len(stream) + rest, stream.dtype)
    whole[: len(stream)] = stream
    whole[len(stream) :] = 0
    return whole
