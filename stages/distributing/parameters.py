"""The parameters of `distribute`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from gravel.stages.ingest_parameters import IngestParameters


class DistributeParameters(IngestParameters):
    """Parameters: the graph, the number of ranks, and the vertices that every rank knows."""

    weights: bool = False
    """Must be false: a partition carries no weights."""
    ranks: int = Field(default=1, ge=1, le=65536)
    """Ranks (one GPU or worker each) that make and share the graph."""
    threshold: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Vertices with more neighbours than this are delegates; `auto` takes the one that a cost model finds
    fastest."""
    hosts: int | None = Field(default=None, ge=1, le=65536)
    """Number of machines with equally many ranks, for the cost model; by default as few as hold eight ranks
    each."""

    @model_validator(mode="after")
    def _fit_together(self) -> DistributeParameters:
        if self.hosts is not None and self.ranks % self.hosts:
            raise ValueError(f"{self.ranks} ranks do not make {self.hosts} equal hosts")
        if self.weights or (self.columns is not None and self.columns.weight is not None):
            raise ValueError("a partition carries no weights; leave them out, or use ingest and symmetrize")
        return self
