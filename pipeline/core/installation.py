"""Where gravel lies: the folder of the package, in a checkout or installed."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE", "ROOT"]

PACKAGE = Path(__file__).parents[2]
"""The folder `gravel`; in a checkout `pipeline`, `stages` and `kernels` in it are links."""

ROOT = PACKAGE.resolve().parent
"""The folder that holds it: the checkout, or where packages are installed."""
