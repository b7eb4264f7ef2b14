"""Loading what stages use while something else is still being waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress


def load(*, before_context: Callable[[], object] | None = None, context: bool = False) -> None:
    """Import what nearly every stage uses; with `context` make a CUDA context, too.

    `before_context` is called first, when CuPy is imported. A stage that needs the GPU says what is wrong
    with it, if anything.
    """
    making = None
    if context:
        with suppress(Exception):
            import cupy  # noqa: F401

            making = threading.Thread(target=_make_context, args=(before_context,), name="gravel-context")
            making.start()  # the driver needs no interpreter
    import numpy  # noqa: F401
    import zarr  # noqa: F401

    import gravel.kernels.jit  # noqa: F401

    if making is not None:
        making.join()


def _make_context(first: Callable[[], object] | None) -> None:
    with suppress(Exception):
        import cupy

        if first is not None:
            first()
        cupy.zeros(1)
