"""Random graphs of every kind of NetworkX, with nodes of many kinds, and calls of each function on them."""

import itertools
import math
import random
import warnings

import networkx as nx

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
NAMES = {
    "range": lambda i: i,
    "shifted": lambda i: i - 3,
    "text": lambda i: f"node {i}",
    "tuples": lambda i: (i % 3, i // 3),
    "mixed": lambda i: [i, str(i), (i, "x"), frozenset([i]), i + 0.5, b"%d" % i][i % 6],
}


def graph(kind, names, nodes, edges, seed):
    """Make a graph with edges in random order, with loops, repeated edges and nodes without any."""
    chosen = random.Random(seed)
    made = kind()
    order = list(range(nodes))
    if names != "range":
        chosen.shuffle(order)
    made.add_nodes_from(map(NAMES[names], order))
    for _ in range(edges if nodes else 0):
        made.add_edge(*(NAMES[names](chosen.randrange(nodes)) for _ in range(2)), **weights(chosen))
    return made


def weights(chosen):
    """Choose weights of an edge, with ties and zeros; some edges have none."""
    given = {"hops": chosen.choice([0, 1, 1, 2, 5]), "cost": chosen.choice([0.0, 0.1, 0.2, 0.3, 1, 2.5])}
    return {name: value for name, value in given.items() if chosen.random() < 0.8}


def connected(kind, names, nodes, edges, seed):
    """Make a graph in which every node reaches every other."""
    made = graph(kind, names, nodes, edges, seed)
    listed = list(made)
    random.Random(seed).shuffle(listed)
    made.add_edges_from(zip(listed, [*listed[1:], *listed[:1]], strict=True))
    return made


def calls(made, seed):
    """Yield (name, positional, named) for every function that gravel has, with each of its arguments used."""
    chosen = random.Random(seed)
    nodes = [*made, "missing", -7]
    a, b, c = (chosen.choice(nodes) for _ in range(3))
    limits = [None, 0, 1, 2, 1.5, -1, 100]
    for name in ("bfs_edges", "bfs_tree"):
        for limit, reverse in itertools.product(limits, (False, True)):
            yield name, (a,), {"depth_limit": limit, "reverse": reverse}
    for name in ("bfs_predecessors", "bfs_successors", "generic_bfs_edges"):
        for limit in limits:
            yield name, (a,), {"depth_limit": limit}
    for name in ("bfs_layers", "bfs_labeled_edges"):
        yield name, (a,), {}
        yield name, ([node for node in (a, b, c) if node in made],), {}
    yield "bfs_layers", ([a, b, c],), {}
    for name in ("descendants", "ancestors"):
        yield name, (a,), {}
    for distance in limits:
        yield "descendants_at_distance", (a, distance if distance is not None else 3), {}
    for name in ("source_shortest_path", "target_shortest_path"):
        for suffix, cutoff in itertools.product(("", "_length"), limits):
            yield f"single_{name}{suffix}", (a,), {"cutoff": cutoff}
    for name in ("all_pairs_shortest_path", "all_pairs_shortest_path_length"):
        for cutoff in (None, 2):
            yield name, (), {"cutoff": cutoff}
    for name in ("bidirectional_shortest_path", "has_path", "all_shortest_paths"):
        for ends in ((a, b), (b, a), (a, a), (c, b)):
            yield name, ends, {}
    for name in ("shortest_path", "shortest_path_length"):
        for source, target in itertools.product((None, a), (None, b)):
            yield name, (source, target), {}
        yield name, (), {"source": b, "method": "bellman-ford"}
        yield name, (), {"source": b, "method": "unknown"}
    yield from weighted_calls(a, b, c)
    for target, cutoff, seen in itertools.product((None, b), limits, (None, True)):
        yield "predecessor", (a,), {"target": target, "cutoff": cutoff, "return_seen": seen}
    yield "single_source_all_shortest_paths", (a,), {}
    yield "all_pairs_all_shortest_paths", (), {}
    yield "average_shortest_path_length", (), {}
    for normalized, endpoints in itertools.product((True, False), repeat=2):
        for k in (None, 0, 1, 2, len(made), len(made) + 1):
            options = {"normalized": normalized, "endpoints": endpoints, "k": k, "seed": 3}
            yield "betweenness_centrality", (), options
    for normalized, k in (
        () if made.is_multigraph() else itertools.product((True, False), (None, 1, 2, len(made)))
    ):
        yield "edge_betweenness_centrality", (), {"normalized": normalized, "k": k, "seed": 4}
        yield "edge_betweenness_centrality", (), {"weight": "cost", "k": k, "seed": 4}
    for weight, k in itertools.product(("hops", "cost", "weight"), (None, 2)):
        yield "betweenness_centrality", (), {"weight": weight, "k": k, "seed": 3, "endpoints": k is None}
    for distance in ("hops", "cost", "weight"):
        yield "closeness_centrality", (), {"distance": distance}
        yield "closeness_centrality", (a,), {"distance": distance, "wf_improved": False}
    yield "closeness_centrality", (), {}
    yield "closeness_centrality", (a,), {"wf_improved": False}
    several = (None, a, [a, b, a], [], 5.5, [[]])
    for nbunch, sources in itertools.product(several, (None, [a, b, c])):
        yield "harmonic_centrality", (), {"nbunch": nbunch, "sources": sources}
    for v in (None, a, [a, b, a], [], 5.5, [[]], iter([a])):
        yield "eccentricity", (), {"v": v}
    for name, bounds in itertools.product(("center", "diameter", "periphery", "radius"), (False, True)):
        yield name, (), {"usebounds": bounds}
    for name in ("connected_components", "weakly_connected_components", "strongly_connected_components"):
        yield name, (), {}
        yield f"number_{name}", (), {}
    for name in ("is_connected", "is_weakly_connected", "is_strongly_connected"):
        yield name, (), {}
    yield "node_connected_component", (a,), {}
    yield "core_number", (), {}
    if not made.is_multigraph():
        yield from pagerank_calls(made, a, b, c)


def weighted_calls(a, b, c):
    """Yield calls of the functions that take weights."""
    for weight in ("hops", "cost", "weight"):
        for name in ("shortest_path", "shortest_path_length"):
            for source, target in itertools.product((None, a), (None, b)):
                yield name, (source, target), {"weight": weight}
            yield name, (a, b), {"weight": weight, "method": "unknown"}
        for name in ("dijkstra_path", "dijkstra_path_length", "bidirectional_dijkstra"):
            for ends in ((a, b), (b, a), (a, a), (c, b)):
                yield name, ends, {"weight": weight}
        for suffix, cutoff in itertools.product(("", "_path", "_path_length"), (None, 1)):
            yield f"multi_source_dijkstra{suffix}", ([a, b, a],), {"weight": weight, "cutoff": cutoff}
            yield f"all_pairs_dijkstra{suffix}", (), {"weight": weight, "cutoff": cutoff}
        for cutoff in (None, 0, 2.5, -1, 0.3, float("inf"), float("nan")):
            given = {"weight": weight, "cutoff": cutoff}
            for suffix in ("", "_path", "_path_length"):
                yield f"single_source_dijkstra{suffix}", (a,), given
            yield "single_source_dijkstra", (a, b), given
            yield "multi_source_dijkstra", ({a, b}, c), given
        yield "multi_source_dijkstra", ([],), {"weight": weight}


def pagerank_calls(made, a, b, c):
    """Yield calls of PageRank, of which some do not converge; NetworkX warns where it divides by 0."""
    for weight, tol in itertools.product((None, "hops", "cost", "weight"), (1e-6, 1e-12)):
        yield "pagerank", (), {"weight": weight, "tol": tol, "max_iter": 500}
    for values in ({a: 1}, {a: 2, b: 0.5, c: 0}, {}, {"missing": 1}):
        divides = any(value for node, value in values.items() if node in made)
        for name in ("personalization", "nstart", "dangling") if divides else ("personalization",):
            yield "pagerank", (0.7,), {name: values, "weight": "cost", "tol": 1e-9}
    jumps = {"personalization": {a: 1}, "dangling": {b: 1}, "nstart": {c: 1, a: 3}}
    if all(node in made for node in (a, b)):
        yield "pagerank", (), jumps
    for most in (0, 1, 5):
        yield "pagerank", (), {"max_iter": most, "tol": 1e-10}


SUMS = (
    "closeness_centrality",
    "betweenness_centrality",
    "edge_betweenness_centrality",
    "harmonic_centrality",
    "pagerank",
)


def outcome(name, made, positional, named, backend):
    """Call a function and return what came of it, in its order (sets have none), or what NetworkX raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            value = getattr(nx, name)(made, *positional, backend=backend, **named)
            if isinstance(value, nx.Graph):
                return type(value), list(value.nodes(data=True)), list(value.edges(data=True))
            return _listed(value)
    except Exception as error:
        return type(error), str(error) if isinstance(error, nx.NetworkXException) else ""


def same(name, found, expected):
    """Compare two outcomes; some sums of floats are added in another order than NetworkX adds them."""
    if name not in SUMS or not isinstance(expected, list) or not isinstance(found, list):
        return found == expected
    return [key for key, _ in found] == [key for key, _ in expected] and all(
        math.isclose(one, other, rel_tol=1e-11, abs_tol=1e-9 if name == "pagerank" else 1e-14)
        or (math.isnan(one) and math.isnan(other))
        for (_, one), (_, other) in zip(found, expected, strict=True)
    )


def _listed(value):
    if isinstance(value, dict):
        return [(key, _listed(each)) for key, each in value.items()]
    if isinstance(value, tuple):
        return tuple(map(_listed, value))
    return list(map(_listed, value)) if hasattr(value, "__next__") else value
