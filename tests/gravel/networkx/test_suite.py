"""NetworkX's own tests pass with gravel as the backend."""

import networkx
import pytest

from gravel.networkx.info import MODULE_OF
from tests.gravel.networkx.suite import ALL, DIRECT, MOSTLY_WEIGHTED, report, run_suite

ELSEWHERE = {"ancestors", "descendants", "generic_bfs_edges"}
"""Functions that none of these modules calls with arguments that gravel takes."""


def test_the_tests_of_the_functions_that_gravel_has_pass():
    counts = run_suite(DIRECT, without=MOSTLY_WEIGHTED)
    assert not counts["failed"], counts["end"]
    assert counts["outcomes"]["passed"] > 250
    assert {name for name, tests in counts["tests"].items() if tests} == set(MODULE_OF) - ELSEWHERE
    assert set(counts["outcomes"]) == {"passed"}, list(report(counts))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_tests_of_networkx_pass():
    counts = run_suite(ALL, timeout=1700)
    assert not counts["failed"], counts["end"]
    # No test of NetworkX calls it without a function for the neighbours; test_networkx.py does.
    assert [name for name, tests in counts["tests"].items() if not tests] == ["generic_bfs_edges"]


def test_every_name_is_one_that_networkx_dispatches():
    assert set(MODULE_OF) <= set(networkx.utils.backends._registered_algorithms)
