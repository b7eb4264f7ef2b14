"""docs/networkx.md lists the functions that there are and the limits that are in force."""

import re
import tomllib
from pathlib import Path

import networkx
import pytest

from gravel.networkx.device import GPU_FROM
from gravel.networkx.info import MODULE_OF
from gravel.networkx.limits import CROSSOVER
from tests.gravel.networkx.suite import ALL, DIRECT, MOSTLY_WEIGHTED, report, run_suite

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "networkx.md").read_text(encoding="utf-8")


def test_the_table_lists_every_function_that_gravel_has():
    rows = PAGE.partition("| nx-cugraph only |\n")[2].partition("\n\n")[0].splitlines()[1:]
    both, ours, theirs = zip(*(row.split(" | ")[1:] for row in rows), strict=True)
    assert sorted(re.findall(r"`(\w+)`", " ".join(both + ours))) == sorted(MODULE_OF)
    assert not {*re.findall(r"`(\w+)`", " ".join(theirs))} & set(MODULE_OF)
    assert f"gravel has {len(MODULE_OF)} functions" in PAGE


def test_the_limits_are_those_in_force():
    stated = [int(each.replace(",", "")) for each in re.findall(r"\| ([\d,]+) nodes \|", PAGE)]
    assert stated == list(CROSSOVER.values())
    assert f"{GPU_FROM:,} or more" in PAGE


def test_the_versions_are_those_that_are_tested():
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tested = re.search(r"for version in ([\d. ]+);", (ROOT / ".ci" / "run").read_text()).group(1).split()
    assert f"Tested with NetworkX {' and '.join(tested)}." in PAGE
    assert allowed["networkx"] == [f"networkx>={tested[0]},<4"]


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
