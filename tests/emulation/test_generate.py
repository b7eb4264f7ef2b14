"""Generators on CPU threads: the edges of the CPU, in every part."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.generate import generate

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("rmat", {"scale": 6, "edge_factor": 4, "seed": 3}),
        ("communities", {"vertices": 900, "edges": 2000, "seed": 3}),
    ],
)
def test_edges_are_the_same(name: str, parameters: dict[str, Any]) -> None:
    expected = generate(name, **parameters)
    for first, count in ((0, len(expected[0])), (17, 100), (5, 0)):
        found = generate(name, **parameters, first=first, count=count, backend="cuda")
        for each, whole in zip(found, expected, strict=True):
            numpy.testing.assert_array_equal(each.get(), whole[first : first + count])
