"""What is said when a cluster is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.scheduler.losses import refuse_without
from gravel.pipeline.scheduler.node import DONE, RUNNING


def test_computed_and_cached_results_are_kept() -> None:
    states = (("a", DONE), ("b", DONE), ("c", DONE), ("d", RUNNING))
    nodes: Any = [SimpleNamespace(key=key, state=state) for key, state in states]
    counts = {"computed": 1, "cached": 2}
    ended: list[str] = []
    events: Any = SimpleNamespace(
        record=SimpleNamespace(count=counts.__getitem__), interrupted=lambda node: ended.append(node.key)
    )
    cluster: Any = SimpleNamespace(lost=lambda: "the Dask scheduler at tcp://here:1 was lost")
    with pytest.raises(GravelError, match="was lost in the middle of the run; 3 of 4 results are kept"):
        refuse_without(cluster, nodes, events)
    assert ended == ["d"]
    refuse_without(SimpleNamespace(lost=lambda: None), nodes, events)  # type: ignore[arg-type]
