"""The place where an order is found and applied: the device, with pinned columns too, or the host."""

from __future__ import annotations

from gravel.kernels.buffers import Buffer, Table, exact, vertex_type
from gravel.kernels.order import METHODS, buffers
from gravel.stages.stage import Machine

DEVICE_ARCS_AT_ONCE = 1 << 29
"""Arcs of new rows that are sorted at once where memory does not ask for fewer."""

COMMUNITY = ("community", "community_rcm")

RCM = ("rcm", "rcm_by_degree")

LEAST_ROOM = 256 << 20
"""Bytes of the device that sorting ranges of rows takes at least: those of a row of 8 million arcs."""


def renumbered(vertices: int, arcs: int) -> Table:
    """Return the table of renumbering a whole graph on the device, the graph included."""
    vertex, at_once = vertex_type(vertices), min(arcs, DEVICE_ARCS_AT_ONCE)
    graphs = Buffer("old_columns", vertex, arcs), Buffer("whole_columns", vertex, arcs - at_once)
    return *buffers.applying(vertices, vertex), *graphs, *buffers.sorted_range(at_once, vertex)


def uses_device(machine: Machine, vertices: int, arcs: int) -> bool:
    """Return whether a graph is renumbered on the device."""
    return machine.backend == "cuda" and exact(renumbered(vertices, arcs)) <= machine.device_memory


def arcs_at_once(machine: Machine, vertices: int, arcs: int) -> int:
    """Count the arcs of new rows that may be made on the device at once; 0 where that is no place for them.

    Columns that do not fit there are then read from pinned memory.
    """
    if machine.backend != "cuda":
        return 0
    if uses_device(machine, vertices, arcs):
        return max(1, min(arcs, DEVICE_ARCS_AT_ONCE))
    vertex = vertex_type(vertices)
    room = machine.device_memory - exact(buffers.applying(vertices, vertex))
    if room < LEAST_ROOM:
        return 0
    return min(arcs, room // exact(buffers.sorted_range(1, vertex)), DEVICE_ARCS_AT_ONCE)


def applying_bytes(machine: Machine, vertices: int, arcs: int) -> int:
    """Return the device memory that making the new rows takes, 0 where the host makes them."""
    if uses_device(machine, vertices, arcs):
        return exact(renumbered(vertices, arcs))
    at_once, vertex = arcs_at_once(machine, vertices, arcs), vertex_type(vertices)
    if not at_once:
        return 0
    return exact((*buffers.applying(vertices, vertex), *buffers.sorted_range(at_once, vertex)))


def finding(method: str, vertices: int, arcs: int) -> Table:
    """Return the table of finding an order on the device, with `arcs` columns there."""
    vertex = vertex_type(vertices)
    if method in RCM:
        return *buffers.rcm(vertices, vertex), Buffer("columns", vertex, arcs)
    if method in COMMUNITY:
        return *buffers.community(vertices, vertex), *buffers.clusters(arcs, vertex)
    return buffers.by_degree(vertices, vertex)  # columns are not read


def place_of(method: str, machine: Machine, vertices: int, arcs: int) -> str:
    """Say where an order is found: "device", "pinned" or "host".

    `arcs` are those that it reads, which for a directed graph are more than the graph's.
    """
    if machine.backend != "cuda" or METHODS[method].cuda is None:
        return "host"
    if exact(finding(method, vertices, arcs)) <= machine.device_memory:
        return "device"
    if method in COMMUNITY:
        return "pinned" if community_room(method, machine, vertices) >= LEAST_ROOM else "host"
    return "pinned" if exact(finding(method, vertices, 0)) <= machine.device_memory else "host"


def community_room(method: str, machine: Machine, vertices: int) -> int:
    """Return the device memory for rows with columns in pinned memory, beside what vertices take."""
    of_vertices = buffers.community if method == "community" else buffers.community_rcm
    return machine.device_memory - exact(of_vertices(vertices, vertex_type(vertices)))


def finding_bytes(method: str, machine: Machine, vertices: int, arcs: int) -> int:
    """Return the device memory that finding an order takes."""
    place = place_of(method, machine, vertices, arcs)
    if place == "host":
        return 0
    if method in COMMUNITY and place == "pinned":
        return machine.device_memory
    return exact(finding(method, vertices, arcs if place == "device" else 0))
