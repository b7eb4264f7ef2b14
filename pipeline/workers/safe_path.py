"""Python's safe path for the processes of a run: what lies in the working directory is not imported.

`python -c`, by which Dask's workers are started, otherwise looks there before anywhere else. The variable is
set for the start alone: programs that a stage starts find modules as the person at the keyboard has them.
Where gravel itself lies, workers learn with the rest of the driver's `sys.path`.
"""

from __future__ import annotations

import os

SAFE = "PYTHONSAFEPATH"
ADDED = "GRAVEL_SET_SAFE_PATH"
"""Says that the other variable is gravel's and not the user's."""


def safe_path_variables() -> dict[str, str]:
    """Return the environment with which to start a process; nothing if the user has a safe path anyhow."""
    if os.environ.get(SAFE) and ADDED not in os.environ:
        return {}
    return {SAFE: "1", ADDED: "1"}


def drop_safe_path_variables() -> None:
    """Take them out of this process's environment, now that it has started with them."""
    if os.environ.pop(ADDED, None) is not None:
        os.environ.pop(SAFE, None)
