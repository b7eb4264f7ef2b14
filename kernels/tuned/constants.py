"""The constants that `gravel doctor --tune` measures: those that decide directions, and who works on a level.

A default is what a search takes where nothing was measured; `docs/tuning.md` says where each comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from gravel.kernels.cuda.source import read_source

Value = int | float


@dataclass(frozen=True)
class Constant:
    """A parameter of a strategy's CUDA `prepare`, and on which graph its values are compared."""

    strategy: str
    parameter: str
    default: Value
    others: Sequence[Value]
    graph: str  # of `gravel.kernels.probes.tuning.GRAPHS`
    file: str  # kernel that it belongs to

    @property
    def name(self) -> str:
        """How it is stored and printed."""
        return f"{self.strategy}.{self.parameter}"

    @property
    def values(self) -> tuple[Value, ...]:
        """Return what is compared, the default first."""
        return (self.default, *self.others)

    def kernel(self) -> str:
        """Digest the default and the kernel's text: after a change of either, a measurement is void."""
        return hashlib.sha256(f"{self.default}\n{read_source(self.file)}".encode()).hexdigest()[:16]


def _of(strategy: str, graph: str, **values: tuple[Value, ...]) -> tuple[Constant, ...]:
    return tuple(
        Constant(strategy, name, default, others, graph, f"kernels/bfs/{strategy}.cu")
        for name, (default, *others) in values.items()
    )


CONSTANTS: tuple[Constant, ...] = (
    # When a search turns bottom-up, and back.
    *_of("direction_optimizing", "Kronecker", alpha=(25.0, 6.0, 12.0, 50.0), beta=(24.0, 12.0, 48.0)),
    *_of("multi_source", "Kronecker", alpha=(16.0, 4.0, 64.0)),
    # From how many arcs on a level is the whole grid's.
    *_of("direction_optimizing", "3-D grid", team_limit=(1 << 16, 1 << 14, 1 << 18)),
    # How many vertices of a small frontier a block works on, and for how many levels between barriers.
    *_of("persistent", "grid", target=(24, 12, 48), hops=(8, 4, 16), calm_hops=(24, 12, 48)),
    # How many threads a launch has, and when a vertex waits for one that fills the device.
    *_of(
        "flex",
        "Kronecker",
        headroom=(8, 4, 16),
        shrink=(64, 16, 256),
        hub_degree=(64, 32, 256),
        hub_share=(16, 4, 64),
    ),
    # Threads of a block.
    *_of("expand_contract", "Kronecker", block=(512, 256)),
    *_of("multi_source", "Kronecker", block=(256, 128, 512)),
)
