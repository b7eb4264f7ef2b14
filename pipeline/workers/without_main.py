"""Workers start without the program that runs the workflow.

Python runs the main module again in each process that it spawns, for the sake of what may be defined there.
Stages are never defined there. A script without `if __name__ == "__main__":` would run its workflows again in
each worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing import spawn
from typing import Any

WORKER = "Dask Worker process"
"""How `distributed.nanny` begins the names of the processes that it starts."""

_of_python = spawn.get_preparation_data
_lock = threading.Lock()
_users = 0


def _prepared(name: str) -> dict[str, Any]:
    prepared = _of_python(name)
    if name.startswith(WORKER):
        for key in ("init_main_from_name", "init_main_from_path"):
            prepared.pop(key, None)
    return prepared


def start_without_main() -> Callable[[], None]:
    """Keep the main module out of workers that start from now on, also anew; the result ends that."""
    global _users
    with _lock:
        _users += 1
        spawn.get_preparation_data = _prepared

    def end() -> None:
        global _users
        with _lock:
            _users -= 1
            if not _users:
                spawn.get_preparation_data = _of_python

    return end
