"""Plugin files on Dask workers: their texts travel, so that every worker runs what the driver has read."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from pipeline.plugins.files import SOURCES, PluginSource, add_sources


class PluginFiles(WorkerPlugin):  # type: ignore[misc]
    """Dask runs `setup` on every worker before its first task, those included that come or restart later."""

    def __init__(self, sources: dict[str, PluginSource]) -> None:
        self._sources = sources

    def setup(self, worker: Any) -> None:
        """Let the worker import the plugins, under the names by which their stages arrive."""
        add_sources(self._sources)


def bring_plugins(client: Any, run: str) -> None:
    """Make the plugin files of this process known to all workers of a cluster, if there are any."""
    if SOURCES:
        client.register_plugin(PluginFiles(dict(SOURCES)), name=f"gravel-plugins-{run}")
