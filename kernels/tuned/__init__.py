"""Constants of CUDA searches that a machine measured for itself, and who uses them.

`gravel doctor --tune` measures the constants of `gravel.kernels.tuned.constants` and stores what it found
beside the compiled kernels. Searches take the stored values in the place of their defaults, on the GPU that
they were measured on alone, and say so in what they record. Constants that a call names are taken as given.
"""

from __future__ import annotations

from gravel.kernels.tuned.stored import Applied, applied

__all__ = ["Applied", "applied"]
