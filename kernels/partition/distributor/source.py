"""A generator and its parameters: all that a rank needs to make any edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gravel.kernels.generate import ON_DEVICE, generate, size


@dataclass(frozen=True)
class EdgeSource:
    """An undirected graph by its recipe; `name` and `arguments` are those of `gravel.kernels.generate`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vertices(self) -> int:
        """Count the vertices; raises ValueError for a generator or a parameter that cannot be."""
        return size(self.name, **self.arguments).vertices

    @property
    def edges(self) -> int:
        """Count the edges as listed, loops and repetitions included."""
        return size(self.name, **self.arguments).edges

    def make(self, first: int, count: int, backend: str = "cpu") -> tuple[Any, Any]:
        """Make edges `first` to `first + count`; CuPy arrays for "cuda", with whichever generator."""
        if backend == "cpu" or self.name in ON_DEVICE:
            return generate(self.name, first=first, count=count, backend=backend, **self.arguments)
        import cupy

        source, target = generate(self.name, first=first, count=count, **self.arguments)
        return cupy.asarray(source), cupy.asarray(target)
