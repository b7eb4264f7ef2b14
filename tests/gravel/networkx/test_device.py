"""NetworkX's own tests on a GPU, with everything there that gravel has for one."""

import networkx as nx
import pytest

from tests.benchmarks.networkx import graph
from tests.gravel.networkx.suite import DIRECT, MOSTLY_WEIGHTED, run_suite

pytestmark = pytest.mark.gpu


@pytest.mark.timeout(600)
def test_the_tests_of_networkx_pass_on_a_gpu(monkeypatch):
    monkeypatch.setenv("GRAVEL_NETWORKX_DEVICE", "cuda")
    counts = run_suite(DIRECT, timeout=550, without=MOSTLY_WEIGHTED)
    assert not counts["failed"], counts["end"]
    assert counts["outcomes"]["passed"] > 400


def test_results_are_those_of_the_cpu():
    made = graph(3000)
    for name in ("closeness_centrality", "eccentricity", "average_shortest_path_length", "periphery"):
        with nx.config.backends.gravel(device="cuda"):
            found = getattr(nx, name)(made, backend="gravel")
        with nx.config.backends.gravel(device="cpu"):
            assert found == getattr(nx, name)(made, backend="gravel")
