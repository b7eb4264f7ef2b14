"""compute-sanitizer over every family of CUDA kernels; `tests.drills.sanitizers` says what tools see."""

import pytest

from gravel.kernels.layouts import LAYOUTS
from gravel.kernels.strategy import strategies_in
from tests.drills.families import FAMILIES
from tests.drills.sanitizers import BENIGN, BENIGN_FUNCTIONS, FAMILY, LAYOUT, TOOLS, Report, run, sanitizer

STRATEGIES = [name for name, each in sorted(strategies_in("gravel.kernels.bfs").items()) if each.cuda]
STRATEGIES += [f"{LAYOUT}{layout}" for layout in LAYOUTS]
OTHERS = [f"{FAMILY}{family}" for family in FAMILIES]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(sanitizer() is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("names", [STRATEGIES, OTHERS], ids=["searches", "families"])
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_left_to_explain(tool, names) -> None:
    reports, left = run(tool, names)
    assert not left
    assert not [str(report) for report in reports if report.reason() is None]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(sanitizer() is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_fault_is_found(tool) -> None:
    reports, _ = run(tool, [tool])
    assert reports
    assert {report.strategy for report in reports} <= {tool, "none"}
    assert not any(report.reason() for report in reports)


def test_what_is_explained_names_a_tool() -> None:
    assert {tool for tool, _ in [*BENIGN, *BENIGN_FUNCTIONS]} <= set(TOOLS)


def test_a_function_is_explained_where_no_other_takes_part() -> None:
    ours, theirs = ("place_root", "12"), ("search", "13")
    assert Report("racecheck", "family:components", "Warning", (ours, ours)).reason()
    assert Report("racecheck", "family:components", "Warning", (ours, theirs)).reason() is None
    assert Report("memcheck", "family:components", "Warning", (ours, ours)).reason() is None


def test_what_a_kernel_of_cupy_does_is_explained() -> None:
    ours, theirs = ("search", "12"), ("cupy_nonzero_kernel", "")
    assert Report("racecheck", "layout:varint", "Warning", (theirs,)).reason()
    assert Report("racecheck", "layout:varint", "Warning", (theirs, ours)).reason() is None


def test_a_place_is_told_by_its_line_wherever_the_kernel_lies() -> None:
    for strategy in ("quadratic", "persistent"):
        (line,) = Report("memcheck", strategy, "Warning", (("search", "1"),)).lines()
        assert line.startswith("// ")
