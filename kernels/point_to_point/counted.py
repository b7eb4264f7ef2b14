"""Numbers of arcs between pairs on one CPU thread, by searches from both ends that end where they meet.

Pohl, Bi-directional Search, Machine Intelligence 6, 1971: the end whose frontier has fewer arcs goes on.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


@serial
def count_arcs(
    offsets: NDArray[Any],
    columns: NDArray[Any],
    back_offsets: NDArray[Any],
    back_columns: NDArray[Any],
    sources: NDArray[Any],
    targets: NDArray[Any],
    unreached: Any,
    level: NDArray[Any],
    queue: NDArray[Any],
    length: NDArray[Any],
) -> None:
    """Write how far each target is from its source, or `unreached`.

    `level` is int32 (2, vertices), one more than the distance from either end; all zero, before and after.
    """
    sizes = numpy.zeros(2, numpy.int64)
    for pair in range(len(sources)):
        source, target = sources[pair], targets[pair]
        length[pair] = unreached
        if source == target:
            length[pair] = 0
            continue
        level[0, source] = level[1, target] = 1
        queue[0, 0], queue[1, 0] = source, target
        sizes[:] = 1
        head, back_head = 0, 0
        arcs = offsets[source + 1] - offsets[source]
        back_arcs = back_offsets[target + 1] - back_offsets[target]
        while arcs > 0 and back_arcs > 0:
            # What both ends have reached is apart, and whole levels: the first to be found is a nearest one.
            if arcs <= back_arcs:
                end = sizes[0]
                met, arcs = _expand(offsets, columns, level[0], level[1], queue[0], head, sizes[:1])
                head = end
            else:
                end = sizes[1]
                met, back_arcs = _expand(
                    back_offsets, back_columns, level[1], level[0], queue[1], back_head, sizes[1:]
                )
                back_head = end
            if met >= 0:
                length[pair] = met
                break
        for side in range(2):
            for i in range(sizes[side]):
                level[side, queue[side, i]] = 0


@serial
def _expand(
    offsets: NDArray[Any],
    columns: NDArray[Any],
    mine: NDArray[Any],
    other: NDArray[Any],
    queue: NDArray[Any],
    head: int,
    size: NDArray[Any],
) -> tuple[int, int]:
    """Search one level further. Returns the length of a path to the other side, or -1, and the arcs ahead."""
    arcs, end = 0, size[0]
    for i in range(head, end):
        u = queue[i]
        for arc in range(offsets[u], offsets[u + 1]):
            v = numpy.int64(columns[arc])
            if other[v] != 0:
                return int(mine[u] + other[v] - 1), arcs
            if mine[v] == 0:
                mine[v] = mine[u] + 1
                queue[size[0]] = v
                size[0] += 1
                arcs += int(offsets[v + 1] - offsets[v])
    return -1, arcs
