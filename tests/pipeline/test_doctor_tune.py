"""gravel doctor --tune: what it prints and stores, and where it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gravel.kernels.compiled.folder import VARIABLE
from gravel.kernels.probes import tuning as probes
from gravel.kernels.tuned import stored
from gravel.kernels.tuned.constants import CONSTANTS, Constant, Value
from gravel.pipeline.cli import main
from gravel.pipeline.core.devices import Device
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.doctor import tuning

GPU = Device("0", "a GPU", 1 << 30)
FIRST = CONSTANTS[0]


class Bench:
    """A GPU on which the second value of each constant is the best, at once."""

    def prepare(self, constant: Constant, given: Mapping[str, Value]) -> Callable[[], float]:
        return lambda: 1.0 if given[constant.parameter] == constant.others[0] else 2.0


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "compiled"))
    monkeypatch.setattr(tuning, "find_devices", lambda: (GPU,))
    monkeypatch.setattr(tuning, "current_device", lambda: GPU.name)
    monkeypatch.setattr(probes, "GpuBench", Bench)
    stored.load.cache_clear()
    yield
    stored.load.cache_clear()


def doctor(*options: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--tune", *options])


def test_each_constant_is_printed_and_stored(tmp_path: Path) -> None:
    result = doctor()
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) == len(CONSTANTS) + 1
    value, default = FIRST.others[0], FIRST.default
    assert lines[0].startswith(f"{FIRST.name} {value:g} (50% faster than {default:g}); ")
    assert f"{default:g}: 2.000 ms, {value:g}: 1.000 ms" in lines[0]
    assert lines[-1] == f"stored for a GPU in {tmp_path / 'compiled'}; searches take them from now on"
    assert stored.applied(FIRST.strategy, "cuda", GPU.name).values[FIRST.parameter] == value


def test_as_json() -> None:
    result = doctor("--json")
    found = json.loads(result.output)
    assert (result.exit_code, found["device"]) == (0, "a GPU")
    assert set(found["constants"]) == {constant.name for constant in CONSTANTS}
    first = found["constants"][FIRST.name]
    assert (first["value"], first["default"]) == (FIRST.others[0], FIRST.default)
    assert first["milliseconds"][str(FIRST.default)] == 2.0


def test_without_a_gpu_it_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for devices in ((), (Device("0", "pretended", 1 << 30, fake=True),)):
        monkeypatch.setattr(tuning, "find_devices", lambda devices=devices: devices)
        with pytest.raises(RequestError, match=r"this machine has none with an NVIDIA driver$"):
            tuning.tune(lambda outcome: None)
    assert stored.load() is None


def test_a_gpu_below_the_floor_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    old = Device("0", "Tesla T4", 1 << 30, capability=(7, 5))
    monkeypatch.setattr(tuning, "find_devices", lambda: (old,))
    with pytest.raises(RequestError, match=r"^Tesla T4 has compute capability 7\.5, .* need 8\.0 or newer$"):
        tuning.tune(lambda outcome: None)


def test_without_cupy_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "current_device", stored.current_device)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RequestError, match="CuPy, which is not here"):
        tuning.tune(lambda outcome: None)


def test_what_cannot_be_stored_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(RequestError, match="the constants were measured and cannot be stored"):
        tuning.tune(lambda outcome: None, Bench())


def test_the_doctor_says_what_searches_take(monkeypatch: pytest.MonkeyPatch) -> None:
    [none] = tuning.tuned()
    assert (none.state, "searches take their defaults" in none.found) == ("good", True)
    doctor()
    [some] = tuning.tuned()
    assert some.state == "good"
    assert f"{FIRST.name} {FIRST.others[0]:g}" in some.found
    monkeypatch.setattr(Constant, "kernel", lambda self: "another")
    [old] = tuning.tuned()
    assert (old.state, old.cure) == ("note", "gravel doctor --tune (a minute)")
    assert "was tuned for another version of its kernel" in old.found
    monkeypatch.setattr(tuning, "find_devices", lambda: (Device("0", "another GPU", 1 << 30),))
    [other] = tuning.tuned()
    assert other.found.startswith("constants tuned on a GPU are not used on another GPU: run ")
    monkeypatch.setattr(tuning, "find_devices", tuple)
    assert not [*tuning.tuned()]


def test_measurements_with_other_constants_are_other_measurements() -> None:
    before = hardware("cuda", devices=(GPU,))
    doctor()
    after = hardware("cuda", devices=(GPU,))
    assert before == "a GPU x1"
    assert after.startswith("a GPU x1, tuned ")
    assert hardware("cuda", devices=(Device("0", "another GPU", 1 << 30),)) == "another GPU x1"
    assert "tuned" not in hardware("cpu")
