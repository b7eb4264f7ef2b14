"""The orders by name: where each comes from, what it reads, and what computes it.

An implementation is `module:function`, imported when it is asked for; this module imports nothing heavy.
A function takes `row_offsets`, then `column_indices` where the order reads them, then the seed where there
is one, and returns the permutation (vertices,), `permutation[old] = new`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """One order; `name` and `about` are a sentence of the stage's page."""

    name: str
    about: str
    source: str  # paper and section, or "gravel"
    cpu: str
    cuda: str | None = None  # None: computed on the host, wherever the graph is
    reads_columns: bool = False
    symmetric: bool = False  # whether the graph must be symmetric
    seeded: bool = False


_ALL = (
    Method("original", "keeps the order", "gravel", "gravel.kernels.order.light:original"),
    Method(
        "random",
        "shuffles the vertices by a seed",
        "gravel",
        "gravel.kernels.order.light:random",
        seeded=True,
    ),
    Method(
        "degree",
        "sorts by descending degree, equal ones by vertex",
        "gravel",
        "gravel.kernels.order.light:degree",
        "gravel.kernels.order.light_cuda:degree",
    ),
    Method(
        "hub_sort",
        "sorts only vertices above the mean degree, and leaves the others behind them as they were",
        "Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia (Making Caches Work for Graph Analytics, "
        "IEEE Big Data 2017)",
        "gravel.kernels.order.light:hub_sort",
        "gravel.kernels.order.light_cuda:hub_sort",
    ),
    Method(
        "hub_cluster",
        "moves vertices above the mean degree to the front unsorted",
        "Balaji, Lucia (When is Graph Reordering an Optimization?, IISWC 2018)",
        "gravel.kernels.order.light:hub_cluster",
        "gravel.kernels.order.light_cuda:hub_cluster",
    ),
    Method(
        "degree_groups",
        "makes eight groups of descending degree, each as it was",
        "Faldu, Diamond, Grot (A Closer Look at Lightweight Graph Reordering, IISWC 2019)",
        "gravel.kernels.order.light:degree_groups",
        "gravel.kernels.order.light_cuda:degree_groups",
    ),
    Method(
        "rcm",
        "is reverse Cuthill-McKee, which gives neighbours close numbers",
        "Cuthill, McKee (Reducing the Bandwidth of Sparse Symmetric Matrices, ACM 1969)",
        "gravel.kernels.order.rcm:rcm",
        "gravel.kernels.order.rcm_cuda:rcm",
        reads_columns=True,
        symmetric=True,
    ),
    Method(
        "rcm_by_degree",
        "is `rcm` with levels sorted by degree alone",
        "Moschou (Adaptive BFS & Afforest), section 5.1",
        "gravel.kernels.order.rcm_by_degree:rcm_by_degree",
        "gravel.kernels.order.rcm_cuda:rcm_by_degree",
        reads_columns=True,
        symmetric=True,
    ),
    Method(
        "community",
        "keeps communities together at every scale, and makes gaps small by recursive bisection",
        "Arai, Shiokawa, Yamamuro, Onizuka, Iwamura (Rabbit Order, IPDPS 2016); Dhulipala, Kabiljo, Karrer, "
        "Ottaviano, Pupyrev, Shalita (Compressing Graphs and Indexes with Recursive Graph "
        "Bisection, KDD 2016)",
        "gravel.kernels.order.community:community",
        "gravel.kernels.order.community_cuda:community",
        reads_columns=True,
        symmetric=True,
    ),
    Method(
        "community_rcm",
        "keeps communities together, and orders each small one by `rcm`",
        "Moschou (Adaptive BFS & Afforest), left open there; Arai et al. (Rabbit Order, IPDPS 2016)",
        "gravel.kernels.order.community:community_rcm",
        "gravel.kernels.order.community_cuda:community_rcm",
        reads_columns=True,
        symmetric=True,
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
