"""Where the rows of a graph lie while it is searched: on the device, in pinned host memory, or read in parts.

`on_gpu` and `on_host` say what fits, `place` brings the rows there. See `gravel.kernels.placement.plan` for
the placements.
"""

from gravel.kernels.placement.placed import Placed, place
from gravel.kernels.placement.plan import PLACEMENTS, DoesNotFit, Limits, Plan, Sizes, on_gpu, on_host

__all__ = ["PLACEMENTS", "DoesNotFit", "Limits", "Placed", "Plan", "Sizes", "on_gpu", "on_host", "place"]
