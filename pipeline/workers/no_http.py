"""Closes the HTTP server that Dask starts beside every scheduler and worker, and which asks nobody's name.

A `preload` of Dask: `dask_setup` runs before the server says where it is. Until then it has no routes.
"""

from __future__ import annotations

from typing import Any

ROUTES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Dask's settings without dashboard, metrics, health and JSON."""


def dask_setup(server: Any) -> None:
    """Stop listening."""
    http = server.services.pop("dashboard", None)
    if http is not None:
        http.stop()
