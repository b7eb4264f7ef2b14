"""The verifiers lead to no code of the searches and components that they check."""

from __future__ import annotations

import pytest

from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.sources import Sources

ALGORITHMS = ("bfs", "components", "strong_components", "sssp")
CHECKED = tuple(f"{folder}{name}" for folder in ("gravel.kernels.", "kernels/") for name in ALGORITHMS)


def below(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith((f"{root}.", f"{root}/")) for root in roots)


@pytest.mark.parametrize(
    "modules",
    [
        tuple(f"gravel.kernels.verify.cuda.{name}" for name in ALGORITHMS),
        tuple(f"gravel.kernels.verify.{name}" for name in ALGORITHMS),
    ],
    ids=["cuda", "cpu"],
)
def test_nothing_of_what_is_checked_is_reached(modules: tuple[str, ...]) -> None:
    reached = Sources(ROOT).closure(*modules)
    assert not [name for name in reached if below(name, CHECKED)]
    if "cuda" in modules[0]:
        # What they are made of is seen, kernels and headers too.
        kernels = {name for name in reached if name.startswith("kernels/verify/cuda/")}
        names = ("vertices.cu", "rows.cu", "paths.cu", "components.cu", "strong_components.cu")
        names += ("counts.cuh", "long_rows.cuh", "integers.cuh", "rules.cuh")
        assert kernels == {f"kernels/verify/cuda/{name}" for name in names}
        assert "gravel.kernels.verify.cuda.blocks" in reached
