"""The verifiers lead to no code of the searches and components that they check."""

from __future__ import annotations

import pytest

from gravel.pipeline.core.fingerprint import ROOT, Sources

CHECKED = ("gravel.kernels.bfs", "gravel.kernels.components", "kernels/bfs", "kernels/components")


def below(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith((f"{root}.", f"{root}/")) for root in roots)


@pytest.mark.parametrize(
    "modules",
    [
        ("gravel.kernels.verify.cuda.bfs", "gravel.kernels.verify.cuda.components"),
        ("gravel.kernels.verify.bfs", "gravel.kernels.verify.components"),
    ],
    ids=["cuda", "cpu"],
)
def test_nothing_of_what_is_checked_is_reached(modules: tuple[str, ...]) -> None:
    reached = Sources(ROOT).closure(*modules)
    assert not [name for name in reached if below(name, CHECKED)]
    if "cuda" in modules[0]:
        # What they are made of is seen, kernels and headers too.
        kernels = {name for name in reached if name.startswith("kernels/verify/cuda/")}
        names = ("vertices.cu", "rows.cu", "components.cu", "long_rows.cuh", "integers.cuh", "rules.cuh")
        assert kernels == {f"kernels/verify/cuda/{name}" for name in names}
        assert "gravel.kernels.verify.cuda.blocks" in reached
