"""Plugin files on a Dask cluster: their texts travel, so that every worker runs what the driver has read.

The scheduler reads the tasks that it hands on, so it has to know the plugins too.
"""

from __future__ import annotations

from typing import Any

from distributed import SchedulerPlugin, WorkerPlugin

from gravel.pipeline.plugins.files import SOURCES, PluginSource, add_sources


class _Files:
    def __init__(self, sources: dict[str, PluginSource]) -> None:
        self._sources = sources


class WorkerFiles(_Files, WorkerPlugin):  # type: ignore[misc]
    """Lets workers import the plugins, under the names by which their stages arrive."""

    def setup(self, worker: Any) -> None:
        """Dask runs this on every worker before its first task, those included that come or restart later."""
        add_sources(self._sources)


class SchedulerFiles(_Files, SchedulerPlugin):  # type: ignore[misc]
    """Lets the scheduler import the plugins."""

    async def start(self, scheduler: Any) -> None:
        """Dask runs this when the plugin is registered."""
        add_sources(self._sources)


def bring_plugins(client: Any, run: str) -> None:
    """Make the plugin files of this process known to a cluster, if there are any."""
    if SOURCES:
        for files in (SchedulerFiles, WorkerFiles):
            client.register_plugin(files(dict(SOURCES)), name=f"gravel-{files.__name__}-{run}")
