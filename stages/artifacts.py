"""The typed values that stages exchange: frozen dataclasses of named arrays and plain attributes.

An array field holds anything with `shape`, `dtype`, slicing and `__array__`: a NumPy array in a notebook, a
lazily read stored array in a workflow. Every other field is plain data (JSON). A field of type `ArrayGroup`
holds arrays under names, which may contain `/`. `None` marks an array that is absent.

Vertices are internal indices (the rank of the file's id, ascending) everywhere but in `VertexIds`. Index
arrays are uint32 below 2^32 vertices, else uint64; offsets are int64; distances the smallest of int8, int16
and int32 that holds those of all searches, with -1 for unreached; predecessors int32 below 2^31 vertices,
else int64, with -1 for none.

This module imports neither NumPy nor Zarr, so that planning a cached run stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from gravel.stages.artifact import Array, ArrayGroup, Artifact, Json


@dataclass(frozen=True, kw_only=True)
class EdgeList(Artifact):
    """Edges in the order of their source; `undirected` when the file or generator declares it."""

    source: Array  # (edges,) vertex index
    target: Array  # (edges,) vertex index
    weight: Array | None = None  # (edges,) float64
    vertex_count: int
    undirected: bool
    ends_unordered: bool = False  # the names of the columns do not say which end is the source
    implied: ClassVar[dict[str, Any]] = {"ends_unordered": False}


@dataclass(frozen=True, kw_only=True)
class VertexIds(Artifact):
    """The file's ids, ascending: `ids[i]` is the id of internal vertex i.

    Consecutive ids are stored as `first` alone (`ids` is None and vertex i has id `first + i`). Ids that are
    texts are stored as Arrow has them: vertex i has the id `text[offsets[i]:offsets[i + 1]]`, in UTF-8.
    """

    ids: Array | None = None  # (vertex_count,) int64
    first: int = 0
    vertex_count: int
    text: Array | None = None  # (bytes,) uint8
    offsets: Array | None = None  # (vertex_count + 1,) int64


@dataclass(frozen=True, kw_only=True)
class EdgePiece(Artifact):
    """The edges of one of many files, ascending by source and target, and its ids as `VertexIds` has them."""

    source: Array  # (edges,) position among the ids
    target: Array  # (edges,) position among the ids
    weight: Array | None = None  # (edges,) float64
    ids: Array | None = None
    first: int = 0
    vertex_count: int
    text: Array | None = None
    offsets: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Graph(Artifact):
    """Compressed sparse rows: the neighbours of v are column_indices[row_offsets[v]:row_offsets[v + 1]]."""

    row_offsets: Array  # (vertex_count + 1,) int64
    column_indices: Array  # (arc_count,) vertex index
    vertex_count: int
    arc_count: int
    symmetric: bool
    sorted: bool = True
    deduplicated: bool
    loop_count: int = 0  # arcs v -> v that were kept
    weights: Array | None = None  # (arc_count,) of each arc: uint32, int32 or float32


@dataclass(frozen=True, kw_only=True)
class Subset(Artifact):
    """The vertices of a subgraph: its vertex i is vertex `vertices[i]` of the graph that it was taken out of.

    They ascend. What is made of the subgraph is shown under the ids of these vertices.
    """

    vertices: Array  # (vertex_count,) vertex index of the parent
    vertex_count: int
    parent_vertex_count: int


@dataclass(frozen=True, kw_only=True)
class Ordering(Graph):
    """A renumbered `Graph`; `permutation[old] = new` maps numbers of `symmetrize` to new ones."""

    permutation: Array  # (vertex_count,) vertex index
    method: str
    statistics: Json = field(default_factory=dict)  # bandwidth, mean gap, varint bits per arc


@dataclass(frozen=True, kw_only=True)
class Partition(Artifact):
    """A graph divided over ranks by degree (Pan, Pearce, Owens, IPDPS 2018, section III).

    `arrays["rank3/nd/row_offsets"]` and `.../column_indices` hold rank 3's normal-to-delegate rows; the
    names of the rest are listed in `gravel.kernels.partition`. Local ids are 32-bit. With scheme `striped`
    (`gravel.kernels.partition.stripes`) there are no delegates and only the subgraphs called nn; `threshold`
    is the largest degree. `.../weights`, where there are some, are of the arcs in those columns: uint32,
    int32 or float32.
    """

    arrays: ArrayGroup
    delegates: Array  # (delegate_count,) vertex index, ascending
    permutation: Array | None = None  # of the `Ordering` that was partitioned, if it was one
    ranks: int
    threshold: int
    vertex_count: int
    arc_count: int
    symmetric: bool
    deduplicated: bool = True
    loop_count: int = 0
    scheme: str = "delegates"  # or "striped"
    statistics: Json = field(default_factory=dict)  # arcs per class and rank, bytes against table I

    @property
    def has_weights(self) -> bool:
        """Whether arcs have weights."""
        return any(name.endswith("/weights") for name in self.arrays)


@dataclass(frozen=True, kw_only=True)
class DistributedGraph(Artifact):
    """A generated graph that only its ranks hold, divided as a `Partition`: its recipe and its counts.

    The ranks are in the memory of the workers that made them; whoever needs them and does not find them there
    makes them anew from `generator`, a dict of `name` and `arguments` of `gravel.kernels.generate`. Arcs go
    both ways, without loops and duplicates, in the generator's numbering.
    """

    generator: Json
    ranks: int
    threshold: int
    vertex_count: int
    arc_count: int
    symmetric: bool = True
    statistics: Json = field(default_factory=dict)  # as of a `Partition`


@dataclass(frozen=True, kw_only=True)
class CompressedGraph(Artifact):
    """Rows as byte strings: row v is stream[byte_offsets[v]:byte_offsets[v + 1]].

    With codec `csr` rows are the columns as little-endian bytes; with any other they are as
    `gravel.kernels.layouts` describes them. The stream ends where the last row does.
    `gravel.stages.compress.decompress` turns any of them back into what was compressed.

    Of a `Partition`, the rows of all subgraphs stand one after the other, as `subgraphs` lists them: records
    of `rank`, `name` ("nn", "nd", "dn", "dd"), `rows` and `arcs`, in the order of the rows; `byte_offsets`
    then has one entry more than all of these rows, and `delegates`, `ranks` and `threshold` are set.

    Arc i of the decoded rows has the weight `weights[i]`, where there are weights: integers of the graph in
    the smallest type of their sign that holds them.
    """

    byte_offsets: Array  # (vertex_count + 1,) int64, of a partition (all rows + 1,)
    stream: Array  # (bytes,) uint8
    codec: str
    permutation: Array | None = None  # of the `Ordering` that was compressed, if it was one
    vertex_count: int
    arc_count: int
    symmetric: bool
    sorted: bool = True
    deduplicated: bool
    loop_count: int = 0
    delegates: Array | None = None  # of the `Partition` that was compressed, if it was one
    ranks: int | None = None
    threshold: int | None = None
    subgraphs: Json = None
    statistics: Json = field(default_factory=dict)  # bits per arc, ratio against 32-bit columns
    weights: Array | None = None  # (arc_count,) int8, int16, int32, their unsigned kinds, or float32


@dataclass(frozen=True, kw_only=True)
class Traversal(Artifact):
    """Labels in the vertex numbers of `symmetrize`, whatever order or layout was searched.

    BFS: row i of `distance` and `predecessor` belongs to `sources[i]`. SSSP: the same, with lengths of paths,
    -1 or, of float64, inf for unreached. Components, weak or strong: `component[v]` is the
    smallest vertex of v's component. A traversal over the ranks of a `DistributedGraph` may keep no labels
    but what its ranks found when they checked them: `checks[i]` lists, for `sources[i]`, or `checks[0]` for
    components, records of `name`, `rule`, `faults`, `vertices` and `arcs` (`gravel.kernels.verify.Check`).
    Components that are not `converged` are parts of components, each labelled with its smallest vertex.
    """

    algorithm: str  # "bfs", "shortest_paths", "components" or "strong_components"
    sources: Array | None = None  # (searches,) int64
    distance: Array | None = None  # (searches, vertex_count) int8 to int32; weighted: int32, int64, float64
    predecessor: Array | None = None  # (searches, vertex_count) int32 or int64
    component: Array | None = None  # (vertex_count,) vertex index
    vertex_count: int
    max_depth: int | None = None
    checks: Json = None
    converged: bool = True
    direction: str = "out"  # of a directed graph, that of the arcs from the source on: "out", "in" or "both"
    implied: ClassVar[dict[str, Any]] = {"converged": True, "direction": "out"}


@dataclass(frozen=True, kw_only=True)
class Measurement(Artifact):
    """Times of a traversal, separate from its labels, so that a new measurement needs no new verification.

    `searches` holds one record per search: `source` (internal index), `milliseconds`,
    `map_back_milliseconds`, `reached` (vertices), `arcs` (stored arcs of the reached vertices), `edges`
    (distinct undirected edges among them), `depth`, `batch` (searches that ran together; beyond 1,
    `milliseconds` is this one's share of their time), and `levels`: the lists `vertices` and `arcs`, with an
    entry per level, and `pulled`, the levels that were expanded bottom-up. `gravel.stages.traversal.records`
    describes what statistics, launches and links add, and `gravel.stages.ranks.levels` the `ranks` of a
    partition.

    `graph` has `vertices`, `arcs`, `symmetric` and a `digest` that every order and layout of one graph
    shares, and how it was prepared: `order` (its `method` and statistics), `rows` (their `codec` and
    statistics) and `partition` (its `ranks`, `threshold` and statistics), where it was reordered, compressed
    or split; `asked` the parameters that distinguish one way of searching it from another, and on a GPU, or
    where rows were streamed, the `placement` that was used. `ran` is what was executed: `function`
    (`module:name`), `backend` and `options`, all constants in force with those that were left to a default.
    Measurements of equal `ran` on one graph ran the same code.
    Of a Graph500 run there is `benchmark`, which `gravel.stages.graph500` describes.
    """

    algorithm: str
    strategy: str
    reason: str
    backend: str
    hardware: str
    prepare_milliseconds: float
    searches: Json
    notes: Json = field(default_factory=list)  # sentences for the report, such as "decoded before the search"
    graph: Json = field(default_factory=dict)
    asked: Json = field(default_factory=dict)  # strategy, tuning, backend, threads, output
    order_milliseconds: float | None = None  # of the graph's order, found and applied in memory; statistics
    order_find_milliseconds: float | None = None  # finding it alone
    ran: Json = field(default_factory=dict)
    benchmark: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Probe(Artifact):
    """Parts of a search run alone over the frontier of every level (Merrill et al. 2012, section 4).

    `gravel.stages.papers.merrill2012.probe` describes its records.
    """

    measure: str
    backend: str
    hardware: str
    block: int  # threads
    repeats: int
    floor_milliseconds: float  # of a part that has nothing to do
    parts: Json
    searches: Json
    levels: Json = None
    counted: Json = field(default_factory=dict)
    notes: Json = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Counters(Artifact):
    """Hardware counters of searches, and the bytes that are counted from their rows.

    `searches`, `graph`, `ran` and `asked` are as in a `Measurement`, with statistics; the time is that of
    searches without a tool. `gravel.stages.counting` describes `tool`, `totals` and `kernels`; `why` is the
    reason why counters were not read.
    """

    strategy: str
    backend: str
    hardware: str
    searches: Json
    tool: Json = field(default_factory=dict)
    why: str = ""
    totals: Json = field(default_factory=dict)
    kernels: Json = field(default_factory=list)
    graph: Json = field(default_factory=dict)
    ran: Json = field(default_factory=dict)
    asked: Json = field(default_factory=dict)
    notes: Json = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Links(Artifact):
    """Times of messages between ranks, by their size (Pan, Pearce, Owens 2018, section VI-A)."""

    ranks: int
    hosts: int
    backend: str
    hardware: str
    total: int  # bytes for each rank that "cut" sends in messages of each size
    curves: Json  # see `gravel.stages.papers.pan2018.links`
    notes: Json = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Centrality(Artifact):
    """A measure of vertices or edges, in the vertex numbers of `symmetrize`.

    `value[i]` belongs to `vertex[i]`; without `vertex`, to vertex i; with `target`, to the edge from
    `vertex[i]` to `target[i]`. `error[i]` is the largest standard error of `value[i]` that a sample allows;
    exact values have none. `estimate` has the `value` of the whole graph from that of drawn vertices, its
    bounds `low` and `high`, None where there is none, and their `confidence`. `convergence` has the
    `iterations`, the `residual` of the last one, and what was asked: `damping`, `tolerance`, `by` ("arcs" or
    "weights") and `personalization`, a list of vertices or None for all.
    """

    measure: str  # as the parameter of `centrality`
    value: Array  # (vertices,) float64, or int64 of eccentricities and counts
    vertex: Array | None = None  # (vertices,) int64
    vertex_count: int
    hops: int | None = None  # of a neighbourhood
    sources: int | None = None  # vertices that betweenness, or a sample for closeness, was searched from
    by: str = "arcs"  # how paths were measured: "arcs" or "weights"; of PageRank see `convergence`
    error: Array | None = None  # (vertices,) float64
    direction: str = "out"  # of a directed graph: "out", "in" or "both"
    target: Array | None = None  # (edges,) int64, of `edge_betweenness`
    estimate: Json = None  # of `average_path_length`
    convergence: Json = None  # of `pagerank`
    implied: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("estimate", "convergence", "error")),
        **{"direction": "out", "by": "arcs"},
    }


@dataclass(frozen=True, kw_only=True)
class Batches(Artifact):
    """Times of the batches of a `Centrality`: records of `sources`, times, `worker` and `resumed`.

    `form` is how a batch searched, such as "1024 together". `workers` names those of this run, by number,
    where there were several. `gravel.stages.measuring.batches` describes the times.
    """

    measure: str
    backend: str
    form: str
    batches: Json
    workers: Json = field(default_factory=list)
    implied: ClassVar[dict[str, Any]] = {"workers": []}


@dataclass(frozen=True, kw_only=True)
class Paths(Artifact):
    """Shortest paths between pairs of vertices, in the vertex numbers of `symmetrize`.

    Path i leads from `source[i]` to `target[i]` over `vertex[offsets[i]:offsets[i + 1]]`, both ends included,
    and is `distance[i]` long. Without a path that is -1, or inf of float64, and there are no vertices.
    """

    by: str  # "arcs" or "weights"
    source: Array  # (pairs,) int64
    target: Array  # (pairs,) int64
    distance: Array  # (pairs,) int64 or float64
    offsets: Array | None = None  # (pairs + 1,) int64
    vertex: Array | None = None  # (vertices of all paths,) int64
    vertex_count: int
    direction: str = "out"  # of a directed graph, that of the arcs from the source on: "out", "in" or "both"
    implied: ClassVar[dict[str, Any]] = {"direction": "out"}


@dataclass(frozen=True, kw_only=True)
class Verification(Artifact):
    """The checks that a traversal passed: records of `check`, `passed`, `searches`, `detail` and `on`.

    `on` says where a check was made: "cpu", "cuda" or, of a distributed graph, its "ranks". Verifications of
    the Graph500 benchmark lack it.
    """

    algorithm: str
    checks: Json
    skipped: Json = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Report(Artifact):
    """Charts (as data), tables (rows of cells) and their text."""

    title: str
    sections: Json
