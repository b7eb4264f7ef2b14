"""The parameters of `graph500`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from gravel.stages.stage import Parameters
from gravel.stages.traversal.parameters import (
    RandomSources,
    TraverseParameters,
    batched,
    checked_strategy,
    strategy_names,
)

KEYS = 64
"""Searches of a result by the rules."""

EDGE_FACTOR = 16


class Graph500Parameters(Parameters):
    """The size of the problem, and how to search."""

    scale: int = Field(ge=1, le=40, strict=True)
    """SCALE: logarithm of the number of vertices to base 2."""
    edge_factor: int = Field(default=EDGE_FACTOR, ge=1, strict=True)
    """Edges per vertex; the rules ask for 16."""
    seed: int = Field(default=1, ge=0)
    """The seed of the generator."""
    searches: int = Field(default=KEYS, ge=1)
    """Search keys; the rules ask for 64. Smaller graphs use all vertices with a neighbour."""
    key_seed: int = Field(default=2, ge=0)
    """The seed of the search keys."""
    setup: Literal["each_search", "once"] = "each_search"
    """When to build structures of the graph, such as first neighbours. `each_search` builds them within the
    time of every search, as the rules ask. `once` builds them before the searches."""
    strategy: str = Field(default="auto", json_schema_extra={"enum": [*strategy_names("bfs")]})
    """The name of a strategy, or `auto`."""
    tuning: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Constants of the strategy by name."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to generate, build, search and validate."""
    threads: int | None = Field(default=None, ge=1)
    """The largest number of CPU threads; by default all that the run may use."""

    @field_validator("strategy")
    @classmethod
    def _is_known(cls, strategy: str) -> str:
        return checked_strategy("bfs", strategy)

    @model_validator(mode="after")
    def _one_at_a_time(self) -> Graph500Parameters:
        if batched(self.traversal()):
            raise ValueError(
                f"{self.strategy} searches from several keys at once, which the rules do not allow"
            )
        return self

    def traversal(self) -> TraverseParameters:
        """Return what a `traverse` stage would be asked for."""
        return TraverseParameters(
            strategy=self.strategy,
            sources=RandomSources(random=self.searches, seed=self.key_seed),
            output="predecessor",
            tuning=self.tuning,
            backend=self.backend,
            threads=self.threads,
        )
