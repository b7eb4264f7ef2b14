"""The oldest GPUs that gravel's kernels run on."""

from __future__ import annotations

LEAST = (8, 0)
"""Compute capability from which a warp adds and compares in one instruction (`__reduce_add_sync`): Ampere."""


def too_old(name: str, capability: tuple[int, int]) -> str | None:
    """Say why a GPU cannot be used; None if it can."""
    if capability >= LEAST:
        return None
    found, least = (".".join(map(str, each)) for each in (capability, LEAST))
    return f"{name} has compute capability {found}, and gravel's kernels need {least} or newer"
