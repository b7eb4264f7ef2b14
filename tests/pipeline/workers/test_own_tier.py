"""Workers that share a store with whoever starts the run, and no folder."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.trust.keys import add_trusted, remove_trusted, signing_key
from gravel.pipeline.workers.existing_cluster import connect
from gravel.pipeline.workers.store_access import check_store
from tests.drills.gravel import PROGRAM, call_inside
from tests.pipeline.run_case import states
from tests.pipeline.store.s3_server import (
    ask,
    assert_whole,
    line_to_bucket,
    objects_of,
    s3_server,
    stored_record,
)
from tests.pipeline.tiny_stages import ADD, MAKE, count, plan_of, stage_run
from tests.pipeline.workers.dask_processes import DaskProcesses

pytest.importorskip("moto")

URL = "s3://bucket/cache"

WORKFLOW = """\
workflow: apart
stages:
  edges: {stage: ingest, files: ["s3://bucket/data/*.txt"]}
  graph: {stage: symmetrize, input: edges, keep: KEEP}
  split: {stage: partition, input: graph, ranks: 2}
  bfs:   {stage: traverse, input: split, sources: [1]}
  check: {stage: verify, graph: graph, traversal: bfs}
  page:  {stage: report, inputs: [bfs, check]}
"""


class Site:
    """A store, a cluster whose workers have homes of their own, and the place where runs are started."""

    def __init__(self, folder: Path, dask: DaskProcesses) -> None:
        self.folder, self.dask = folder, dask
        self.key = folder / "secret" / "signing-key"
        self.client = folder / "client"

    def worker(self, name: str, **variables: str) -> Any:
        home = self.folder / name
        home.mkdir(exist_ok=True)
        compiled = os.environ.get("GRAVEL_COMPILED") or str(Path.home() / ".cache" / "gravel" / "compiled")
        own = {
            "GRAVEL_COMPILED": compiled,
            "HOME": str(home),
            "GRAVEL_SIGNING_KEY_FILE": str(self.key),
            "GRAVEL_LOCAL_TIER": "",
        }
        return self.dask.worker(name, "--no-nanny", environment={**own, **variables}, folder=home)

    @property
    def tiers(self) -> list[Path]:
        """The tiers of workers."""
        return list(self.folder.glob("*/.cache/gravel/bucket-*"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two workers and an S3 server."""
    folder = tmp_path_factory.mktemp("apart")
    with (
        pytest.MonkeyPatch.context() as patch,
        s3_server() as server,
        line_to_bucket(server, patch),
    ):
        (folder / "secret").mkdir()
        (folder / "client").mkdir()
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.delenv("XDG_CACHE_HOME", raising=False)  # caches are in the homes of workers
        from gravel.pipeline.trust.keys import signing_key

        signing_key()
        made = folder / "config" / "gravel" / "signing-key"
        made.rename(folder / "secret" / "signing-key")
        patch.setenv("GRAVEL_SIGNING_KEY_FILE", str(folder / "secret" / "signing-key"))
        # A path behind which each process has a folder of its own, as machines without a shared disk have.
        patch.setenv("GRAVEL_LOCAL_TIER", "/proc/self/cwd/tiers")
        with DaskProcesses(folder / "dask") as dask:
            site = Site(folder, dask)
            patch.chdir(site.client)
            site.worker("one")
            site.worker("two")
            dask.connected(2)
            yield site


def call(site: Site, *words: str, code: int = 0) -> str:
    done = call_inside([*PROGRAM, *words], site.client)
    assert done.returncode == code, done.stdout + done.stderr
    assert "raceback" not in done.stderr
    return done.stdout + done.stderr


def words_of(site: Site, keep: str = "true") -> tuple[str, ...]:
    Bucket("s3://bucket/data").put("a.txt", b"1 2\n2 3\n3 4\n")
    Bucket("s3://bucket/data").put("b.txt", b"4 5\n5 1\n5 6\n")
    (site.client / "apart.yaml").write_text(WORKFLOW.replace("KEEP", keep))
    return "run", "apart.yaml", "--cache", URL, "--cluster", site.dask.address, "--backend", "cpu"


def test_from_files_in_a_store_to_the_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    words = words_of(site)
    said = call(site, *words)
    assert f"2 workers at {site.dask.address}, not encrypted, sharing {URL} only" in said
    assert re.search(rf"6 results \([1-9][^)]*\) went to {URL}", said), said
    assert "6 computed" in said
    root = find_cache(URL)
    _, record = find_run(root, "last")
    page = (root / "runs" / record["run"] / "report.html").read_text()
    assert "bfs" in page
    assert "2 of 2 files: 3 edges" in (root / "runs" / record["run"] / "logs" / "edges.log").read_text()
    assert_whole(URL)
    again = call(site, *words)
    assert "6 cached" in again
    assert "cluster:" not in again
    # Somebody elsewhere with the same key computes nothing either, and gets at the results.
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", "/proc/self/cwd/elsewhere")
    assert "6 cached" in call(site, *words)
    call(site, "export", "apart.yaml", "bfs", "--to", "out.csv", "--cache", URL, "--cluster", "inline")
    rows = (site.client / "out.csv").read_text().splitlines()
    assert rows[0] == '"source","vertex","distance","predecessor"'
    assert sorted(row.split(",")[2] for row in rows[1:]) == ["0", "1", "1", "2", "2", "2"]


DISTRIBUTED = """\
workflow: spread
stages:
  split: {stage: distribute, files: ["s3://bucket/data/*.txt"], ranks: 2, threshold: 2}
  bfs:   {stage: traverse, input: split, sources: [1]}
  check: {stage: verify, graph: split, traversal: bfs}
"""


def test_ranks_of_files_in_a_store_are_in_one_process(site: Site) -> None:
    """They number into one file, which workers without a shared folder do not have; searches are spread."""
    words = words_of(site)
    (site.client / "spread.yaml").write_text(DISTRIBUTED)
    said = call(site, words[0], "spread.yaml", *words[2:])
    assert "3 computed" in said
    root = find_cache(URL)
    _, record = find_run(root, "last")
    logs = root / "runs" / record["run"] / "logs"
    assert (
        "2 workers do not share a scratch folder, so all ranks are in one process"
        in (logs / "split.log").read_text()
    )
    assert_whole(URL)
    target = ("--to", "spread.csv", "--cache", URL, "--cluster", "inline")
    call(site, "export", "spread.yaml", "bfs", *target)
    rows = [row.split(",") for row in (site.client / "spread.csv").read_text().splitlines()[1:]]
    assert {row[1]: row[2] for row in rows} == {"1": "0", "2": "1", "5": "1", "3": "2", "4": "2", "6": "2"}


def run(site: Site, *runs: Any, root: Path | None = None, **options: Any) -> RunOutcome:
    given = RunOptions(
        cache_root=root or find_cache(URL), cluster=site.dask.address, backend="cpu", **options
    )
    return execute(plan_of(*runs), given)


def test_what_is_not_kept_passes_through_the_store_and_goes(site: Site) -> None:
    edges = stage_run("edges", MAKE, value=41)
    passed = replace(edges, keep=False)
    outcome = run(
        site,
        passed,
        stage_run("one", ADD, "edges", value=42, ranks=2),
        stage_run("two", ADD, "edges", value=43),
    )
    assert states(outcome) == {"edges": "computed", "one": "computed", "two": "computed"}
    assert not Bucket(URL).below("scratch")
    assert not Bucket(URL).below("probes")
    for tier in site.tiers:
        assert not list((tier / "leases").glob("*.lock"))
        assert not list((tier / "scratch").glob("*"))
    assert_whole(URL)


def test_what_a_worker_has_in_memory_is_read_by_others_from_the_store(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.placement.MIN_BYTES", 1)
    here = set(find_cache(URL).glob("data/*"))
    edges = stage_run("edges", MAKE, value=45)
    outcome = run(site, edges, stage_run("b", ADD, "edges", value=46, ranks=2, items=4))
    assert states(outcome) == {"edges": "computed", "b": "computed"}
    assert set(find_cache(URL).glob("data/*")) == here  # nobody here has read any of it
    assert_whole(URL)


def test_what_an_earlier_run_could_not_push_is_there_for_workers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = stage_run("edges", MAKE, value=48)
    with monkeypatch.context() as cut:
        cut.setattr("gravel.pipeline.store.remote.Remote.reach", lambda self, **how: None)
        here = RunOptions(cache_root=find_cache(URL), cluster="inline", backend="cpu")
        assert states(execute(plan_of(edges), here)) == {"edges": "computed"}
    outcome = run(site, edges, stage_run("b", ADD, "edges", value=49))
    assert states(outcome) == {"edges": "cached", "b": "computed"}
    assert_whole(URL)


def test_a_worker_that_is_killed_loses_nothing_but_its_attempt(site: Site, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    site.worker("three")
    site.dask.connected(3)
    dies = stage_run("b", ADD, "a", value=51, once="die", marks=str(marks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gravel.pipeline.workers.dask_cluster.REPLACE_LIMIT", 1.0)
        outcome = run(site, stage_run("a", MAKE, value=50), dies)
    assert states(outcome) == {"a": "computed", "b": "computed"}
    assert count(marks, 51) == 2
    site.dask.wait_for(2)
    assert_whole(URL)


def test_damage_in_a_tier_is_mended_from_the_store_and_damage_there_computed_again(site: Site) -> None:
    marks = site.folder / "marks"
    first = stage_run("a", MAKE, value=60, marks=str(marks))
    outcome = run(site, first)
    [identity, *_] = outcome.record["stages"][0]["outputs"]
    for tier in site.tiers:
        for path in tier.glob("data/*/source/c/0"):
            path.write_bytes(bytes(len(path.read_bytes())))
    assert states(run(site, first, stage_run("b", ADD, "a", value=61))) == {"a": "cached", "b": "computed"}
    assert count(marks, 60) == 1

    record = stored_record(URL, identity)
    for name in objects_of(record)[1:]:
        Bucket(URL).put(name, b"nothing")
    for tier in site.tiers:
        for path in tier.glob("data/*/source/c/0"):
            path.write_bytes(bytes(len(path.read_bytes())))
    outcome = run(site, first, stage_run("c", ADD, "a", value=62))
    assert states(outcome) == {"a": "computed", "c": "computed"}
    assert count(marks, 60) == 2
    assert_whole(URL)


class Worker:
    """Answers as one worker does that has these variables, in this process."""

    def __init__(self, bucket: str = "bucket", **variables: str) -> None:
        self._bucket, self._variables = bucket, variables

    def run(self, function: Any, *given: Any, on_error: str) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._variables.items():
                patch.setenv(name, value)
            if self._bucket != "bucket":  # which the same name means at its endpoint
                ask(os.environ["AWS_ENDPOINT_URL"], self._bucket)
                patch.setattr("gravel.pipeline.workers.store_access.Bucket", self._other)
            return {"tcp://w:1": function(*given)}

    def _other(self, url: str) -> Bucket:
        return Bucket(url.replace("bucket", self._bucket))


def refused(message: str, files: tuple[str, ...] = (), **variables: str) -> str:
    remote = Cache(find_cache(URL)).remote
    assert remote is not None
    with pytest.raises(RequestError, match=message) as told:
        check_store(Worker(**variables), remote, files)
    assert not Bucket(URL).below("probes")
    return told.value.problems[0].hint or ""


def test_a_worker_that_cannot_take_part_is_refused_with_what_it_lacks(site: Site, tmp_path: Path) -> None:
    who = r"the worker tcp://w:1 "
    hint = refused(
        who + rf"cannot use {URL}: no credentials are known",
        AWS_ACCESS_KEY_ID="",
        AWS_SECRET_ACCESS_KEY="",
        HOME=str(tmp_path),
    )
    assert "AWS_ACCESS_KEY_ID" in hint
    refused(who + "reaches another store than this machine", bucket="another")
    (tmp_path / "file").touch()
    hint = refused(who + "has no writable folder for a tier of", GRAVEL_LOCAL_TIER=str(tmp_path / "file"))
    assert hint.startswith("on the worker's machine: ")
    refused(who + "does not see the file /nowhere/a.txt", files=("/nowhere/a.txt",))

    key = "GRAVEL_SIGNING_KEY_FILE"
    hint = refused(who + "has no key to sign results", **{key: "", "XDG_CONFIG_HOME": str(tmp_path / "a")})
    assert "mount it as a file that GRAVEL_SIGNING_KEY_FILE names" in hint
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "b"))
        patch.delenv(key)
        _, theirs = signing_key()
    others = {key: "", "XDG_CONFIG_HOME": str(tmp_path / "b")}
    hint = refused(who + "signs results in .* with a key that is not trusted here", **others)
    assert f"gravel trust add '{theirs.line}'" in hint
    add_trusted(theirs)
    try:
        hint = refused(who + "does not trust the key that signs here", **others)
        assert "gravel trust add" in hint
    finally:
        remove_trusted(theirs.text)


def test_a_file_that_is_another_on_the_workers_machine_is_no_input(site: Site) -> None:
    (site.client / "edges.txt").write_text("1 2\n")
    for name in ("one", "two", "three"):
        (site.folder / name / "edges.txt").write_text("1 3\n")
    (site.client / "files.yaml").write_text(
        "workflow: files\nstages:\n  edges: {stage: ingest, file: /proc/self/cwd/edges.txt}\n"
    )
    words = ("run", "files.yaml", "--cache", URL, "--cluster", site.dask.address, "--backend", "cpu")
    assert "has another content on the worker's machine" in call(site, *words, code=1)


def test_workers_without_credentials_are_refused_before_anything_is_computed(site: Site) -> None:
    poor = site.worker("poor", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    site.dask.connected(3)
    (site.client / "poor.yaml").write_text(
        "workflow: poor\nstages:\n  edges: {stage: ingest, source: {rmat: {scale: 5, seed: 3}}}\n"
    )
    words = ("run", "poor.yaml", "--cache", URL, "--cluster", site.dask.address, "--backend", "cpu")
    said = call(site, *words, code=2)
    assert re.search(rf"error: the worker tcp://\S+ cannot use {URL}: no credentials are known", said), said
    assert "edges: started" not in said
    os.killpg(poor.pid, signal.SIGKILL)
    site.dask.wait_for(2)


def test_a_cluster_without_a_store_is_still_refused(site: Site) -> None:
    with pytest.raises(RequestError, match="does not see the cache") as told:
        connect("run", site.dask.address, Path("/proc/self/cwd/cache"))
    assert "object store" in (told.value.problems[0].hint or "")
