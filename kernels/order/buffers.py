"""Arrays of finding and applying orders; `vertex` is the type of columns, `gravel.kernels.buffers` adds up.

What the graph has on the device is part of the tables, but columns: these may lie in pinned memory.
"""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, exact, sorting, table

NOWHERE = (1 << 64) - 1


def order(vertices: int, vertex: str, place: str = "device") -> Buffer:
    """The permutation that is found."""
    return Buffer("order", vertex, vertices, None, place)


def renumbering(vertices: int, place: str = "device", inverse: str = "u8") -> Table:
    """The inverse of a permutation and the offsets of new rows; on a GPU the inverse has 64 bits."""
    fill = NOWHERE if place == "device" else None
    return table(place, inverse=(inverse, vertices, fill), row_offsets=("i8", vertices + 1, 0))


def new_columns(arcs: int, vertex: str) -> Buffer:
    """Columns of new rows."""
    return Buffer("columns", vertex, arcs)


def keys(count: int) -> Buffer:
    """What is sorted on a GPU: row and column of each arc, or what decides the place of each vertex."""
    return Buffer("keys", "u8", count)


def applying(vertices: int, vertex: str) -> Table:
    """What renumbering takes on a GPU for vertices, the old offsets and the permutation included.

    CuPy counts and lists long rows.
    """
    given = table(offsets=("i8", vertices + 1), permutation=(vertex, vertices))
    return *given, *renumbering(vertices), *table(CuPy=("u4", (3, vertices)))


def sorted_range(arcs: int, vertex: str) -> Table:
    """What making a range of new rows takes on a GPU for its arcs."""
    return new_columns(arcs, vertex), keys(arcs), *sorting(arcs)


def by_degree(vertices: int, vertex: str) -> Table:
    """What orders that read degrees alone take on a GPU; CuPy finds the longest row."""
    given = table(offsets=("i8", vertices + 1), CuPy=("i8", vertices))
    return *given, order(vertices, vertex), keys(vertices), *sorting(vertices)


def ranks(vertices: int, vertex: str) -> Table:
    """Places of vertices by degree, and the vertices at these places."""
    return table(rank=(vertex, vertices), by_rank=(vertex, vertices))


def searches(vertices: int, vertex: str) -> Table:
    """The queue of searches on a GPU, and labels that become claims."""
    return table(queue=(vertex, vertices), marks=(vertex, vertices, 0))


def rcm(vertices: int, vertex: str) -> Table:
    """What reverse Cuthill-McKee takes on a GPU beside the columns, where most components are not tiny."""
    each = (vertex, vertices)
    return (
        *table(offsets=("i8", vertices)),
        *ranks(vertices, vertex),
        *searches(vertices, vertex),
        *table(component=each, counts=each, claimed=each),
        *table(first=each, sizes=each, start=each, with_arcs=("u1", vertices), CuPy=("u2", vertices)),
        order(vertices, vertex),
        keys(vertices),
        *sorting(vertices),
    )


def merging(members: int, vertex: str) -> Table:
    """What a round of merging takes on a GPU to find the cluster of each member."""
    each = (vertex, members)
    return table(root=each, sums=each, smallest=("u8", members, NOWHERE), cluster=each)


def community(vertices: int, vertex: str) -> Table:
    """What communities take of a GPU for vertices: rows of two graphs, and a round of merging."""
    given = table(offsets=("i8", vertices), lengths=("i8", vertices), parent=(vertex, vertices))
    volumes = table(volumes=("i8", vertices), new_volumes=("i8", vertices))
    rows = table(cluster_offsets=("i8", vertices), places=("i8", vertices), new_offsets=("i8", vertices))
    return *given, *volumes, *merging(vertices, vertex), *rows


def clusters(arcs: int, vertex: str) -> Table:
    """What communities take of a GPU for arcs: the graph, one of clusters, and keys of the next one."""
    each = (vertex, arcs)
    given = table(columns=each, cluster_columns=each, cluster_weights=each)
    return *given, keys(arcs), *sorting(arcs)


def range_of_clusters(arcs: int, rows: int, vertex: str, weight: str) -> Table:
    """What a range of clusters takes whose graph lies on the host: copies, keys, and what comes of them."""
    made = table(columns=(vertex, (2, arcs)), weights=(weight, (2, arcs)))
    of_rows = table(
        grouped=("u8", rows), own=("u8", rows), lengths=("i8", (3, rows)), places=("i8", (3, rows))
    )
    return *made, *of_rows, keys(arcs), *sorting(arcs)


def community_rcm(vertices: int, vertex: str) -> Table:
    """What the hybrid takes of a GPU for vertices: that of `rcm`, communities, and places by two sorts."""
    each = ("i8", vertices)
    named = table(cluster=(vertex, vertices), walk=(vertex, vertices))
    places = table(start=("u8", vertices), inner=each, by_inner=each, places=each, CuPy=each)
    return *rcm(vertices, vertex), *named, *places


def rcm_on_host(vertices: int, vertex: str, *, by_degree: bool = False) -> Table:
    """What reverse Cuthill-McKee takes on the CPU beside its order; `by_degree` with begins of levels."""
    begins = (vertex, vertices * by_degree)
    return table("host", queue=(vertex, vertices), marks=("u1", vertices, 0), begins=begins)


def merging_on_host(members: int, vertex: str) -> Table:
    """The cluster that each member would merge into, and the one that it is in."""
    return table("host", parent=(vertex, members), cluster=(vertex, members))


def groups(clusters: int, members: int, vertex: str) -> Table:
    """Members by cluster, and counts of them that become where each begins, two elements later."""
    return table("host", first=("i8", clusters + 2, 0), members=(vertex, members))


def cluster_rows(clusters: int) -> Table:
    """Bounds of the rows of clusters, and their offsets."""
    return table("host", bounds=("i8", clusters + 1, 0), offsets=("i8", clusters + 1, 0))


def cluster_arcs(clusters: int, arcs: int, vertex: str, weight: str) -> Table:
    """Rows of a block of clusters, and the arcs of each."""
    return table("host", columns=(vertex, arcs), weights=(weight, arcs), lengths=("i8", clusters, 0))


def rcm_by_degree_on_host(vertices: int, vertex: str) -> Table:
    """What the order by degree takes that is also called RCM, with vertices in groups of one degree."""
    return *rcm_on_host(vertices, vertex, by_degree=True), *groups(vertices, vertices, vertex)


def refining(vertices: int) -> Table:
    """What bisection takes beside a copy of the graph: gains, keys by which they are sorted, and sides."""
    return table("host", gain=("i8", vertices), keys=("u8", vertices), side=("u1", vertices))


def community_on_host(vertices: int, arcs: int, vertex: str, *, pinned: bool) -> Table:
    """What communities take on the CPU: a graph of clusters, the next one in blocks, and that joined.

    With `pinned` columns, which are not part of it, the host has a graph of clusters and the next one. NumPy
    makes volumes of both.
    """
    kept = table("host", tree=(vertex, vertices), NumPy=("i8", (2, vertices)))
    merged = *merging_on_host(vertices, vertex), *groups(vertices, vertices, vertex), *cluster_rows(vertices)
    made = cluster_arcs(vertices, arcs, vertex, vertex)
    copy = new_columns(arcs, vertex), *renumbering(vertices, "host", vertex), *refining(vertices)
    return max((*kept, *merged, *made, *made, *made[: 0 if pinned else 2]), copy, key=exact)
