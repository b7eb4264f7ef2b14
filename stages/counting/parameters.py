"""The parameters of `counters`."""

from __future__ import annotations

from typing import Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import Parameters
from gravel.stages.traversal.parameters import RandomSources, TraverseParameters, batched, strategy_names


class CountersParameters(Parameters):
    """Parameters that say how to search, and how long the tool may take."""

    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The strategy, as in `traverse`; one that searches many sources at once is refused."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name."""
    sources: RandomSources = RandomSources(random=1)
    """`{random: k, seed: s}`: the searches. The tool runs every kernel once for each of its passes."""
    output: Literal["both", "distance", "predecessor"] = "both"
    """The labels of each vertex."""
    placement: Literal["auto", "device", "split", "pinned"] = "auto"
    """Where rows are kept, as in `traverse`."""
    device_memory: ByteSize | None = Field(default=None, gt=0)
    """The most GPU memory that a search may take, such as `5.8GB`."""
    tool: Literal["auto", "ncu", "none"] = "auto"
    """`ncu` (Nsight Compute) reads the counters, and fails if it cannot. `auto` then shows counted bytes.
    `none` uses no tool."""
    seconds: float = Field(default=120.0, gt=0, le=86400)
    """The most time for the tool; after that, bytes are counted."""

    @model_validator(mode="after")
    def _fit_together(self) -> CountersParameters:
        if batched(self.searched()):
            raise ValueError(f"strategy {self.strategy} searches many sources at once; counters are of one")
        return self

    def searched(self) -> TraverseParameters:
        """Return the same search as parameters of `traverse`."""
        shared = {
            name: getattr(self, name) for name in ("strategy", "tuning", "sources", "output", "placement")
        }
        limit = {} if self.device_memory is None else {"device_memory": self.device_memory}
        return TraverseParameters(**shared, **limit)
