"""Studies: combinations of the matrix, workflows that use others, repeated measurements."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import hardware
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.recipes import RecipeMaker
from gravel.pipeline.plan.status import plan_status
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.artifacts import Measurement, VertexIds
from gravel.stages.stage import Extent, Need, Parameters, Stage
from tests.pipeline.fake_stages import ORDERINGS
from tests.pipeline.plan.test_plan import Bench
from tests.pipeline.run_case import Kept
from tests.pipeline.tiny_stages import Tiny, measure
from tests.pipeline.workflow.study_case import keys_of, matrix, plan_of, problem_of

REPEATED = ORDERINGS.replace("algorithm: bfs,", "algorithm: bfs, repeat: 3,")


def test_a_repeated_measurement_is_verified_once_and_reported_each_time(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, REPEATED)
    assert keys_of(plan, "bfs")[:3] == [
        "order=original,layout=csr",
        "order=original,layout=csr,repeat=2",
        "order=original,layout=csr,repeat=3",
    ]
    assert len(keys_of(plan, "check")) == 6
    assert plan.runs["check[order=rcm,layout=csr]"].upstream == ("graph", "bfs[order=rcm,layout=csr]")
    told = [ref for ref in plan.runs["summary"].inputs["inputs"] if ref.run.startswith("bfs")]
    assert sorted(ref.output for ref in told) == [0] * 6 + [1] * 18
    assert keys_of(plan_of(tmp_path, ORDERINGS, repeat=3), "bfs") == keys_of(plan, "bfs")
    by_parameter = REPEATED.replace("repeat: 3", "repeat: '${sources}'")
    assert len(keys_of(plan_of(tmp_path, by_parameter, {"sources": "2"}), "bfs")) == 12


def test_only_the_new_repetitions_are_computed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(bench.plan(ORDERINGS))
    status = bench.status(bench.plan(REPEATED))
    rerun = [key for key, each in status.items() if each.state != "cached"]
    assert len(rerun) == 13
    assert {key.partition("[")[0] for key in rerun} == {"bfs", "summary"}
    again = status["bfs[order=rcm,layout=csr,repeat=2]"]
    assert again.state == "will run"
    assert "repetition: 1 -> 2" in " ".join(again.reasons)
    known = bench.run(bench.plan(REPEATED))
    assert len({known[key] for key in known if key.startswith("bfs")}) == 18


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repeat: 3", "repeat: 0", "a number from 1 to 1000"),
        ("repeat: 3", "repeat: often", "a number from 1 to 1000"),
        ("repeat: 3", "repeat: '${order}'", "the matrix axis 'order' cannot decide this"),
        ("method: ", "repeat: 2, method: ", "reorder measures nothing"),
        ("layout: [csr, varint]", "layout: [csr, varint]\n  repeat: [1, 2]", "has an axis of that name"),
    ],
)
def test_faults_of_repetitions(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in REPEATED
    assert message in problem_of(tmp_path, REPEATED.replace(old, new))[0]


def test_from_computes_everything_that_rests_on_a_stage(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ORDERINGS, start=["packed[order=rcm,layout=csr]"])
    assert {key for key, run in plan.runs.items() if run.forced} == {
        "packed[order=rcm,layout=csr]",
        "bfs[order=rcm,layout=csr]",
        "check[order=rcm,layout=csr]",
        "summary",
    }
    assert plan.runs["summary"].because == "--from asks for it"
    assert (
        plan_of(tmp_path, ORDERINGS, start=["bfs"], only=["check"]).runs["check[order=rcm,layout=csr]"].forced
    )
    with pytest.raises(RequestError, match="--from summary: it is not part of this run"):
        plan_of(tmp_path, ORDERINGS, start=["summary"], only=["bfs"])


def test_what_failed_is_computed_again_with_what_rests_on_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ORDERINGS, failed=["bfs[order=rcm,layout=csr]", "gone"])
    assert plan.wanted == {"bfs[order=rcm,layout=csr]", "check[order=rcm,layout=csr]", "summary"}
    assert {key for key, run in plan.runs.items() if run.forced} == {"bfs[order=rcm,layout=csr]"}
    with pytest.raises(RequestError, match="nothing that failed is part of this run: gone"):
        plan_of(tmp_path, ORDERINGS, failed=["gone"])


def test_500_stage_runs_are_planned_in_a_second_and_left_alone_in_two(tmp_path: Path) -> None:
    seeds = ", ".join(map(str, range(40)))
    text = matrix(f"s: [{seeds}]").replace("seed: 7", 'seed: "${s}"')
    bench = Bench(tmp_path)
    plan = bench.plan(text)
    assert len(plan.runs) == 492
    same: dict[str, str] = {}
    known: dict[str, tuple[str, ...]] = {}
    maker = RecipeMaker(plan, bench.cache, FileDigests(bench.cache.root), lambda stage: hardware("cpu"))
    for key, run in plan.runs.items():
        for kind in {*run.stage.outputs} - {*same}:
            with bench.cache.writer() as writer:
                same[kind] = writer.publish(bench.artifact(kind, kind)).id
        known[key] = tuple(same[kind] for kind in run.stage.outputs)
        bench.cache.remember(maker.recipe(run, known), known[key], {"key": key, "stage": run.stage.name})
    started = time.perf_counter()
    assert {each.state for each in plan_status(bench.plan(text), maker, bench.cache)} == {"cached"}
    planned = time.perf_counter()
    options = RunOptions(cache_root=bench.cache.root, cluster="inline", backend="cpu")
    outcome = execute(bench.plan(text), options)
    ended = time.perf_counter()
    assert {stage["state"] for stage in outcome.record["stages"]} == {"cached"}
    assert planned - started < 1
    assert ended - planned < 2


class Shaky(Parameters):
    """No parameters."""


def shaky(context: Any, parameters: Shaky) -> tuple[VertexIds, Measurement]:
    """Give ids that are others each time."""
    ids = VertexIds(first=time.time_ns() % (1 << 40), vertex_count=1)
    return ids, measure(context, Tiny(), ())


def test_repetitions_with_different_labels_are_told(tmp_path: Path) -> None:
    outputs = ("VertexIds", "Measurement")
    need = Need(1 << 20, 0, (Extent("VertexIds"), Extent("Measurement")))
    stage = Stage("shaky", 1, "Shakes.", Shaky, {}, outputs, shaky, lambda *given: need, measures=True)
    (tmp_path / "w.yaml").write_text("stages: {a: {stage: shaky, repeat: 2}}\n")
    plan = build_plan(load_workflow(tmp_path / "w.yaml", stages={"shaky": stage}))
    kept = Kept()
    options = RunOptions(cache_root=tmp_path / "cache", cluster="inline", backend="cpu", display=kept)
    outcome = execute(plan, options)
    why = {run["key"]: run["why"] for run in outcome.record["stages"]}
    message = "the VertexIds of a[repeat=2] is not that of a; only the first one is verified"
    assert message in why["a[repeat=2]"]
    assert message in kept.notes
