"""Constants that a machine measures for itself: how they are chosen, stored, and taken by searches."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.kernels.bfs.cuda import level_loop
from gravel.kernels.compiled.folder import TUNED, VARIABLE, Folder
from gravel.kernels.probes.tuning import FEWEST_TURNS, GRAPHS, TURNS, Outcome, tune
from gravel.kernels.strategy import Ran, strategies_in
from gravel.kernels.tuned import applied, stored
from gravel.kernels.tuned.constants import CONSTANTS, Constant, Value
from gravel.stages.traversal.records import told

H200 = "NVIDIA H200"
ALPHA = next(each for each in CONSTANTS if each.name == "direction_optimizing.alpha")
FIVE = Constant("s", "five", 5, (1, 9), "Kronecker", ALPHA.file)
SIX = Constant("s", "six", 6, (2,), "Kronecker", ALPHA.file)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "compiled"))
    stored.load.cache_clear()
    yield tmp_path / "compiled"
    stored.load.cache_clear()


class Bench:
    """Milliseconds by parameter and value, a second for each; a value that is None is refused."""

    def __init__(self, times: Mapping[str, Mapping[Value, float | None]]) -> None:
        self.times, self.now, self.prepared = times, 0.0, []

    def clock(self) -> float:
        return self.now

    def prepare(self, constant: Constant, given: Mapping[str, Value]) -> Callable[[], float]:
        taken = self.times[constant.parameter][given[constant.parameter]]
        if taken is None:
            raise ValueError("no")
        self.prepared.append(dict(given))

        def run() -> float:
            self.now += 1.0
            return taken

        return run


def found(bench: Bench, *constants: Constant, seconds: float = 1e9) -> list[Outcome]:
    return [*tune(bench, constants, seconds=seconds, clock=bench.clock)]


def test_the_fastest_is_taken_where_it_saves_more_than_noise() -> None:
    bench = Bench({"five": {5: 1.0, 1: 0.9, 9: 1.2}, "six": {6: 1.0, 2: 0.98}})
    five, six = found(bench, FIVE, SIX)
    assert (five.value, five.why) == (1, "10% faster than 5")
    assert (six.value, six.why) == (6, "no other is more than 3% faster")
    # What was chosen before holds while the next one of the strategy is measured.
    assert bench.prepared[-2:] == [{"five": 1, "six": 6}, {"five": 1, "six": 2}]
    assert bench.now == TURNS * 5


def test_a_value_must_win_most_turns() -> None:
    class Noisy(Bench):
        def prepare(self, constant: Constant, given: Mapping[str, Value]) -> Callable[[], float]:
            turns = iter([0.5, 1.5] * TURNS if given["six"] == 2 else [1.0] * 2 * TURNS)
            return lambda: next(turns)

    [six] = found(Noisy({}), SIX)
    assert six.milliseconds[2] == 0.5
    assert six.value == 6


def test_a_value_that_the_gpu_does_not_take_is_left_out_and_said() -> None:
    [six] = found(Bench({"six": {6: 1.0, 2: None}}), SIX)
    assert six.value == 6
    assert six.why.endswith("this GPU does not take 2")


def test_what_the_time_does_not_suffice_for_keeps_its_default() -> None:
    times = {"five": {5: 1.0, 1: 0.5, 9: 1.0}, "six": {6: 1.0, 2: 0.5}}
    five, six = found(Bench(times), FIVE, SIX, seconds=3 * FEWEST_TURNS)
    assert (five.value, six.value) == (1, 6)
    assert (six.milliseconds, six.why) == ({}, "not measured: the time was over")
    [five] = found(Bench(times), FIVE, seconds=3 * (FEWEST_TURNS - 1))
    assert (five.value, five.milliseconds) == (5, {})


def measured(value: Value = 12.0, **more: Any) -> stored.Stored:
    record = Outcome(ALPHA, value, {25.0: 1.0, value: 0.5}, "faster").record() | more
    return stored.Stored(H200, "2026-11-26T03:00:00+00:00", {ALPHA.name: record})


def test_searches_take_what_was_stored_on_the_same_gpu_alone(folder: Path) -> None:
    assert applied(ALPHA.strategy, "cuda", H200) == stored.Applied()
    assert stored.save(measured()) == folder
    taken = applied(ALPHA.strategy, "cuda", H200)
    assert taken.values == {"alpha": 12.0}
    assert applied("persistent", "cuda", H200).values == {}
    assert applied(ALPHA.strategy, "cpu") == stored.Applied()
    other = applied(ALPHA.strategy, "cuda", "NVIDIA H100")
    assert other.values == {}
    assert other.ignored == (
        "constants tuned on NVIDIA H200 are not used on NVIDIA H100: run `gravel doctor --tune` there",
    )


def test_the_record_says_what_was_taken_unless_it_was_asked_for() -> None:
    stored.save(measured())
    taken = applied(ALPHA.strategy, "cuda", H200)
    ran = Ran("m:f", {"alpha": 12.0}, taken.record({}))
    assert told(ran, "cuda")["tuned"] == {
        "constants": {"alpha": 12.0},
        "measured": "2026-11-26T03:00:00+00:00",
    }
    assert taken.record({"alpha": 7.0}) == {}
    assert "tuned" not in told(Ran("m:f", {}), "cuda")


def test_another_version_of_a_kernel_makes_it_void(monkeypatch: pytest.MonkeyPatch) -> None:
    stored.save(measured(kernel="of before"))
    taken = applied(ALPHA.strategy, "cuda", H200)
    assert taken.values == {}
    assert taken.ignored == (
        f"{ALPHA.name} was tuned for another version of its kernel and is not used: run "
        "`gravel doctor --tune` again",
    )
    assert ALPHA.kernel() != replace(ALPHA, default=13.0).kernel()


def test_a_value_that_was_not_compared_is_not_taken() -> None:
    stored.save(measured(value=1e9))
    assert applied(ALPHA.strategy, "cuda", H200).values == {}


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"format": 0}', b'{"format": 1}'])
def test_what_cannot_be_read_is_as_if_nothing_was_stored(folder: Path, text: bytes) -> None:
    opened = Folder(folder)
    assert opened.write(TUNED, text)
    opened.close()
    assert applied(ALPHA.strategy, "cuda", H200) == stored.Applied()


def test_a_folder_of_others_is_not_read(folder: Path) -> None:
    stored.save(measured())
    folder.chmod(0o777)
    assert stored.load() is None
    stored.load.cache_clear()
    with pytest.raises(OSError, match="may be written by others"):
        stored.save(measured())


def test_it_is_kept_when_old_kernels_are_removed(folder: Path) -> None:
    stored.save(measured())
    opened = Folder(folder)
    opened.write("0" * 64, b"kernel")
    for name in ("0" * 64, TUNED):
        os.utime(folder / name, (0, 0))
    assert opened.collect(delete=True).entries == 1
    opened.close()
    assert stored.load() == measured()


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda constant: constant.name)
def test_each_constant_is_one_of_its_strategy(constant: Constant) -> None:
    prepare = strategies_in("gravel.kernels.bfs")[constant.strategy].load("cuda")
    default = inspect.signature(prepare).parameters[constant.parameter].default
    # Searches of columns take ALPHA where alpha is left to them.
    assert (level_loop.ALPHA if default is None else default) == constant.default
    assert constant.default not in constant.others
    assert constant.graph in GRAPHS
    assert len(constant.kernel()) == 16
