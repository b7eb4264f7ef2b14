"""The parameters of `verify`."""

from __future__ import annotations

from typing import Literal

from gravel.stages.stage import Parameters


class VerifyParameters(Parameters):
    """Where to check; every check that the result allows is made."""

    on: Literal["auto", "cuda", "cpu"] = "auto"
    """`auto` is the GPU where the run has one and the graph fits, else the CPU; `cpu` is for who trusts no
    GPU to check a GPU; with `cuda` a run that cannot use one is refused. A distributed graph is checked by
    its ranks, where they are."""
