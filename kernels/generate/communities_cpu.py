"""Edges of a graph with communities made on the CPU."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.generate.communities_tables import BUNDLE, DRAWS, HEADER, PER_LEVEL
from gravel.kernels.generate.counter import STEP
from gravel.kernels.generate.draws import mix, scale_down
from gravel.kernels.generate.rmat_cpu import relabelled
from gravel.kernels.jit import serial

_ONE, _ZERO = numpy.uint64(1), numpy.uint64(0)
_LOW, _HALF = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
_DRAWS = numpy.uint64(DRAWS)
_BYTE, _TWO = numpy.uint64(0xFF), numpy.uint64(2)
_THREE = numpy.uint64(3)
_STEP = numpy.uint64(STEP)


@serial
def community_edges(
    source: NDArray[Any],
    target: NDArray[Any],
    first: numpy.uint64,
    bits: int,
    numbers: NDArray[numpy.uint64],
    thresholds: NDArray[numpy.uint64],
    starts: NDArray[numpy.uint64],
    labels: NDArray[numpy.uint64],
) -> None:
    """Fill in edges from `first` on by the tables of `community_tables` and the labels' bijection."""
    vertices = numbers[0]
    goes_on = numbers[5]
    inner = numbers[HEADER + 1]
    for i in range(len(source)):
        edge = first + numpy.uint64(i)
        bundle, place = edge >> _THREE, numpy.int64(edge & numpy.uint64(BUNDLE - 1))
        # The source: the bundle's share of all numbers gives its innermost community, a draw the rest.
        begin = scale_down(bundle * numbers[1], vertices) >> inner << inner
        room = min(vertices - begin, _ONE << inner)
        vertex = begin + scale_down(mix(numbers[3] + bundle * _STEP), room)
        # The run: its first edge, at which its targets were drawn.
        runs = mix(numbers[2] + bundle * _STEP)
        steps = 0
        while place > 0 and (runs >> numpy.uint64(8 * place)) & _BYTE < goes_on:
            place -= 1
            steps += 1
        other = _target(vertex, edge - numpy.uint64(steps), numpy.uint64(steps), numbers, thresholds, starts)
        source[i] = _shuffled(vertex, vertices, bits, labels)
        target[i] = _shuffled(other, vertices, bits, labels)


@serial
def _target(
    vertex: numpy.uint64,
    drawn_at: numpy.uint64,
    steps: numpy.uint64,
    numbers: NDArray[numpy.uint64],
    thresholds: NDArray[numpy.uint64],
    starts: NDArray[numpy.uint64],
) -> Any:
    """The target of the edge `steps` after the one numbered `drawn_at`, which starts a run."""
    vertices, levels = numbers[0], numpy.int64(numbers[6])
    inner = numbers[HEADER + 1]
    counter = numbers[4] + drawn_at * _DRAWS * _STEP
    chance = mix(counter)
    level: Any = 0
    while level < levels - 1 and (chance & _LOW) >= numbers[HEADER + PER_LEVEL * level]:
        level += 1
    begin, own, own_room, room = _ZERO, _ZERO, _ZERO, _ZERO
    # A community that the end of the graph cuts may hold nothing else; then the next level is taken.
    for _ in range(levels):
        shift = numbers[HEADER + PER_LEVEL * level + 1]
        begin = vertex >> shift << shift
        own, own_room = vertex, _ONE
        if level > 0:
            shift_below = numbers[HEADER + PER_LEVEL * (level - 1) + 1]
            own = vertex >> shift_below << shift_below
            own_room = min(vertices - own, _ONE << shift_below)
        room = min(vertices - begin, _ONE << shift) - own_room
        if room:
            break
        level = (level + 1) % levels
    if level == 0:
        found = (_ranked(counter, 0, numbers, thresholds, starts) + steps) % room
        return begin + found + numpy.uint64(found >= own - begin)
    shift_below = numbers[HEADER + PER_LEVEL * (level - 1) + 1]
    if chance >> _HALF < numbers[HEADER + PER_LEVEL * level + 4]:
        # A run to hubs draws each of them: the pages after a hub are none.
        own_counter = counter + steps * _DRAWS * _STEP
        others = (room + (_ONE << shift_below) - _ONE) >> shift_below
        found = _ranked(own_counter, level, numbers, thresholds, starts) % others
        found += numpy.uint64(found >= (own - begin) >> shift_below)
        return begin + (found << shift_below)
    found = scale_down(mix(counter + _STEP), room)
    if found >= own - begin:
        found += own_room
    community = (begin + found) >> inner << inner
    found = _ranked(counter, 0, numbers, thresholds, starts) + steps
    return community + found % min(vertices - community, _ONE << inner)


@serial
def _ranked(
    counter: numpy.uint64,
    level: int,
    numbers: NDArray[numpy.uint64],
    thresholds: NDArray[numpy.uint64],
    starts: NDArray[numpy.uint64],
) -> Any:
    """Draw a number with the chances of a level's bins."""
    rest = mix(counter + _TWO * _STEP)
    low: Any = numpy.int64(numbers[HEADER + PER_LEVEL * level + 2])
    high: Any = low + numpy.int64(numbers[HEADER + PER_LEVEL * level + 3]) - 1
    while low < high:
        middle = (low + high) // 2
        if rest < thresholds[middle]:
            high = middle
        else:
            low = middle + 1
    return starts[low] + scale_down(mix(counter + _THREE * _STEP), starts[low + 1] - starts[low])


@serial
def _shuffled(
    vertex: numpy.uint64, vertices: numpy.uint64, bits: int, labels: NDArray[numpy.uint64]
) -> numpy.uint64:
    """A bijection on the numbers below a power of two, walked until it meets one below `vertices`."""
    if labels[4] == _ZERO:
        return vertex
    vertex = relabelled(vertex, bits, labels)
    while vertex >= vertices:
        vertex = relabelled(vertex, bits, labels)
    return vertex
