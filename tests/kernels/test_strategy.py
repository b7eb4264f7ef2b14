"""A strategy's name stands for code of its own: on no backend do two names run one function."""

from __future__ import annotations

from collections import Counter

import pytest

from gravel.kernels.strategy import strategies_in

PACKAGES = (
    "gravel.kernels.bfs",
    "gravel.kernels.components",
)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
@pytest.mark.parametrize("package", PACKAGES)
def test_no_two_names_stand_for_one_function(package: str, backend: str) -> None:
    named = Counter(each.target(backend) for each in strategies_in(package).values() if each.target(backend))
    assert {target: count for target, count in named.items() if count > 1} == {}


def test_a_strategy_that_does_not_run_here_says_so() -> None:
    with pytest.raises(ValueError, match="'hybrid' does not run on the CPU; it has GPU code alone"):
        strategies_in("gravel.kernels.bfs")["hybrid"].load("cpu")
    with pytest.raises(ValueError, match="'serial' does not run on a GPU; it has CPU code alone"):
        strategies_in("gravel.kernels.bfs")["serial"].load("cuda")


def test_what_ran_has_defaults_and_what_was_given() -> None:
    ran = strategies_in("gravel.kernels.bfs")["top_down"].ran("cpu", {"serial_below": 9})
    assert ran.function == "gravel.kernels.bfs.cpu.top_down:prepare"
    assert ran.options == {"serial_below": 9, "threads": None}
