"""Launching the kernels of a file on a given stream."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda import blocks_for, load, resident_blocks

BLOCK = 512
"""Threads of a block, as the kernels' launch bounds say."""


class Kernels:
    """The kernels of one file in one variant, on the current device.

    Grids are as large as what runs at the same time, or smaller: kernels stride over the rest.
    """

    def __init__(self, path: str, **macros: object) -> None:
        self._module = load(path, **macros)
        self._found: dict[str, tuple[Any, int]] = {}

    def launch(
        self, name: str, stream: Any, *arguments: Any, blocks: int | None = None, items: int = 0
    ) -> None:
        """Enqueue a kernel: with so many blocks, or enough for so many items, or filling the device.

        Python integers are passed as 64-bit ones.
        """
        if name not in self._found:
            kernel = self._module.get_function(name)
            self._found[name] = kernel, resident_blocks(kernel, BLOCK)
        kernel, most = self._found[name]
        count = most if blocks is None else min(blocks, most)
        if items:
            count = blocks_for(items, BLOCK, most=most)
        given = [numpy.uint64(value) if isinstance(value, int) else value for value in arguments]
        with stream:
            kernel((count,), (BLOCK,), tuple(given))
