"""The parameters of `centrality`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ByteSize, Field, model_validator

from gravel.stages.stage import Parameters
from gravel.stages.traversal.parameters import RandomSources, VertexSources
from gravel.stages.turning import Direction

OF_PAGERANK = ("damping", "personalization", "tolerance", "max_iterations", "by")
"""Parameters of that measure alone."""


class CentralityParameters(Parameters):
    """Parameters: the measure, and the vertices that it is computed for."""

    measure: Literal[
        "closeness",
        "harmonic",
        "eccentricity",
        "neighbourhood",
        "average_path_length",
        "betweenness",
        "edge_betweenness",
        "pagerank",
    ]
    """`closeness` is the reciprocal of the mean distance, times the share of vertices that are reached.
    `harmonic` is the sum of reciprocal distances. `eccentricity` is the largest distance to a
    vertex that is reached. `neighbourhood` counts the vertices within `hops`, the vertex itself included.
    `average_path_length` is the mean distance to the vertices that are reached, and of drawn vertices an
    estimate for the graph. `betweenness` is the share of shortest paths between two others that go through
    the vertex, and `edge_betweenness` that of shortest paths through each edge. `pagerank` is how often a
    random surfer is at the vertex."""
    vertices: Literal["all"] | RandomSources | VertexSources = "all"
    """`all`, `{random: k, seed: s}`, or `{vertices: [...]}` in the order of `symmetrize`, each once."""
    hops: Annotated[int, Field(ge=0)] | None = None
    """The distance up to which `neighbourhood` counts; beyond the largest, all that is reached."""
    sources: Literal["all"] | RandomSources = "all"
    """Where searches of `betweenness`, also of edges, begin: `all`, or `{random: k, seed: s}` to estimate."""
    normalized: bool = True
    """Divide `betweenness` by the number of pairs of other vertices."""
    endpoints: bool = False
    """Count a path for its ends, too, in `betweenness`."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """With which the mean of the graph lies between the bounds of `average_path_length`."""
    damping: Annotated[float, Field(ge=0, le=1)] = 0.85
    """With which probability the surfer of `pagerank` follows an arc; else it jumps."""
    personalization: Literal["all"] | VertexSources = "all"
    """Where the surfer of `pagerank` jumps to, also from vertices without arcs: `all`, or
    `{vertices: [...]}`, one as often as another."""
    tolerance: Annotated[float, Field(gt=0)] = 1e-6
    """Stop `pagerank` where all ranks together change by less than this times the number of vertices."""
    max_iterations: Annotated[int, Field(ge=1)] = 100
    """Iterations within which `pagerank` must converge."""
    by: Literal["auto", "arcs", "weights"] = "auto"
    """Let the surfer of `pagerank` follow each arc of a vertex as often (`arcs`), or by its weight. `auto`
    takes weights if there are any."""
    direction: Direction = "out"
    """Of a directed graph, take distances from the vertex along arcs (`out`), those to it (`in`), or let arcs
    lead both ways. NetworkX has `in` for closeness and harmonic centrality, and `out` for eccentricity. The
    surfer of `pagerank` follows arcs (`out`), or goes against them."""
    memory: ByteSize | None = Field(default=None, gt=0)
    """The most memory that a batch of searches may take beside the graph; by default all that is there."""
    workers: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """Workers, of one GPU each on GPUs, that search batches at the same time and hold the whole graph each.
    `auto` takes several GPUs where that is predicted to save time. Results are the same with any number."""

    @property
    def of_paths(self) -> bool:
        """Whether shortest paths are counted, from `sources`."""
        return self.measure in ("betweenness", "edge_betweenness")

    @model_validator(mode="after")
    def _fit_together(self) -> CentralityParameters:
        if (self.hops is None) == (self.measure == "neighbourhood"):
            fault = "needs hops" if self.hops is None else "takes no hops; only a neighbourhood does"
            raise ValueError(f"{self.measure} {fault}")
        if self.of_paths and self.vertices != "all":
            raise ValueError(f"{self.measure} is computed for all; sources says from which to search")
        if self.measure == "average_path_length" and isinstance(self.vertices, VertexSources):
            raise ValueError(
                "average_path_length needs vertices that are drawn, or all; chosen ones bound nothing"
            )
        if self.measure == "pagerank":
            self._refuse_searches()
        own = {"sources", "normalized"} & self.model_fields_set
        if not self.of_paths and own:
            raise ValueError(f"{self.measure} takes no {min(own)}; only betweenness does")
        of_ranks = ((name, "pagerank") for name in OF_PAGERANK)
        for name, measure in (("endpoints", "betweenness"), ("confidence", "average_path_length"), *of_ranks):
            if name in self.model_fields_set and self.measure != measure:
                raise ValueError(f"{self.measure} takes no {name}; only {measure} does")
        if isinstance(self.vertices, VertexSources):
            listed = self.vertices.vertices
            twice = next((each for i, each in enumerate(listed) if each in listed[:i]), None)
            if twice is not None:
                raise ValueError(f"vertex {twice} is listed twice")
        return self

    def _refuse_searches(self) -> None:
        """Refuse what is for measures by searches."""
        if self.vertices != "all":
            raise ValueError("pagerank is computed for all; personalization says where the surfer jumps to")
        if self.memory is not None:
            raise ValueError("pagerank takes no memory; it has no batches")
        if isinstance(self.workers, int) and self.workers > 1:
            raise ValueError(
                f"pagerank is computed by one worker, not over ranks, so that {self.workers} workers are of "
                "no use; leave workers out"
            )
