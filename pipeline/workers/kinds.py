"""Which kinds of cluster there are."""

from __future__ import annotations

KINDS = ("auto", "inline", "local", "cuda")


def is_address(text: str) -> bool:
    """Say whether a --cluster value names an existing cluster: an address or a scheduler file."""
    return "://" in text or text.endswith(".json")
