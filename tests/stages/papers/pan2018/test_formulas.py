"""Bytes that searches send by formula, against small cases that are counted by hand."""

from __future__ import annotations

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.storage import storage
from gravel.stages.papers.pan2018.formulas import delegate_volume, grid_of, volume_1d, volume_2d
from tests.kernels.cuda_case import fast_csr, rmat


def test_masks_and_vertices_by_hand() -> None:
    # 64 delegates are masks of 8 bytes. Of 4 ranks in a tree 3 send up and 3 get the result, in 2 levels.
    found = delegate_volume(delegates=64, nn_arcs=10, ranks=4, mask_levels=2)
    assert (found.masks, found.vertices, found.total) == (2 * 6 * 8, 40, 136)
    # Two hosts of two: one mask goes to each GPU0, one each way between them, and one back to each.
    grouped = delegate_volume(delegates=64, nn_arcs=10, ranks=4, mask_levels=1, groups=2)
    assert grouped.masks == (2 + 2 + 2) * 8
    assert delegate_volume(delegates=64, nn_arcs=10, ranks=1, mask_levels=2).total == 0


def test_baselines_by_hand() -> None:
    # 5 vertices are visited, and each is told to 3 other ranks.
    assert volume_1d(visited=5, ranks=4) == 5 * 3 * 4
    assert volume_1d(visited=5, ranks=1) == 0
    # On 2 x 2 ranks an id goes once along its row and once along its column.
    assert volume_2d(vertices=16, forward=5, backward_levels=0, ranks=4) == 5 * 2 * 4
    # 2 rows reduce 8 bits each between 2 ranks, and 2 columns broadcast 8 bits each: 4 bytes.
    assert volume_2d(vertices=16, forward=0, backward_levels=1, ranks=4) == 4
    # On 3 x 3: 3 rows reduce 6 bits among 3 ranks, 2 of which send, and columns the same: 24 x 3 / 8.
    assert volume_2d(vertices=18, forward=0, backward_levels=1, ranks=9) == pytest.approx(3 * 2 * 2 * 6 / 8)
    assert volume_2d(vertices=18, forward=2, backward_levels=1, ranks=9) == pytest.approx(9 + 2 * 4 * 4)
    assert volume_2d(vertices=16, forward=5, backward_levels=2, ranks=1) == 0


def test_grids_are_as_square_as_they_can_be() -> None:
    assert [grid_of(ranks) for ranks in (1, 2, 4, 6, 7, 8, 12, 16)] == [
        (1, 1),
        (1, 2),
        (2, 2),
        (2, 3),
        (1, 7),
        (2, 4),
        (3, 4),
        (4, 4),
    ]


def test_what_is_counted_stays_below_the_formula() -> None:
    offsets, columns = fast_csr(rmat(10), symmetric=True)
    source = int(numpy.argmax(numpy.diff(offsets)))
    for ranks in (2, 4, 8):
        whole = partition(offsets, columns, ranks=ranks, threshold=20)
        options = SearchOptions(reduction_algorithm="tree", changed_only=False)
        search = PartitionSearch(whole, Query(symmetric=True), options)
        search.run(source)
        levels = list(zip(*(rank.levels for rank in search.labels), strict=True))
        sent = sum(record.mask_bytes for level in levels for record in level)
        told = delegate_volume(
            delegates=64 * -(-len(whole.delegates) // 64),
            nn_arcs=storage(whole)["nn_arcs"],
            ranks=ranks,
            mask_levels=len(levels),
        )
        # Whole masks go along a tree in every level; nn arcs within a rank are not sent.
        assert sent == told.masks
        assert sum(record.vertex_bytes for level in levels for record in level) < told.vertices
