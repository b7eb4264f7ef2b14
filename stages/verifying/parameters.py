"""The parameters of `verify`."""

from __future__ import annotations

from typing import Literal

from gravel.stages.stage import Parameters


class VerifyParameters(Parameters):
    """Parameters that say where to check; every check that the result allows is made."""

    on: Literal["auto", "cuda", "cpu"] = "auto"
    """`auto` is the GPU if the run has one and the graph fits, else the CPU. `cpu` checks results of a GPU
    with independent code. `cuda` refuses a run without a GPU. A distributed graph is checked by its ranks,
    where they are."""
