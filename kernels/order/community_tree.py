"""Communities by rounds of merging, and a numbering that keeps each together at every round.

Arai, Shiokawa, Yamamuro, Onizuka, Iwamura (Rabbit Order: Just-in-time Parallel Reordering for Fast Graph
Analysis, IPDPS 2016): clusters merge into the neighbour that raises modularity (Newman, Girvan, Physical
Review E 2004) most, and the vertices are numbered by a depth-first walk of the tree of merges.

Rabbit Order merges one vertex after another. Here all clusters choose at once: each the neighbour of the
highest gain, and it may merge only into one of a larger volume (sum of degrees), equal ones by a hash that
changes with the round, so that choices form trees. Along a path of choices every other cluster merges into
the next one, which makes stars; longer paths would be swallowed whole. The graph of the clusters is then
built, and the next round begins. Nothing depends on the order of threads: gains are sums of integers and
three roundings in double precision.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.kernels.buffers import make, vertex_type
from gravel.kernels.generate.counter import STEP, draw
from gravel.kernels.generate.draws import mix
from gravel.kernels.jit import serial
from gravel.kernels.order import buffers
from gravel.kernels.row_blocks import row_blocks, run_blocks

MAX_ROUNDS = 40
LEAST_MERGED = 128
"""Merging ends with a round that merges fewer than one in so many clusters that have neighbours: on a web
crawl rounds merge half and more, and on a graph without communities the last ones cost and give nothing."""

ROUND_STREAM = 17

Graph = tuple[NDArray[numpy.int64], NDArray[Any], NDArray[Any]]
"""Offsets, columns, and the weights of arcs, none of which means that all are 1."""

Groups = tuple[NDArray[numpy.int64], NDArray[Any]]
"""Offsets (groups + 1,) into the members of all groups."""

_STEP = numpy.uint64(STEP)
_ZERO = numpy.uint64(0)


def salt(round_number: int) -> int:
    """What the hashes of a round start from."""
    return draw(0, ROUND_STREAM, round_number)


def aggregate(row_offsets: NDArray[numpy.int64], column_indices: NDArray[Any]) -> list[NDArray[Any]]:
    """Merge the vertices of a symmetric graph, round by round.

    Returns a list of one array per round, `cluster[member]`: members are vertices in the first and the
    clusters of the round before in the others. Clusters are numbered by their smallest vertex.
    """
    tree: list[NDArray[Any]] = []
    volumes = numpy.diff(row_offsets)
    total = float(len(column_indices))
    graph: Graph = row_offsets, column_indices, numpy.empty(0, index_dtype(len(column_indices) + 1))
    while len(tree) < MAX_ROUNDS:
        members = len(graph[0]) - 1
        parent, cluster = make(buffers.merging_on_host(members, vertex_type(members)), numpy).values()
        of_round = numpy.uint64(salt(len(tree)))
        run_blocks(partial(_choose, graph, volumes, total, of_round, parent), row_blocks(graph[0]))
        clusters = _merge(parent, cluster)
        joined = int(numpy.count_nonzero(numpy.diff(graph[0])))
        if (members - clusters) * LEAST_MERGED < joined or members == clusters:
            break
        tree.append(cluster)
        graph = contracted(graph, cluster, clusters)
        volumes = _summed(volumes, cluster, clusters)
    return tree


def contracted(graph: Graph, cluster: NDArray[Any], clusters: int) -> Graph:
    """Build the graph of the clusters: arcs within one vanish, others add up; its rows are not sorted."""
    offsets, columns, weights = graph
    groups = grouped(cluster, clusters, cluster.dtype)
    bounds, new_offsets = make(buffers.cluster_rows(clusters), numpy).values()
    _bound_rows(offsets, groups, bounds)

    def build(low: int, high: int) -> tuple[Any, Any, Any]:
        room = int(bounds[high] - bounds[low])
        made = buffers.cluster_arcs(high - low, room, columns.dtype.str[1:], weights.dtype.str[1:])
        *found, lengths = make(made, numpy).values()
        longest = int(numpy.diff(bounds[low : high + 1]).max(initial=0))
        slots = 1 << (2 * longest + 1).bit_length()
        table = numpy.full(slots, -1, numpy.int64), numpy.zeros(slots, numpy.int64)
        used = _build_rows(graph, cluster, groups, low, high, table, tuple(found), lengths)
        return lengths, found[0][:used].copy(), found[1][:used].copy()

    parts = run_blocks(build, row_blocks(bounds))
    if not parts:
        return new_offsets, columns[:0], weights[:0]
    lengths, new_columns, new_weights = map(numpy.concatenate, zip(*parts, strict=True))
    numpy.cumsum(lengths, out=new_offsets[1:])
    return new_offsets, new_columns, new_weights


def grouped(cluster: NDArray[Any], clusters: int, dtype: Any) -> Groups:
    """List the members of each cluster, ascending: offsets (clusters + 1,) into the second array."""
    made = buffers.groups(clusters, len(cluster), numpy.dtype(dtype).str[1:])
    first, members = make(made, numpy).values()
    _group(cluster, first, members)
    return first[:-1], members


def number(tree: list[NDArray[Any]], row_offsets: NDArray[numpy.int64]) -> NDArray[Any]:
    """Number the vertices cluster by cluster, at every round; returns (vertices,), permutation[old] = new.

    Clusters and members follow each other by their smallest vertices; vertices without arcs come last.
    """
    vertices = len(row_offsets) - 1
    sizes = [numpy.ones(vertices, numpy.int64)]
    for cluster in tree:
        sizes.append(_summed(sizes[-1], cluster, int(cluster.max(initial=0)) + 1))
    alone = _summed(numpy.diff(row_offsets), numpy.arange(vertices), vertices) == 0
    for cluster in tree:
        of_cluster = numpy.zeros(int(cluster.max(initial=0)) + 1, numpy.bool_)
        of_cluster[cluster] = alone
        alone = of_cluster
    order = numpy.argsort(alone, kind="stable")
    start = numpy.empty(len(order), numpy.int64)
    start[order] = numpy.cumsum(sizes[-1][order]) - sizes[-1][order]
    for cluster, size in zip(reversed(tree), reversed(sizes[:-1]), strict=True):
        start = _starts(start, cluster, size)
    return start.astype(index_dtype(vertices))


def communities(tree: list[NDArray[Any]], row_offsets: NDArray[numpy.int64], size: int) -> NDArray[Any]:
    """Give each vertex its cluster (vertices,) after the last round whose clusters are small.

    That is the last one whose clusters hold at most `size` vertices in the mean, those without arcs aside.
    """
    vertices = len(row_offsets) - 1
    cluster = numpy.arange(vertices, dtype=index_dtype(vertices))
    lonely = int(numpy.count_nonzero(numpy.diff(row_offsets) == 0))
    for members in tree:
        clusters = int(members.max(initial=0)) + 1
        if vertices - lonely > size * (clusters - lonely):
            break
        cluster = members[cluster]
    return cluster


@serial
def _choose(
    graph: Graph,
    volumes: NDArray[numpy.int64],
    total: float,
    of_round: numpy.uint64,
    parent: NDArray[Any],
    low: int,
    high: int,
) -> None:
    """parent[v] = the cluster that v would merge into, v itself for none; no weights are all ones."""
    offsets, columns, weights = graph
    for member in range(low, high):
        best = numpy.int64(-1)
        best_gain = 0.0
        best_hash = _ZERO
        volume = numpy.float64(volumes[member])
        for i in range(offsets[member], offsets[member + 1]):
            other = numpy.int64(columns[i])
            if other == member:
                continue
            weight = numpy.float64(weights[i]) if len(weights) else 1.0
            gain = weight - volume * numpy.float64(volumes[other]) / total
            if gain <= 0.0 or gain < best_gain:
                continue
            mark = mix(of_round + numpy.uint64(other) * _STEP)
            if gain > best_gain or mark > best_hash:
                best, best_gain, best_hash = other, gain, mark
        parent[member] = member
        # Equal volumes are decided by hashes, of which no two are equal.
        if best >= 0 and (
            volumes[best] > volumes[member]
            or (volumes[best] == volumes[member] and best_hash > mix(of_round + numpy.uint64(member) * _STEP))
        ):
            parent[member] = best


@serial
def _merge(parent: NDArray[Any], cluster: NDArray[Any]) -> int:
    """Merge members an odd number of choices from the end of their path into the next; count clusters."""
    members = len(parent)
    number_of = numpy.full(members, -1, numpy.int64)
    clusters = 0
    for member in range(members):
        root = numpy.int64(member)
        steps = 0
        while numpy.int64(parent[root]) != root:
            root = numpy.int64(parent[root])
            steps += 1
        root = numpy.int64(parent[member]) if steps & 1 else numpy.int64(member)
        if number_of[root] < 0:
            number_of[root] = clusters
            clusters += 1
        cluster[member] = number_of[root]
    return clusters


@serial
def _summed(values: NDArray[numpy.int64], cluster: NDArray[Any], clusters: int) -> NDArray[numpy.int64]:
    sums = numpy.zeros(clusters, numpy.int64)
    for member in range(len(cluster)):
        sums[numpy.int64(cluster[member])] += values[member]
    return sums


@serial
def _group(cluster: NDArray[Any], first: NDArray[numpy.int64], members: NDArray[Any]) -> None:
    # Counted two places on, so that placing the members leaves each count one place on, where it belongs.
    for member in range(len(cluster)):
        first[numpy.int64(cluster[member]) + 2] += 1
    for place in range(2, len(first)):
        first[place] += first[place - 1]
    for member in range(len(cluster)):
        mine = numpy.int64(cluster[member]) + 1
        members[first[mine]] = member
        first[mine] += 1


@serial
def _bound_rows(offsets: NDArray[numpy.int64], groups: Groups, bounds: NDArray[numpy.int64]) -> None:
    first, members = groups
    for each in range(len(first) - 1):
        length: Any = 0
        for i in range(first[each], first[each + 1]):
            member = numpy.int64(members[i])
            length += offsets[member + 1] - offsets[member]
        bounds[each + 1] = bounds[each] + length


@serial
def _build_rows(
    graph: Graph,
    cluster: NDArray[Any],
    groups: Groups,
    low: int,
    high: int,
    table: tuple[NDArray[numpy.int64], NDArray[numpy.int64]],
    found: tuple[NDArray[Any], NDArray[Any]],
    lengths: NDArray[numpy.int64],
) -> int:
    """Add up the arcs of clusters low to high in a hash table that is empty before and after each."""
    (offsets, columns, weights), (first, members) = graph, groups
    (slots, used_slots), (new_columns, new_weights) = table, found
    mask = len(slots) - 1
    used = 0
    for each in range(low, high):
        begin = used
        for i in range(first[each], first[each + 1]):
            member = numpy.int64(members[i])
            for j in range(offsets[member], offsets[member + 1]):
                other = numpy.int64(cluster[numpy.int64(columns[j])])
                if other == each:
                    continue
                place = numpy.int64((numpy.uint64(other) * _STEP) >> numpy.uint64(32)) & mask
                while slots[place] >= 0 and numpy.int64(new_columns[slots[place]]) != other:
                    place = (place + 1) & mask
                if slots[place] < 0:
                    slots[place] = used
                    new_columns[used] = other
                    new_weights[used] = 0
                    used_slots[used - begin] = place
                    used += 1
                new_weights[slots[place]] += weights[j] if len(weights) else 1
        for i in range(used - begin):
            slots[used_slots[i]] = -1
        lengths[each - low] = used - begin
    return used


@serial
def _starts(
    start: NDArray[numpy.int64], cluster: NDArray[Any], size: NDArray[numpy.int64]
) -> NDArray[numpy.int64]:
    """Places of the members, one after the other from where their cluster starts."""
    following = start.copy()
    starts = numpy.empty(len(cluster), numpy.int64)
    for member in range(len(cluster)):
        mine = numpy.int64(cluster[member])
        starts[member] = following[mine]
        following[mine] += size[member]
    return starts
