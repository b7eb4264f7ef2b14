"""What each stage states is what it took: recorded for three sizes, measured anew, and changed on purpose."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gravel.stages.stage import all_stages
from tests.stages.statements.cases import CASES, SCALES, filled
from tests.stages.statements.files import write_files
from tests.stages.statements.measuring import measure, measured
from tests.stages.statements.mutants import changes, functions_of
from tests.stages.statements.record import all_stated, faults, judge, load, table_line

UNNOTICED = Path(__file__).with_name("statements") / "unnoticed.txt"
"""Changes that no case notices: heads of files, terms that three small sizes lack."""

AGAIN = "measure again: python -m tests.stages.statements.record --write (--stated: record statements alone)"

ON_CPU = [name for name, case in CASES.items() if case.cpu and case.measured]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("statements")


def test_every_stage_has_a_case_of_three_sizes() -> None:
    recorded = load()
    assert {case.stage for case in CASES.values()} == set(all_stages())
    assert set(recorded["host"]) == set(recorded["compiling"]) == set(ON_CPU)
    assert all(set(sizes) == set(map(str, SCALES)) for sizes in recorded["host"].values())


def differences(recorded: dict[str, Any], now: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return what is too small or too large beside what was taken, and what is not what was recorded."""
    other = [
        f"{name}, {backend}, scale {scale}: {stated}, recorded {recorded[backend][name][scale]}"
        for backend in ("cpu", "cuda")
        for name, sizes in now[backend].items()
        for scale, stated in sizes.items()
        if stated != recorded[backend][name][scale]
    ]
    return judge(recorded, now), other


def test_statements_are_those_that_were_measured(folder: Path) -> None:
    """Of files, statements of small ones, which are soon written."""
    recorded = load()
    wrong, other = differences(recorded, all_stated(recorded, folder, SCALES[:1]))
    assert not wrong, "\n".join([*wrong, AGAIN])
    assert not other, "\n".join([*other, AGAIN])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_small_size_takes_more_than_is_stated(folder: Path) -> None:
    """Two cases at a time; what they are made from is made first."""

    def fault(name: str) -> list[str]:
        scale = SCALES[0]
        sizes = {str(scale): measured(folder, name, scale, "cpu")["host"]}
        return [each for each in faults(name, "host", sizes) if "too small" in each]

    read = {each for case in CASES.values() for given in case.inputs.values() for each in _names(given)}
    found = [fault(name) for name in ON_CPU if name in read]
    with ThreadPoolExecutor(2) as pool:
        found += pool.map(fault, [name for name in ON_CPU if name not in read])
    assert not any(found), "\n".join(line for each in found for line in each)


def _names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ON_CPU)
def test_the_peak_is_what_is_stated(folder: Path, name: str) -> None:
    """With kernels that were compiled before: what compiling takes beside is in the record."""
    measured(folder, name, SCALES[0], "cpu")
    sizes = {str(scale): measured(folder, name, scale, "cpu")["host"] for scale in SCALES}
    assert not faults(name, "host", sizes, load()["compiling"][name])


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.gpu and case.measured])
def test_the_peak_on_a_gpu_is_what_is_stated(folder: Path, name: str) -> None:
    """In this process: another one for each would compile the kernels again. With `-s`, a line for each."""
    sizes: dict[str, list[int]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scale in SCALES:
            write_files(filled(CASES[name].parameters, scale, str(folder)), scale)
            sizes[str(scale)] = measure(folder, name, scale, "cuda")["device"]
    print("\n" + table_line(name, sizes))
    assert not faults(name, "device", sizes)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_other_number_of_a_statement_changes_unnoticed(folder: Path) -> None:
    """With `-s`: the changes that the measured peaks do not notice, but only the recorded statements."""
    recorded = load()

    def of(*names: str) -> dict[str, Any]:
        inputs = {name: recorded["inputs"][name] for name in names}
        return all_stated({"inputs": inputs}, folder, SCALES[:1])

    by_case = {name: functions_of(partial(of, name)) for name in CASES}
    functions = {name: function for found in by_case.values() for name, function in found.items()}
    assert len(functions) > 20
    unnoticed, by_record, count = [], [], 0
    for name, change, cases in changes({case: set(found) for case, found in by_case.items()}, functions):
        count += 1
        with change:
            try:
                wrong, other = differences(recorded, of(*cases))
            except Exception as error:
                wrong, other = [repr(error)], []
        if not wrong:
            (by_record if other else unnoticed).append(name)
    print(f"{count} changes; {len(by_record)} noticed by recorded statements alone:", *by_record, sep="\n")
    print(f"{len(unnoticed)} not noticed:", *unnoticed, sep="\n")
    new = sorted(set(unnoticed) - set(UNNOTICED.read_text().splitlines()))
    assert not new, "\n".join(new)
