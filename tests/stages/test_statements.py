"""What each stage states is what it took: recorded for three sizes, measured anew, and changed on purpose."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from gravel.stages.stage import all_stages
from tests.stages.statements.cases import CASES, SCALES
from tests.stages.statements.measuring import measure, measured
from tests.stages.statements.mutants import changes, functions_of
from tests.stages.statements.record import all_stated, faults, load

UNNOTICED = Path(__file__).with_name("statements") / "unnoticed.txt"
"""Changes that no case notices: extents of results, heads of files, terms that three small sizes lack."""

AGAIN = "measure again: python -m tests.stages.statements.record --write"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("statements")


def test_every_stage_has_a_case_of_three_sizes() -> None:
    recorded = load()
    assert {case.stage for case in CASES.values()} == set(all_stages())
    assert set(recorded["host"]) == set(CASES)
    assert all(set(sizes) == set(map(str, SCALES)) for sizes in recorded["host"].values())


def differences(recorded: dict[str, Any], now: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return what is too small or too large beside what was taken, and what is not what was recorded."""
    wrong, other = [], []
    for name, sizes in recorded["host"].items():
        pairs = {scale: [now["host"][name][scale], peak] for scale, (_, peak) in sizes.items()}
        wrong += faults(name, "host", pairs)
        if pairs != sizes:
            other.append(f"{name}, host: {pairs}, recorded {sizes}")
    for name, sizes in recorded["cuda"].items():
        if now["cuda"][name] != sizes:
            other.append(f"{name}, for a GPU: {now['cuda'][name]}, recorded {sizes}")
    for name, sizes in recorded.get("device", {}).items():
        pairs = {scale: [now["cuda"][name][scale][1], peak] for scale, (_, peak) in sizes.items()}
        wrong += faults(name, "device", pairs)
    return wrong, other


def test_statements_are_those_that_were_measured(folder: Path) -> None:
    recorded = load()
    wrong, other = differences(recorded, all_stated(recorded, folder))
    assert not wrong, "\n".join([*wrong, AGAIN])
    assert not other, "\n".join([*other, AGAIN])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_what_is_stated(folder: Path, name: str) -> None:
    sizes = {str(scale): measured(folder, name, scale, "cpu")["host"] for scale in SCALES}
    assert not faults(name, "host", sizes)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.gpu])
def test_the_peak_on_a_gpu_is_what_is_stated(folder: Path, name: str) -> None:
    """In this process: another one for each would compile the kernels again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {str(scale): measure(folder, name, scale, "cuda")["device"] for scale in SCALES}
    print(name, sizes)
    assert not faults(name, "device", sizes)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_other_number_of_a_statement_changes_unnoticed(folder: Path) -> None:
    """With `-s`: the changes that the measured peaks do not notice, but only the recorded statements."""
    recorded = load()
    functions = functions_of(lambda: all_stated(recorded, folder))
    assert len(functions) > 20
    unnoticed, by_record, count = [], [], 0
    for name, change in changes(functions):
        count += 1
        with change:
            try:
                wrong, other = differences(recorded, all_stated(recorded, folder))
            except Exception as error:
                wrong, other = [repr(error)], []
        if not wrong:
            (by_record if other else unnoticed).append(name)
    print(f"{count} changes; {len(by_record)} noticed by recorded statements alone:", *by_record, sep="\n")
    print(f"{len(unnoticed)} not noticed:", *unnoticed, sep="\n")
    new = sorted(set(unnoticed) - set(UNNOTICED.read_text().splitlines()))
    assert not new, "\n".join(new)
