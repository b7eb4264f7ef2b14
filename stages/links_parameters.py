"""What may be asked of links."""

from __future__ import annotations

from typing import Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import Parameters


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
