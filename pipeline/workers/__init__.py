"""Where stages run. Every kind of cluster offers the same few verbs to the driver: see `protocol`.

The driver decides which stage runs on which place and tells the cluster; the cluster answers with events in
a queue. Nothing here imports Dask until a cluster starts.
"""

from __future__ import annotations

KINDS = ("auto", "inline", "local", "cuda")


def is_address(text: str) -> bool:
    """Say whether a --cluster value names an existing cluster: an address or a scheduler file."""
    return "://" in text or text.endswith(".json")
