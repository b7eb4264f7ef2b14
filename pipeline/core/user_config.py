"""Where the user's own configuration lies: never in a project, never in a cache."""

from __future__ import annotations

import os
from pathlib import Path


def config_folder() -> Path:
    """Return `$XDG_CONFIG_HOME/gravel`, else `~/.config/gravel`; it need not exist."""
    # As the XDG specification says, a relative path is ignored.
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".config"  # noqa: PTH117
    return root / "gravel"
