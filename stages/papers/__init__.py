"""Code that serves the reproduction of one paper alone; gravel runs without this folder.

It needs that of kernels, and counts as absent without it.
"""

import gravel.kernels.papers  # noqa: F401
