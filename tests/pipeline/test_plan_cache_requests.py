"""What makes a request another one, so that its answer is planned in full."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from gravel.pipeline.plan.cache import process_state as process_state
from tests.pipeline.plan_cache_bench import PlanCacheBench
from tests.pipeline.plan_cache_case import bench, filled, frozen

__all__ = ["bench", "filled", "frozen"]


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "count=3"),
        ("--where", "method=degree"),
        ("--only", "made"),
        ("--repeat", "2"),
        ("--force", "all"),
        ("--from", "drawn"),
        ("--host-memory", "3GiB"),
        ("--host-memory", "much"),
        ("--set", "cuont=3"),
    ],
)
def test_other_words_are_another_request(frozen: PlanCacheBench, words: tuple[str, ...]) -> None:
    assert not frozen.was_frozen(*words)


@pytest.mark.parametrize("words", [("--force", "all"), ("--from", "drawn")])
def test_what_is_forced_is_never_frozen(frozen: PlanCacheBench, words: tuple[str, ...]) -> None:
    for _ in range(3):
        assert not frozen.was_frozen(*words)
        frozen.plan(*words)


def test_each_request_has_its_own_answer(frozen: PlanCacheBench) -> None:
    frozen.fill(overrides={"count": "3"})
    frozen.fill(where={"method": ["degree"]})
    for words in (("--set", "count=3"), ("--where", "method=degree"), ("--only", "made")):
        frozen.plan(*words)
        frozen.plan(*words)
        assert frozen.was_frozen(*words)
    assert frozen.was_frozen()


def test_another_cache_knows_nothing(frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch) -> None:
    before = frozen.planned
    other = str(frozen.folder / "other")
    assert (
        "1 will run" in frozen.plan("--cache", other)[1] or "2 will run" in frozen.plan("--cache", other)[1]
    )
    shutil.copytree(frozen.root / "frozen", Path(other) / "frozen")
    assert "will run" in frozen.plan("--cache", other)[1]
    assert frozen.planned >= before + 2


def test_surroundings_are_part_of_the_request(
    frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("GRAVEL_ANYTHING", "1")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setenv("HOME", "/nowhere")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setattr("sys.version", "4.0")
        assert not frozen.was_frozen()
    with monkeypatch.context() as patch:
        patch.setattr("gravel.pipeline.core.hardware.cpu_model", lambda: "another processor")
        assert not frozen.was_frozen()
    assert frozen.was_frozen()


def test_another_current_folder_is_another_request(
    frozen: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (frozen.folder / "below").mkdir()
    for name in ("outer.yaml", "inner.yaml"):
        shutil.copy2(frozen.folder / name, frozen.folder / "below" / name)
    monkeypatch.chdir(frozen.folder / "below")
    before = frozen.planned
    code, _, told = frozen.plan("--cache", str(frozen.root))
    assert (code, frozen.planned) == (2, before + 1)
    assert "there is no file" in told


def test_a_file_that_appears_where_one_was_looked_for_first(
    bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path means the file beside the workflow if there is one, else that in the current folder."""
    elsewhere = bench.folder / "project"
    elsewhere.mkdir()
    for name in ("outer.yaml", "inner.yaml"):
        (bench.folder / name).rename(elsewhere / name)
    (bench.folder / "outer.yaml").symlink_to(elsewhere / "outer.yaml")
    (bench.folder / "inner.yaml").symlink_to(elsewhere / "inner.yaml")
    text = (elsewhere / "inner.yaml").read_text() + "  more: {stage: ingest, file: more.txt}\n"
    (elsewhere / "inner.yaml").write_text(text)
    monkeypatch.chdir(bench.folder)
    for name in ("more.txt", "project/more.txt"):
        (bench.folder / name).write_text("1 2\n" if name == "more.txt" else "3 4\n")
        bench.age(bench.folder / name)
    (elsewhere / "more.txt").rename(elsewhere / "later.txt")
    (bench.folder / "inner.yaml").unlink()
    (bench.folder / "outer.yaml").write_text(
        (elsewhere / "outer.yaml").read_text().replace("inner.yaml", "project/inner.yaml")
    )
    bench.fill()
    bench.plan()
    bench.plan()
    assert bench.was_frozen()
    (elsewhere / "later.txt").rename(elsewhere / "more.txt")
    assert not bench.was_frozen()
    assert "will run" in bench.plan()[1]


def test_code_and_packages_are_part_of_the_answer(
    bench: PlanCacheBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "lib" / "frozen_test_module.py"
    declared = tmp_path / "lib" / "made-1.0.dist-info" / "METADATA"
    declared.parent.mkdir(parents=True)
    module.write_text("VALUE = 1\n")
    declared.write_text("Name: made\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(module.parent))
    import frozen_test_module  # type: ignore[import-not-found]

    try:
        bench.plan()
        bench.plan()
        assert bench.was_frozen()
        bench.age(module)
        assert not bench.was_frozen()
        bench.plan()
        assert bench.was_frozen()
        # Upgraded.
        declared.parent.rename(declared.parent.with_name("made-1.1.dist-info"))
        assert not bench.was_frozen()
        bench.plan()
        assert bench.was_frozen()
        (tmp_path / "lib" / "made-1.1.dist-info" / "entry_points.txt").write_text("[gravel.stages]\n")
        assert not bench.was_frozen()
    finally:
        del sys.modules[frozen_test_module.__name__]


def test_code_that_just_changed_is_not_frozen(bench: PlanCacheBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may have loaded what was there before."""
    path = Path(process_state.__file__)
    changed = path.stat().st_ctime
    monkeypatch.setattr(process_state, "began", lambda: changed + 1.0)
    for _ in range(3):
        bench.plan()
    assert not (bench.root / "frozen").exists()
