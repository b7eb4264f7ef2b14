"""The place where an order is found and applied: the device, with pinned columns too, or the host."""

from __future__ import annotations

from gravel.kernels.cuda.room import SORT_BYTES_PER_KEY
from gravel.stages.stage import Machine

DEVICE_BYTES_PER_ARC = 8 + SORT_BYTES_PER_KEY
"""Peak of `gravel.kernels.order.renumber_cuda` beside both graphs: a 64-bit key, and what sorts it."""

DEVICE_ARCS_AT_ONCE = 1 << 29
"""Arcs of new rows that are sorted at once where memory does not ask for fewer."""

DEVICE_BYTES_PER_ROW = 40

RCM_WORDS_PER_ROW = 16
"""Peak of `gravel.kernels.order.rcm_cuda` beside row offsets and columns, in words of a vertex: ranks, queue,
marks, components, and 64-bit keys sorted out of place; a few more where most components are tiny."""

ON_DEVICE = {"degree", "hub_sort", "hub_cluster", "degree_groups", "rcm", "rcm_by_degree"}
ON_DEVICE |= {"community", "community_rcm"}
"""Orders with a CUDA implementation: what `gravel.kernels.order.METHODS` says, which plans do not import."""

COMMUNITY = ("community", "community_rcm")

COMMUNITY_BYTES_PER_ROW = 80
COMMUNITY_WORDS_PER_ARC = 7
"""Of the community orders, at most: the graph, one of clusters with its weights, and 64-bit keys of the next
one, sorted out of place; on the host that next one in blocks and joined. Most graphs need less."""

COMMUNITY_RCM_BYTES_PER_ROW = 120
"""Of `community_rcm` with columns in pinned memory: that of `rcm`, communities and places beside."""

COMMUNITY_PINNED_WORDS_PER_ARC = 5
"""Of host memory: the graph, one of clusters with its weights, and the next one, which has fewer arcs; then
the graph and a copy of it."""

LEAST_ROOM = 256 << 20
"""Bytes of the device that sorting ranges of rows takes at least: those of a row of 8 million arcs."""


def device_bytes(vertices: int, arcs: int) -> int:
    """Return the device memory that renumbering a graph takes, the graph included."""
    width = 4 if vertices < 1 << 32 else 8
    sorting = DEVICE_BYTES_PER_ARC * min(arcs, DEVICE_ARCS_AT_ONCE)
    return DEVICE_BYTES_PER_ROW * vertices + 2 * width * arcs + sorting


def uses_device(machine: Machine, vertices: int, arcs: int) -> bool:
    """Return whether a graph is renumbered on the device."""
    return machine.backend == "cuda" and device_bytes(vertices, arcs) <= machine.device_memory


def arcs_at_once(machine: Machine, vertices: int, arcs: int) -> int:
    """Count the arcs of new rows that may be made on the device at once; 0 where that is no place for them.

    Columns that do not fit there are then read from pinned memory.
    """
    if machine.backend != "cuda":
        return 0
    if uses_device(machine, vertices, arcs):
        return max(1, min(arcs, DEVICE_ARCS_AT_ONCE))
    width = 4 if vertices < 1 << 32 else 8
    room = machine.device_memory - DEVICE_BYTES_PER_ROW * vertices
    if room < LEAST_ROOM:
        return 0
    return min(arcs, room // (DEVICE_BYTES_PER_ARC + width), DEVICE_ARCS_AT_ONCE)


def applying_bytes(machine: Machine, vertices: int, arcs: int) -> int:
    """Return the device memory that making the new rows takes, 0 where the host makes them."""
    if uses_device(machine, vertices, arcs):
        return device_bytes(vertices, arcs)
    width = 4 if vertices < 1 << 32 else 8
    at_once = arcs_at_once(machine, vertices, arcs)
    return DEVICE_BYTES_PER_ROW * vertices + (DEVICE_BYTES_PER_ARC + width) * at_once if at_once else 0


def place_of(method: str, machine: Machine, vertices: int, arcs: int) -> str:
    """Say where an order that has a CUDA implementation is found: "device", "pinned" or "host".

    `arcs` are those that it reads, which for a directed graph are more than the graph's.
    """
    if machine.backend != "cuda":
        return "host"
    width = 4 if vertices < 1 << 32 else 8
    if method in ("rcm", "rcm_by_degree"):
        beside = (8 + RCM_WORDS_PER_ROW * width) * vertices
        if beside + width * arcs <= machine.device_memory:
            return "device"
        return "pinned" if beside <= machine.device_memory else "host"
    if method in COMMUNITY:
        if community_bytes(vertices, arcs) <= machine.device_memory:
            return "device"
        return "pinned" if community_room(method, machine, vertices) >= LEAST_ROOM else "host"
    # The others read no columns.
    return "device" if DEVICE_BYTES_PER_ROW * vertices <= machine.device_memory else "host"


def community_bytes(vertices: int, arcs: int) -> int:
    """Return the device memory to find communities: the host's, and what sorting keys takes beside."""
    width = 4 if vertices < 1 << 32 else 8
    sorting = (SORT_BYTES_PER_KEY - 8) * arcs
    return COMMUNITY_BYTES_PER_ROW * vertices + COMMUNITY_WORDS_PER_ARC * width * arcs + sorting


def community_room(method: str, machine: Machine, vertices: int) -> int:
    """Return the device memory for rows with columns in pinned memory, beside what vertices take."""
    beside = COMMUNITY_BYTES_PER_ROW if method == "community" else COMMUNITY_RCM_BYTES_PER_ROW
    return machine.device_memory - beside * vertices


def order_bytes(method: str, machine: Machine, vertices: int, arcs: int) -> int:
    """Return the device memory that finding an order takes."""
    width = 4 if vertices < 1 << 32 else 8
    place = place_of(method, machine, vertices, arcs)
    if place == "host":
        return 0
    if method in ("rcm", "rcm_by_degree"):
        columns = width * arcs if place == "device" else 0
        return (8 + RCM_WORDS_PER_ROW * width) * vertices + columns
    if method in COMMUNITY:
        if place == "pinned":
            return machine.device_memory
        return community_bytes(vertices, arcs)
    return DEVICE_BYTES_PER_ROW * vertices
