"""What somebody meets who is new to the command: places of caches, refusals, reasons, waiting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import folder_path
from tests import forked
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.cli.test_run import gravel

ROOT = Path(__file__).parents[3]

WORKFLOW = """\
workflow: roads
parameters: {scale: 5}
matrix: {order: [original, degree, random]}
stages:
  edges:   {stage: ingest, source: {rmat: {scale: "${scale}", edge_factor: 4, seed: 1}}}
  graph:   {stage: symmetrize, input: edges}
  ordered: {stage: reorder, input: graph, method: "${order}"}
  bfs:     {stage: traverse, input: ordered, sources: {random: 1}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "roads.yaml"
    path.write_text(WORKFLOW)
    return path


def command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, from a folder that may be anywhere."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return forked.run(["-m", "tests.pipeline.gravel", *arguments], cwd=cwd, env=variables)


def test_without_a_gpu_the_hint_says_what_to_leave_out(file: Path) -> None:
    for options, cure in (
        (("--cluster", "cuda"), "leave --cluster cuda out to run on the CPU"),
        (("--backend", "cuda"), "leave --backend cuda out to run on the CPU"),
        (("--cluster", "cuda", "--backend", "cuda"), "leave --cluster cuda and --backend cuda out"),
    ):
        ran = call_inside([*PROGRAM, "plan", str(file), *options], CUDA_VISIBLE_DEVICES="")
        assert ran.returncode == 2
        assert cure in ran.stderr, ran.stderr
        assert "unset CUDA_VISIBLE_DEVICES if it hides a GPU" in ran.stderr
        assert "--backend cpu" not in ran.stderr


def test_little_memory_names_the_stages_that_need_most(file: Path) -> None:
    ran = call_inside([*PROGRAM, "plan", str(file), "--host-memory", "10MB", "--cluster", "local"])
    assert ran.returncode == 2
    assert "3 runs of this stage do not fit" in ran.stderr
    assert "smaller stage run" in ran.stderr
    assert ran.stderr.count(" needs ") <= 3, ran.stderr
    listed = json.loads(call_inside([*PROGRAM, "plan", str(file), "--json"]).stdout)
    needs = {stage["key"]: stage["host_bytes"] for stage in listed["stages"]}
    least = min(needs.values())
    ran = call_inside([*PROGRAM, "plan", str(file), "--host-memory", str(least)])
    fits = {key.partition("[")[0] for key, need in needs.items() if need == least}
    assert ran.returncode == 2
    assert all(f"{name} needs" not in ran.stderr for name in fits)


@pytest.mark.parametrize("place", ["/", "home"])
def test_no_cache_is_made_in_the_root_or_at_home(place: str, file: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    here = Path("/") if place == "/" else home
    there = {each.name for each in here.iterdir()}
    run = ("run", str(file), "--only", "edges", "--cluster", "inline")
    moved = {"HOME": str(home), "XDG_CACHE_HOME": "", "GRAVEL_COMPILED": str(folder_path())}
    ran = call_inside([*PROGRAM, *run], here, GRAVEL_CACHE="", **moved)
    assert ran.returncode == 0, ran.stderr
    assert ".gravel" not in {each.name for each in here.iterdir()} - there
    assert (home / ".cache" / "gravel" / "results" / "recipes").is_dir()


def test_a_folder_of_ones_own_still_gets_its_cache(file: Path) -> None:
    run = ("run", str(file), "--only", "edges", "--cluster", "inline")
    assert call_inside([*PROGRAM, *run], GRAVEL_CACHE="").returncode == 0
    assert (file.parent / ".gravel" / "recipes").is_dir()


def test_a_reason_never_compares_with_another_project(tmp_path, monkeypatch) -> None:
    cache = ("--cache", str(tmp_path / "cache"))
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "roads.yaml").write_text(WORKFLOW)
    monkeypatch.chdir(tmp_path)
    only = ("--only", "edges", *cache)
    assert gravel("run", "theirs/roads.yaml", *only, "--cluster", "inline", "-q").return_value == 0
    shown = gravel("plan", "mine/roads.yaml", "--set", "scale=6", *only).output
    assert "not computed before" in shown
    assert "5 -> 6" not in shown
    assert "most similar" not in shown
    assert gravel("run", "mine/roads.yaml", *only, "--cluster", "inline", "-q").return_value == 0
    assert "scale: 5 -> 6" in gravel("plan", "mine/roads.yaml", "--set", "scale=6", *only).output
    (tmp_path / "mine" / "other.yaml").write_text(WORKFLOW.replace("edges", "arcs"))
    similar = gravel("plan", "mine/other.yaml", "--set", "scale=6", "--only", "arcs", *cache).output
    assert "the most similar ingest differs in:" in similar
    source = "{rmat: {scale: 6, edge_factor: 3, a: 0.4, b: 0.3, c: 0.2, seed: 9}}"
    (tmp_path / "mine" / "far.yaml").write_text(f"stages:\n  far: {{stage: ingest, source: {source}}}\n")
    assert "most similar" not in gravel("plan", "mine/far.yaml", *cache).output


HOLDER = """
import os, sys, time
from pathlib import Path
from gravel.pipeline.store.cache import Cache
root, digest = Path(sys.argv[1]), sys.argv[2]
with Cache(root).lease("20260101-000000-roads-abcd"):
    (root / "locks").mkdir(exist_ok=True)
    os.link(root / "leases" / "20260101-000000-roads-abcd.lock", root / "locks" / f"{digest}.lock")
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def held(root: Path, digest: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold a recipe's lock, as a run does that computes it."""
    arguments = [sys.executable, "-c", HOLDER, str(root), digest]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_only_a_run_that_computes_is_waited_for(file: Path) -> None:
    cache = file.parent / "cache"
    options = (str(file), "--only", "edges", "--cache", str(cache))
    first = json.loads(gravel("plan", *options, "--json").stdout)
    with held(cache, first["stages"][0]["recipe"]) as process:
        process.send_signal(signal.SIGSTOP)
        ran = command("run", *options, "--cluster", "inline", cwd=file.parent)
        assert ran.returncode == 0
        assert "another run" not in ran.stderr
    again = ("--set", "scale=6", *options)
    second = json.loads(gravel("plan", *again, "--json").stdout)
    with held(cache, second["stages"][0]["recipe"]) as process:
        line = [sys.executable, "-m", "tests.pipeline.gravel", "run", *again, "--cluster", "inline"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stderr is not None
            told = next(text for text in waiting.stderr if "another run" in text)
            process.kill()
            assert waiting.wait(60) == 0
    assert f"(20260101-000000-roads-abcd, process {process.pid} on " in told


def test_a_run_of_cached_results_gets_a_page_in_another_process(tmp_path: Path) -> None:
    """Reading the vertex ids of the file takes their kind, which nothing else of this command imports."""
    data = tmp_path / "friends.csv"
    data.write_text("alice,bob\nbob,carol\ndan,eve\n")
    for _ in range(2):
        ran = command("run", str(data), "--sources", "alice", "--cluster", "inline", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
    shown = command("report", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    page = Path(shown.stdout.strip())
    assert "alice" in page.read_text(encoding="utf-8")
