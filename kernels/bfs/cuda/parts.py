"""Names of the gathers and look-ups of Merrill et al. 2012, as `gather.cuh` and `lookup.cuh` number them."""

from __future__ import annotations

GATHERS = {"serial": 0, "warp": 1, "scan": 2, "scan_warp_cta": 3}
"""Section 4.1, as `GatherName` in `gather.cuh`."""

BITMASK, LABEL, WARP, HISTORY, ATOMIC = 1, 2, 4, 8, 16
"""Parts of a look-up, as `LookUp` in `lookup.cuh`."""

LOOKUPS = {
    "bitmask": BITMASK,
    "label": BITMASK | LABEL,
    "warp_culling": BITMASK | LABEL | WARP,
    "history_culling": BITMASK | LABEL | WARP | HISTORY,
    "atomic": BITMASK | ATOMIC,
}
"""Section 4.2, in the order of figure 8, each with what the one before it has, and then the atomic one."""

REMEMBERED = 1024
"""Words of a block's history, as HISTORY in `lookup.cuh`."""

SPREAD = 0x9E3779B1
"""2^32 over the golden ratio, by which ids are spread over tables (Knuth, volume 3, section 6.4)."""

WARP_CELLS = 128
"""Bytes of a warp's table, as WARP_HASH in `lookup.cuh`."""

LISTED = 4
"""Arcs that a scan lists at a time per thread, as in `gather.cuh`."""


def gather_number(name: str) -> int:
    """Number of a gather; raises ValueError for a name that does not exist."""
    if name not in GATHERS:
        raise ValueError(f"gather is {name!r}; it can be {', '.join(GATHERS)}")
    return GATHERS[name]


def gather_bytes(block: int, vertex_bytes: int, *, owners: bool) -> int:
    """Shared memory of a block's gather list: arcs, then their owners if they are kept."""
    return LISTED * block * (8 + (vertex_bytes if owners else 0))


def culling_bytes(block: int) -> int:
    """Shared memory of a block's history and of its warps' tables."""
    return REMEMBERED * 8 + block // 32 * WARP_CELLS


def look_up_parts(claim: str, *, warp_culling: bool | None, history_culling: bool | None) -> int:
    """Parts of a search's look-up, which always begins with the bitmask.

    `claim` is "atomic", by which every vertex is found once, or "racing", the paper's read of the label and
    plain write, by which a vertex may be found several times. Raises ValueError for another. Culling that is
    None is for racing claims alone.
    """
    claims = {"atomic": ATOMIC, "racing": LABEL}
    if claim not in claims:
        raise ValueError(f"claim is {claim!r}; it can be {' or '.join(claims)}")
    parts = BITMASK | claims[claim]
    for part, wanted in ((WARP, warp_culling), (HISTORY, history_culling)):
        if claim == "racing" if wanted is None else wanted:
            parts |= part
    return parts
