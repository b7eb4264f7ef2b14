"""What stages state is what they take, through `gravel run`; what cannot fit is refused or made to fit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy
import pytest

from tests.workflows.memory_runs import Ran, all_stages_on, gravel

ROOM = 1.3
"""How far a measured peak may lie above the stated need."""

MIB = 1 << 20


def within(ran: Ran, count: int) -> None:
    """Fail unless all stage runs ended and none took more than it stated."""
    assert ran.code == 0, ran.errors
    assert len(ran.taken) >= count
    over = [str(taken) for taken in ran.taken if taken.ratio > ROOM]
    assert not over, "\n".join(over)


@pytest.mark.parametrize("cluster", ["inline", pytest.param("local", marks=pytest.mark.slow)])
def test_every_stage_takes_what_it_states(tmp_path: Path, cluster: str) -> None:
    """With two workers, each stage starts in a process that may have loaded nothing yet."""
    text = all_stages_on("source: {rmat: {scale: 13}}", "degree, rcm" if cluster == "inline" else "random")
    some = () if cluster == "inline" else ("--where", "output=both", "--where", "ranks=4")
    within(gravel("run", tmp_path, text, "--cluster", cluster, *some), 25 if cluster == "inline" else 15)


STAGE_ALONE = {
    "compress": "{stage: compress, input: graph}",
    "verify": "{stage: verify, graph: graph, traversal: labels}",
}


@pytest.mark.slow
def test_a_stage_in_a_fresh_process_takes_what_it_states(tmp_path: Path) -> None:
    """No other stage has loaded the compiler before it."""
    head = (
        "workflow: alone\nstages:\n"
        "  edges: {stage: ingest, source: {rmat: {scale: 12}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  labels: {stage: traverse, input: graph, algorithm: components}\n"
    )
    text = head + "".join(f"  {name}: {entry}\n" for name, entry in STAGE_ALONE.items())
    assert gravel("run", tmp_path, text, "--cluster", "inline").code == 0
    for name in STAGE_ALONE:
        ran = gravel("run", tmp_path, text, "--cluster", "inline", "--only", name, "--force", name)
        within(ran, 1)


@pytest.mark.slow
def test_arcs_between_normal_vertices_are_counted(tmp_path: Path) -> None:
    """No vertex of a grid is a delegate, so that every arc is carried between ranks."""
    text = (
        "workflow: grid\nstages:\n"
        "  edges: {stage: ingest, source: {grid: {dimensions: [300, 400]}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  split: {stage: partition, input: graph, ranks: 4}\n"
        "  packed: {stage: compress, input: split}\n"
        "  labels: {stage: traverse, input: packed, algorithm: components}\n"
    )
    within(gravel("run", tmp_path, text, "--cluster", "inline"), 5)


UNKEPT = """\
workflow: unkept
stages:
  edges: {stage: ingest, source: {rmat: {scale: 15}}, keep: false}
  graph: {stage: symmetrize, input: edges, keep: false}
  ordered: {stage: reorder, input: graph, method: degree, keep: false}
  bfs: {stage: traverse, input: ordered, sources: {random: 8}, keep: false}
  check: {stage: verify, graph: graph, traversal: bfs}
"""


@pytest.mark.slow
def test_results_in_memory_are_part_of_the_need(tmp_path: Path) -> None:
    def planned(text: str) -> dict[str, int]:
        stages = json.loads(gravel("plan", tmp_path, text, "--json").output)["stages"]
        return {stage["key"]: stage["host_bytes"] for stage in stages}

    unkept, kept = planned(UNKEPT), planned(UNKEPT.replace(", keep: false", ""))
    assert unkept["bfs"] - kept["bfs"] == 8 * 8 * (1 << 15)  # eight searches, distance and predecessor
    assert unkept["check"] == kept["check"]
    within(gravel("run", tmp_path, UNKEPT, "--cluster", "inline"), 5)


def test_a_run_that_cannot_fit_is_refused_with_its_numbers(tmp_path: Path) -> None:
    text = all_stages_on("source: {rmat: {scale: 13}}", "rcm")
    ran = gravel("run", tmp_path, text, "--cluster", "local", "--host-memory", "90MiB")
    assert ran.code == 2
    assert "this run cannot fit" in ran.errors
    named = re.findall(r"(\w+)\[?[\w=,]*\]? needs (\d+) MiB of host memory", ran.errors)
    sizes = [int(size) for _, size in named]
    assert 1 <= len(named) <= 3
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 90
    assert "split[ranks=1] needs" not in ran.errors
    assert "90 MiB of host memory (--host-memory)" in ran.errors
    assert "to make it fit" in ran.errors
    assert ran.record["cluster"] is None
    assert not ran.taken
    assert gravel("plan", tmp_path, text, "--host-memory", "90MiB").code == 2
    largest = max(stage["need"]["host"] for stage in ran.record["stages"])
    assert gravel("plan", tmp_path, text, "--host-memory", str(largest)).code == 0


def test_inputs_in_memory_are_counted_before_the_start(tmp_path: Path) -> None:
    """Each stage alone would fit."""
    planned = json.loads(gravel("plan", tmp_path, UNKEPT, "--json").output)
    largest = max(stage["host_bytes"] for stage in planned["stages"])
    ran = gravel("run", tmp_path, UNKEPT, "--cluster", "inline", "--host-memory", str(largest))
    assert ran.code == 2
    assert "of inputs that are not kept" in ran.errors
    assert "keep: true" in ran.errors


def test_a_small_machine_is_worked_with_in_ranges(tmp_path: Path) -> None:
    text = (
        "workflow: small\nstages:\n"
        "  edges: {stage: ingest, source: {rmat: {scale: 17}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    ran = gravel("run", tmp_path, text, "--cluster", "inline", "--host-memory", "130MiB")
    within(ran, 2)
    assert all(taken.need <= 130 * MIB for taken in ran.taken)
    assert "source ranges" in ran.log("graph")


def test_stages_at_once_stay_below_the_capacity(tmp_path: Path) -> None:
    """Room for two of four branches; three workers would take three."""
    text = (
        "workflow: branches\nmatrix: {seed: [1, 2, 3, 4]}\nstages:\n"
        "  edges: {stage: ingest, source: {rmat: {scale: 12}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        '  ordered: {stage: reorder, input: graph, method: random, seed: "${seed}"}\n'
    )
    capacity = 200 * MIB
    words = ("--cluster", "local", "--workers", "3", "--host-memory", "200MiB")
    ran = gravel("run", tmp_path, text, *words)
    within(ran, 6)
    for one in ran.taken:
        meanwhile = [other for other in ran.taken if other.began <= one.began < other.ended]
        assert sum(taken.need for taken in meanwhile) <= capacity


@pytest.mark.parametrize("highest", [1 << 20, pytest.param(1 << 60, marks=pytest.mark.slow)])
def test_ingest_is_bounded_by_its_parameter(tmp_path: Path, highest: int) -> None:
    """Ids from a range, and from anywhere, which leave the memory for the disk."""
    file = tmp_path / "edges.txt"
    pairs = numpy.random.default_rng(1).integers(0, highest, (300_000, 2)).tolist()
    file.write_bytes(b"".join(b"%d %d\n" % (u, v) for u, v in pairs))
    text = f"workflow: file\nstages:\n  edges: {{stage: ingest, file: {file}, memory: 16MiB}}\n"
    ran = gravel("run", tmp_path, text, "--cluster", "inline", "--resident-memory", "0")
    within(ran, 1)
    assert ran.taken[0].need <= (16 + 112) * MIB


DEVICE = {"GRAVEL_FAKE_DEVICES": "2x16GiB"}


def test_a_cap_on_the_device_is_planned_with(tmp_path: Path) -> None:
    """Symmetrize and reorder work in ranges; a search goes back to the host, or it is refused."""
    text = (
        "workflow: device\nstages:\n"
        "  edges: {stage: ingest, source: {rmat: {scale: 24}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
        "  ordered: {stage: reorder, input: graph, method: degree}\n"
    )

    def plan(text: str, cap: str) -> tuple[Ran, dict[str, int]]:
        words = ("--json", "--backend", "cuda", "--host-memory", "64GiB", "--device-memory", cap)
        ran = gravel("plan", tmp_path, text, *words, environment=DEVICE)
        stages = json.loads(ran.output)["stages"]
        return ran, {stage["key"]: stage["device_bytes"] for stage in stages}

    ran, ample = plan(text, "15GiB")
    assert ran.code == 0
    assert ample["graph"] > 8 << 30
    assert ample["ordered"] > 2 << 30
    ran, capped = plan(text, "2GiB")
    assert ran.code == 0
    assert 0 < capped["graph"] <= 2 << 30
    assert 0 < capped["ordered"] <= 2 << 30
    search = "  bfs: {stage: traverse, input: graph, sources: {random: 1}, placement: %s}\n"
    ran, capped = plan(text + search % "auto", "2GiB")
    assert ran.code == 0
    assert 0 < capped["bfs"] <= 2 << 30
    ran, _ = plan(text + search % "device", "2GiB")
    assert ran.code == 2
    assert "bfs needs" in ran.errors
    assert "of GPU memory" in ran.errors
    assert "2 GiB on each GPU (--device-memory)" in ran.errors
