"""The parameters of `centrality`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ByteSize, Discriminator, Field, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema

from gravel.kernels.distances.measures import DISTANCE_MEASURES
from gravel.stages.stage import FileInput, OneOf, Parameters
from gravel.stages.traversal.parameters import FileIds, ListedSources, RandomSources, VertexSources
from gravel.stages.turning import OPPOSITE, Direction

if TYPE_CHECKING:
    from gravel.stages.stage import Machine

OF_PAGERANK = ("damping", "personalization", "tolerance", "max_iterations")
"""Parameters of that measure alone."""

OTHERS = {
    "betweenness": "is the share of shortest paths between two others that go through the vertex",
    "edge_betweenness": "is the share of shortest paths that go through each edge",
    "pagerank": "is how often a random surfer is at the vertex",
}
"""Measures that are not found from distances alone."""

ABOUT = {name: each.about for name, each in DISTANCE_MEASURES.items()} | OTHERS

BY_WEIGHTS = ("closeness", "betweenness", "edge_betweenness", "pagerank")
"""Measures that weights may be part of."""


def _form(given: object) -> str:
    """Tell which form of vertices is meant, so that an error speaks of that form alone."""
    if given == "all":
        return "everything"
    if isinstance(given, VertexSources):
        return "indices"
    if isinstance(given, ListedSources) or (isinstance(given, Mapping) and "file" in given):
        return "listed"
    return "drawn" if isinstance(given, RandomSources | Mapping) else "ids"


def _named(given: object) -> object:
    """Refuse internal numbers, which only the plan puts in the place of ids."""
    if isinstance(given, Mapping) and "vertices" in given:
        raise ValueError("ids as the input file writes them are expected, such as [P00001, P00002]")
    return given


_ALL = Annotated[Literal["all"], Tag("everything")]
_RESOLVED = Annotated[SkipJsonSchema[VertexSources], Tag("indices")]
_LISTED = Annotated[ListedSources, Tag("listed")]
_IDS = Annotated[FileIds, Tag("ids")]

Vertices = Annotated[
    _ALL | Annotated[RandomSources, Tag("drawn")] | _RESOLVED | _LISTED | _IDS,
    Discriminator(_form),
    BeforeValidator(_named),
]

Jumps = Annotated[_ALL | _RESOLVED | _LISTED | _IDS, Discriminator(_form), BeforeValidator(_named)]


class CentralityParameters(Parameters):
    """Parameters: the measure, and the vertices that it is computed for."""

    measure: Annotated[str, OneOf(lambda: (*DISTANCE_MEASURES, *OTHERS))] = Field(
        description=" ".join(f"`{name}` {about}." for name, about in ABOUT.items())
    )
    vertices: Vertices = "all"
    """`all`, `{random: k, seed: s}`, a list of ids as the input file writes them, each once, or
    `{file: LIST}`, which has one such id a line."""
    hops: Annotated[int, Field(ge=0)] | None = None
    """The distance up to which `neighbourhood` counts; beyond the largest, all that is reached."""
    sources: Literal["all"] | RandomSources = "all"
    """Where searches of `betweenness`, also of edges, begin: `all`, or `{random: k, seed: s}` to estimate.
    `closeness` of all vertices is estimated from their distances to such vertices."""
    normalized: bool = True
    """Divide `betweenness` by the number of pairs of other vertices."""
    endpoints: bool = False
    """Count a path for its ends, too, in `betweenness`."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """With which the mean of the graph lies between the bounds of `average_path_length`."""
    damping: Annotated[float, Field(ge=0, le=1)] = 0.85
    """With which probability the surfer of `pagerank` follows an arc; else it jumps."""
    personalization: Jumps = "all"
    """Where the surfer of `pagerank` jumps to, also from vertices without arcs: `all`, or ids as `vertices`
    lists them, one as often as another."""
    tolerance: Annotated[float, Field(gt=0)] = 1e-6
    """Stop `pagerank` where all ranks together change by less than this times the number of vertices."""
    max_iterations: Annotated[int, Field(ge=1)] = 100
    """Iterations within which `pagerank` must converge."""
    by: Literal["auto", "arcs", "weights"] = "auto"
    """Let the surfer of `pagerank` follow each arc of a vertex as often (`arcs`), or by its weight. `auto`
    takes weights if there are any. Paths of closeness and betweenness count `arcs`, also with `auto`, or add
    up `weights`, on the CPU."""
    backend: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute. `auto` follows the run, and takes the CPU for paths by weights."""
    direction: Direction = "out"
    """Of a directed graph, take distances from the vertex along arcs (`out`), those to it (`in`), or let arcs
    lead both ways. NetworkX has `in` for closeness and harmonic centrality, and `out` for eccentricity. The
    surfer of `pagerank` follows arcs (`out`), or goes against them."""
    memory: ByteSize | None = Field(default=None, gt=0)
    """The most memory that a batch of searches may take beside the graph; by default all that is there."""
    workers: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """Workers, of one GPU each on GPUs, that search batches at the same time and hold the whole graph each.
    `auto` takes several GPUs where that is predicted to save time. Results are the same with any number.
    `pagerank` takes one for each rank of a partition, on CPUs; `auto` does so where one worker has too little
    memory."""

    @property
    def depth(self) -> int | None:
        """How far searches go; None for as far as arcs lead."""
        known = DISTANCE_MEASURES.get(self.measure)
        return self.hops if known is None or known.hops == "asked" else known.hops

    @property
    def of_paths(self) -> bool:
        """Whether shortest paths are counted, from `sources`."""
        return self.measure in ("betweenness", "edge_betweenness")

    @property
    def estimated(self) -> bool:
        """Whether closeness of all vertices is estimated from `sources`."""
        return self.measure == "closeness" and isinstance(self.sources, RandomSources)

    @property
    def bounded(self) -> bool:
        """Whether few searches bound all eccentricities, of an undirected graph one after another."""
        return self.measure == "eccentricity" and self.vertices == "all"

    @property
    def weighted_paths(self) -> bool:
        """Whether paths are measured by weights."""
        return self.by == "weights" and self.measure != "pagerank"

    @property
    def searched(self) -> Direction:
        """The direction of searches: distances to sampled vertices are searched from these, against arcs."""
        return OPPOSITE[self.direction] if self.estimated else self.direction

    def machine(self, given: Machine) -> Machine:
        """Return the machine without its GPU where these parameters leave it out."""
        return replace(given, backend="cpu") if self.weighted_paths or self.backend == "cpu" else given

    @model_validator(mode="after")
    def _fit_together(self) -> CentralityParameters:
        known = DISTANCE_MEASURES.get(self.measure)
        if (self.hops is None) == (known is not None and known.hops == "asked"):
            fault = "needs hops" if self.hops is None else "takes no hops; only a neighbourhood does"
            raise ValueError(f"{self.measure} {fault}")
        if (self.of_paths or self.estimated) and self.vertices != "all":
            raise ValueError(f"{self.measure} is computed for all; sources says from which to search")
        if self.measure == "average_path_length" and not isinstance(self.vertices, str | RandomSources):
            raise ValueError(
                "average_path_length needs vertices that are drawn, or all; chosen ones bound nothing"
            )
        if self.measure == "pagerank":
            self._refuse_searches()
        if "sources" in self.model_fields_set and self.measure != "closeness" and not self.of_paths:
            raise ValueError(f"{self.measure} takes no sources; only closeness and betweenness do")
        if "normalized" in self.model_fields_set and not self.of_paths:
            raise ValueError(f"{self.measure} takes no normalized; only betweenness does")
        if "by" in self.model_fields_set and self.measure not in BY_WEIGHTS:
            raise ValueError(f"{self.measure} takes no by; only {', '.join(BY_WEIGHTS)} do")
        if self.weighted_paths and self.backend == "cuda":
            raise ValueError(f"{self.measure} by weights has no code for GPUs; leave backend out")
        of_ranks = ((name, "pagerank") for name in OF_PAGERANK)
        for name, measure in (("endpoints", "betweenness"), ("confidence", "average_path_length"), *of_ranks):
            if name in self.model_fields_set and self.measure != measure:
                raise ValueError(f"{self.measure} takes no {name}; only {measure} does")
        if isinstance(self.vertices, tuple):
            twice = next((each for each, count in Counter(self.vertices).items() if count > 1), None)
            if twice is not None:
                raise ValueError(f"vertex {twice} is listed twice")
        return self

    def _refuse_searches(self) -> None:
        """Refuse what is for measures by searches."""
        if self.vertices != "all":
            raise ValueError("pagerank is computed for all; personalization says where the surfer jumps to")
        if self.memory is not None:
            raise ValueError("pagerank takes no memory; it has no batches")


def count_chosen(chosen: Any) -> int:
    """Count vertices that are drawn, listed or resolved."""
    if isinstance(chosen, RandomSources):
        return chosen.random
    if isinstance(chosen, ListedSources):
        return chosen.count()
    return len(chosen.vertices if isinstance(chosen, VertexSources) else chosen)


def _chosen(parameters: CentralityParameters) -> object:
    """Return what names vertices: `personalization` of PageRank, `vertices` of other measures."""
    return parameters.personalization if parameters.measure == "pagerank" else parameters.vertices


def source_ids(parameters: CentralityParameters) -> tuple[int | str, ...]:
    """Return the ids that are listed as the input file writes them."""
    chosen = _chosen(parameters)
    return chosen if isinstance(chosen, tuple) else ()


def ids_file(parameters: CentralityParameters) -> str | None:
    """Return the file that lists such ids, if one does."""
    chosen = _chosen(parameters)
    return chosen.file if isinstance(chosen, ListedSources) else None


def files(parameters: CentralityParameters) -> tuple[FileInput, ...]:
    """Return the files that the choice rests on."""
    location = ids_file(parameters)
    return () if location is None else (FileInput(location),)


def with_vertices(parameters: CentralityParameters, vertices: Sequence[int]) -> CentralityParameters:
    """Replace ids by internal numbers, each once."""
    internal = VertexSources(vertices=tuple(dict.fromkeys(int(vertex) for vertex in vertices)))
    name = "personalization" if parameters.measure == "pagerank" else "vertices"
    return parameters.model_copy(update={name: internal})
