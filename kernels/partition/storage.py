"""What a partition costs in bytes, beside table I of the paper and two plain formats."""

from __future__ import annotations

from typing import Any

from kernels.partition.layout import SUBGRAPHS, PartitionedGraph, to_arrays


def storage(graph: PartitionedGraph) -> dict[str, Any]:
    """Count arcs and bytes (Pan, Pearce, Owens 2018, section III-C, table I).

    The keys: `delegates`; `nn_arcs` to `dd_arcs`; `nn_share` of all arcs; `imbalance`, the most arcs on a
    rank over the mean; `bytes`, the four subgraphs of all ranks as stored; `list_bytes`, delegate list,
    source lists and masks; `table_bytes` = 8 n + 8 d p + 4 m + 4 m_nn, the table's total with 32-bit
    offsets and 64-bit nn destinations; `csr_bytes` = 8 n + 8 m and `edge_list_bytes` = 16 m, the formats
    that the paper compares with; `of_csr` and `of_edge_list`, `bytes` over those; `arcs_per_rank`.
    """
    arcs = dict.fromkeys(SUBGRAPHS, 0)
    total, lists, per_rank = 0, int(graph.delegates.nbytes), []
    for part in graph.parts:
        held = {name: len(part.subgraph(name).column_indices) for name in SUBGRAPHS}
        per_rank.append(sum(held.values()))
        for name in SUBGRAPHS:
            arcs[name] += held[name]
        for key, array in to_arrays(part).items():
            if "/source_" in key:
                lists += int(array.nbytes)
            else:
                total += int(array.nbytes)
    n, m, d = graph.vertex_count, graph.arc_count, len(graph.delegates)
    csr, edge_list = 8 * n + 8 * m, 16 * m
    return {
        "delegates": d,
        **{f"{name}_arcs": count for name, count in arcs.items()},
        "nn_share": arcs["nn"] / m if m else 0.0,
        "imbalance": max(per_rank) * graph.ranks / m if m else 1.0,
        "bytes": total,
        "list_bytes": lists,
        "table_bytes": 8 * n + 8 * d * graph.ranks + 4 * m + 4 * arcs["nn"],
        "csr_bytes": csr,
        "edge_list_bytes": edge_list,
        "of_csr": total / csr if csr else 0.0,
        "of_edge_list": total / edge_list if edge_list else 0.0,
        "arcs_per_rank": per_rank,
    }
