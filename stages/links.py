"""links: what messages between ranks take, by their size and by what carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import Extent, Machine, Need, Parameters, Stage

if TYPE_CHECKING:
    from gravel.stages.artifacts import Links
    from gravel.stages.context import Context

STARTED = 40 << 20
"""Measured: a worker that has loaded what carries messages."""


class LinksParameters(Parameters):
    """Between how many ranks, over what, and which sizes."""

    ranks: int = Field(default=2, ge=2, le=64)
    """Workers that exchange messages; one GPU each on a run with GPUs."""
    transports: tuple[Literal["wire", "peer", "nccl"], ...] = ()
    """`wire` (network between workers), `peer` (GPUs that read each other's memory), `nccl`; default: all."""
    smallest: ByteSize = Field(default=ByteSize(64), ge=8)
    """The smallest message, such as `64`."""
    largest: ByteSize = Field(default=ByteSize(1 << 20), ge=8)
    """The largest message, such as `16MiB`."""
    wire_largest: ByteSize = Field(default=ByteSize(16 << 20), ge=8)
    """The largest message and `total` over `wire`, where a MiB takes 10 ms or more."""
    step: int = Field(default=4, ge=2)
    """Factor between the sizes of two messages."""
    total: ByteSize = Field(default=ByteSize(1 << 20), ge=8)
    """Bytes sent to each rank in messages of each size."""
    repeats: int = Field(default=5, ge=1)
    """Repetitions; the median is reported."""
    point_seconds: float = Field(default=0.5, gt=0)
    """The most seconds for one size of one pattern; long ones are repeated less often."""

    @model_validator(mode="after")
    def _fit_together(self) -> LinksParameters:
        if self.smallest > self.largest:
            raise ValueError(f"smallest is {self.smallest} bytes, and largest {self.largest}")
        if len(set(self.transports)) < len(self.transports):
            raise ValueError(f"{', '.join(self.transports)} lists a value twice")
        return self


def links(context: Context, parameters: LinksParameters) -> Links:
    """Time barriers, messages and reductions between ranks, each on its own worker.

    Raises `StageError` for a transport that is not available, and `VerificationFailed` if a message arrives
    changed.
    """
    from gravel.stages.linking import measure_links

    return measure_links(context, parameters)


def _estimate(
    parameters: LinksParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    largest, ranks = int(parameters.largest), parameters.ranks
    # On the wire a message is pickled at both ends and in between, for each other rank.
    flying = min(max(largest, int(parameters.total)), int(parameters.wire_largest))
    host = ranks * STARTED + 6 * ranks * (ranks - 1) * flying
    device = (3 * ranks + 3) * largest if machine.backend == "cuda" else 0
    return Need(host, device, (Extent(kind="Links", bytes=0),))


STAGE = Stage(
    name="links",
    version=2,
    about="Times messages between ranks by their size, over each available transport.",
    parameters=LinksParameters,
    inputs={},
    outputs=("Links",),
    run=links,
    estimate=_estimate,
    measures=True,
    cuda=True,
    ranks=lambda parameters: int(parameters.ranks),
)
