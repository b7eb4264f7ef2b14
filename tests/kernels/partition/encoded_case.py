"""Ranks whose subgraphs are encoded in memory."""

from __future__ import annotations

import numpy

from gravel.kernels.layouts import encode
from gravel.kernels.partition.encoded import encoded_subgraph
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, column_bound, make_rank


def encode_rank(
    part: RankGraph, layout: str, *, vertex_count: int, delegate_count: int, ranks: int
) -> RankGraph:
    """Encode a rank's subgraphs; raises ValueError for a row that does not ascend.

    Its lists and masks stay as they are.
    """
    made = {}
    for name in SUBGRAPHS:
        bound = column_bound(name, part.rank, vertex_count, ranks, delegate_count)
        offsets, columns = part.subgraph(name)
        rows = encode(layout, offsets.astype(numpy.int64), columns, first_row=0, bound=max(bound, 1))
        made[name] = encoded_subgraph(rows, bound)
    return make_rank(part.rank, made)
