"""What a partition costs in bytes, beside table I of the paper and two plain formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gravel.kernels.partition.layout import SUBGRAPHS, WEIGHTS, PartitionedGraph, RankGraph, to_arrays


@dataclass(frozen=True)
class RankSize:
    """How much one rank holds."""

    arcs: tuple[int, ...]  # of nn, nd, dn and dd
    subgraph_bytes: int
    list_bytes: int  # source list and masks
    weight_bytes: int = 0


def rank_size(part: RankGraph) -> RankSize:
    """Measure one rank's arrays."""
    return size_of(to_arrays(part))


def size_of(arrays: Mapping[str, Any]) -> RankSize:
    """Measure one rank's arrays by their stored names; of stripes, all arcs are nn."""
    sizes = {key: int(array.nbytes) for key, array in arrays.items()}
    lists = sum(size for key, size in sizes.items() if "/source_" in key)
    weights = sum(size for key, size in sizes.items() if key.endswith(f"/{WEIGHTS}"))
    counts = dict.fromkeys(SUBGRAPHS, 0)
    for key, array in arrays.items():
        _, name, kind = key.split("/")
        if kind == "column_indices":
            counts[name] = len(array)
    return RankSize(tuple(counts.values()), sum(sizes.values()) - lists - weights, lists, weights)


def storage(graph: PartitionedGraph) -> dict[str, Any]:
    """Count arcs and bytes of a whole partition; see `storage_of`."""
    sizes = [rank_size(part) for part in graph.parts]
    return storage_of(sizes, vertex_count=graph.vertex_count, delegate_count=len(graph.delegates))


def storage_of(sizes: Sequence[RankSize], *, vertex_count: int, delegate_count: int) -> dict[str, Any]:
    """Count arcs and bytes (Pan, Pearce, Owens 2018, section III-C, table I) from the ranks' sizes.

    The keys: `delegates`; `nn_arcs` to `dd_arcs`; `nn_share` of all arcs; `imbalance`, the most arcs on a
    rank over the mean; `bytes`, the four subgraphs of all ranks as stored; `list_bytes`, source lists and
    masks; `table_bytes` = 8 n + 8 d p + 4 m + 4 m_nn, the table's total, which has 32-bit offsets and
    64-bit nn destinations (here these take 32 bits too below 2^32 vertices); `csr_bytes` = 8 n + 8 m and
    `edge_list_bytes` = 16 m, the formats that the paper compares with; `of_csr` and `of_edge_list`, `bytes`
    over those; `arcs_per_rank`; `weight_bytes`, where arcs have weights, which are in none of the others.
    """
    n, p = vertex_count, len(sizes)
    per_rank = [sum(size.arcs) for size in sizes]
    arcs = [sum(size.arcs[place] for size in sizes) for place in range(len(SUBGRAPHS))]
    m, total = sum(per_rank), sum(size.subgraph_bytes for size in sizes)
    weights = sum(size.weight_bytes for size in sizes)
    csr, edge_list = 8 * n + 8 * m, 16 * m
    return {
        "delegates": delegate_count,
        **{f"{name}_arcs": count for name, count in zip(SUBGRAPHS, arcs, strict=True)},
        "nn_share": arcs[0] / m if m else 0.0,
        "imbalance": max(per_rank) * p / m if m else 1.0,
        "bytes": total,
        "list_bytes": sum(size.list_bytes for size in sizes),
        "table_bytes": 8 * n + 8 * delegate_count * p + 4 * m + 4 * arcs[0],
        "csr_bytes": csr,
        "edge_list_bytes": edge_list,
        "of_csr": total / csr if csr else 0.0,
        "of_edge_list": total / edge_list if edge_list else 0.0,
        "arcs_per_rank": per_rank,
        **({"weight_bytes": weights} if weights else {}),
    }
