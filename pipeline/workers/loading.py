"""Loading what stages use while something else is still being waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress


def load(*, before_context: Callable[[], object] | None = None, context: bool = False) -> None:
    """Import what nearly every stage uses; with `context` make a CUDA context, too.

    `before_context` is called first, when CuPy is imported. A stage that needs the GPU says what is wrong
    with it, if anything.
    """
    if context:
        with suppress(Exception):
            import cupy

            if before_context is not None:
                before_context()
            cupy.zeros(1)
    import numpy  # noqa: F401
    import zarr  # noqa: F401

    import gravel.kernels.jit  # noqa: F401
