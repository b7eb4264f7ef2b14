"""Where the code of this installation is, and the folder of the user's configuration."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
"""The folder `gravel`; in a checkout `pipeline`, `stages` and `kernels` in it are links."""

ROOT = PACKAGE.resolve().parent
"""The folder that holds it: the checkout, or where packages are installed."""


def config_folder() -> Path:
    """Return `$XDG_CONFIG_HOME/gravel`, else `~/.config/gravel`; it need not exist."""
    # As the XDG specification says, a relative path is ignored.
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".config"  # noqa: PTH117
    return root / "gravel"
