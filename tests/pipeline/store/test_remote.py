"""A cache in an object store that machines share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from click.testing import CliRunner

from gravel.pipeline.cli.show import command as show
from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.gc.collection import Policy, collect
from gravel.pipeline.store import pushes, remote
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.files import TEMPORARY_AGE, LocalFiles
from gravel.pipeline.store.objects import Bucket, RemoteError
from tests.pipeline.samples import equal, graph, publish, recipe
from tests.pipeline.store.remote_case import URL, places, put_graph, run
from tests.pipeline.store.s3_server import ask, assert_whole, objects_of, stored_record
from tests.pipeline.tiny_stages import count

__all__ = ["places"]


UnauthorizedSSOTokenError = pytest.importorskip("botocore.exceptions").UnauthorizedSSOTokenError

Boto3CredentialProvider = pytest.importorskip("obstore.auth.boto3").Boto3CredentialProvider


def objects() -> list[str]:
    return sorted(
        f"{folder}/{name}"
        for folder in ("recipes", "artifacts", "data")
        for name in Bucket(URL).below(folder)
    )


def test_what_one_machine_made_another_reads_when_it_opens_it(places, line):
    one = places("one")
    record = put_graph(one)
    assert [told.split(" (")[0] for told in one.told] == ["1 result"]
    assert one.cache.pushes.pending() == []
    records = [f"recipes/{recipe('one').digest}.json", f"artifacts/{record.id}.json"]
    assert objects() == sorted([*records, *objects_of(stored_record(URL, record.id))])

    two = places("two")
    found = two.cache.look_up(recipe("one").digest)
    assert found is not None
    assert found.outputs == (record.id,)
    assert two.cache.check(record.id) is None
    assert two.cache.describe(record.id).attributes == record.attributes
    assert not two.cache.is_here(record.id)  # the records are here, the data are not
    words = [record.id[:12], "--cache", str(two.root)]
    shown = CliRunner().invoke(show, words, standalone_mode=False, catch_exceptions=False).output
    assert "data: in s3://bucket/caches/one; they come here when something opens them" in shown
    assert equal(two.cache.open(record.id), graph(4000))
    assert two.cache.is_here(record.id)
    assert two.cache.verify().damaged == {}

    line.cut()
    again = Cache(two.root, two.told.append)
    assert again.look_up(recipe("one").digest).outputs == (record.id,)
    assert equal(again.open(record.id), graph(4000))
    assert two.told == []  # what was read once needs no network


def test_a_result_is_pushed_before_the_run_ends(places):
    one = places("one")
    publish(one.cache, graph(), "one")
    late = time.monotonic() + 30
    while one.cache.pushes.pending() and time.monotonic() < late:
        time.sleep(0.01)
    assert one.cache.pushes.pending() == []
    assert Bucket(URL).get(f"recipes/{recipe('one').digest}.json") is not None
    one.cache.finish_pushes()  # which ends the thread


def test_many_recipes_that_the_store_lacks_cost_few_questions(places, line):
    put_graph(places("one"), "there")
    two = places("two")
    assert two.cache.look_up("0" * 64) is None
    before = line.passed
    assert two.cache.look_up("1" * 64) is None
    one_question = line.passed - before
    for number in range(300):
        assert two.cache.look_up(f"{number:064x}") is None
    assert line.passed - before < 30 * one_question
    assert two.cache.look_up(recipe("there").digest) is not None


def test_two_machines_that_push_the_same_leave_it_once(places, line):
    one, two = places("one"), places("two")
    line.cut()
    put_graph(one)
    put_graph(two)
    line.mend()
    threads = [threading.Thread(target=place.cache.finish_pushes) for place in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_whole(URL)
    target = Bucket(URL)
    assert len(target.names("artifacts")) == len(target.names("data")) == len(target.names("recipes")) == 1


def test_gc_keeps_what_the_store_lacks(places, line):
    one = places("one")
    line.cut()
    record = put_graph(one)
    line.mend()
    outcome = collect(one.cache, Policy(max_size=0), delete=True)
    assert outcome.removed == {}
    one.cache.finish_pushes()
    assert collect(one.cache, delete=True).removed.keys() == {record.id}
    assert one.cache.look_up(recipe("one").digest).outputs == (record.id,)
    assert equal(one.cache.open(record.id), graph(4000))


def test_names_that_lead_outside_are_refused(places):
    from gravel.pipeline.store.records import seal, unseal

    one = places("one")
    record = put_graph(one)
    target = Bucket(URL)
    body = unseal(target.get(f"artifacts/{record.id}.json") or b"")
    body.pop("seal", None)
    body["files"][0][0] = "../../../outside"
    target.put(f"artifacts/{record.id}.json", seal(body))
    two = places("two")
    assert two.cache.look_up(recipe("one").digest) is None
    assert "names '..'" in two.told[0]


def test_runs_share_results_through_the_store(places, tmp_path, line):
    marks = tmp_path / "marks"
    one = places("one")
    assert run(marks, one.root).record["state"] == "done"
    two = places("two")
    outcome = run(marks, two.root)
    assert {stage["state"] for stage in outcome.record["stages"]} == {"cached"}
    assert count(marks, 1) == count(marks, 10) == 1
    artifact: Any = Cache(two.root).open(outcome.outputs("b")[0])
    assert int(numpy.asarray(artifact.row_offsets)[1]) == 16

    # The line is dead: the run goes on here, says so, and nothing is lost.
    line.cut()
    three = places("three")
    outcome = run(marks, three.root)
    assert outcome.record["state"] == "done"
    assert count(marks, 10) == 2
    assert len(three.cache.pushes.pending()) == 2
    line.mend()
    assert run(marks, three.root).record["state"] == "done"
    assert three.cache.pushes.pending() == []
    assert count(marks, 10) == 2


def test_what_lies_here_is_used_without_the_libraries_of_stores(places, tmp_path):
    one = places("one")
    put_graph(one)
    publish(Cache(tmp_path / "plain"), graph(), "one")
    script = (
        "import sys; from pathlib import Path; from gravel.pipeline.store.cache import Cache\n"
        "for root in sys.argv[2:]:\n"
        "    cache = Cache(Path(root)); found = cache.look_up(sys.argv[1])\n"
        "    assert [cache.check(output) for output in found.outputs] == [None]\n"
        "    print(*sorted({'obstore', 'boto3', 'numpy', 'zarr', 'fsspec', 'gravel.pipeline.store.remote',\n"
        "        'gravel.pipeline.store.objects', 'concurrent.futures'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", script, recipe("one").digest, str(tmp_path / "plain"), str(one.root)]
    loaded = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True)
    assert loaded.stdout.splitlines() == ["", "gravel.pipeline.store.remote"]


def test_credentials_of_a_profile(places, line, tmp_path, monkeypatch):
    (tmp_path / "credentials").write_text(
        "[lab]\naws_access_key_id = someone\naws_secret_access_key = secret\n"
    )
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    Bucket(URL).put("a", b"1")
    assert Bucket(URL).get("a") == b"1"

    def expired(self: object) -> None:
        raise UnauthorizedSSOTokenError

    monkeypatch.setattr(Boto3CredentialProvider, "__call__", expired)
    with pytest.raises(RemoteError, match="no valid credentials: UnauthorizedSSOTokenError: The SSO session"):
        Bucket(URL).get("a")
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(RequestError, match="other"):
        Bucket(URL)


def test_what_is_wrong_with_a_store_is_said(places, line, server, monkeypatch):
    with pytest.raises(RemoteError, match="there is no bucket 'elsewhere' at"):
        Bucket("s3://elsewhere/x").get("a")
    with pytest.raises(RemoteError, match="there is no bucket 'elsewhere' at"):
        Bucket("s3://elsewhere/x").names("recipes")
    ask(server, "moto-api/reset-auth", b"0", "POST")
    try:
        with pytest.raises(RemoteError, match="refuses: InvalidAccessKeyId") as refused:
            Bucket(URL).put("a", b"1")
        assert "AWS_ACCESS_KEY_ID" in (refused.value.problems[0].hint or "")
    finally:
        ask(server, "moto-api/reset-auth", b"inf", "POST")
    line.cut()
    with pytest.raises(RemoteError, match="cannot be reached: ") as cut:
        Bucket(URL).get("a")
    assert "Debug" not in str(cut.value)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(RequestError, match="no credentials are known"):
        Bucket(URL)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(RequestError, match="needs the package obstore"):
        Bucket(URL)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(said: list[str]) -> Any:
    """A store of which nothing but the record of one artifact is known."""
    found: Any = object.__new__(remote.Remote)
    found._reported = set()
    found._cache = SimpleNamespace(
        say=said.append,
        is_here=lambda artifact_id: False,
        lock=lambda name: nullcontext(),
        files=SimpleNamespace(read=lambda name: (b"", 0.0)),
    )
    found.record = lambda artifact_id: SimpleNamespace(path=Path("data"))
    return found


def test_each_reason_is_said_once(store: Any, said: list[str]) -> None:
    for reason in ("no route", "no route", "refused"):
        store.failed(RemoteError(reason))
    assert [text.partition(";")[0] for text in said] == ["no route", "refused"]


def test_an_artifact_that_does_not_come_is_said_and_the_store_left_alone(
    store: Any, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*, patient: bool) -> None:
        raise RemoteError("no route")

    store.reach = unreachable
    with pytest.raises(DamagedArtifact, match="it is not here, and no route"):
        store.fetch("a" * 64)
    assert said[0].startswith("no route; going on with what is here")
    assert store._quiet_until > time.monotonic()


def test_temporary_files_of_living_writers_stay(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    for name, age in ((".young", 1.0), (".old", TEMPORARY_AGE + 60), ("record.json", TEMPORARY_AGE + 60)):
        path = tmp_path / "recipes" / name
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    assert LocalFiles(tmp_path).leavings("recipes") == ["recipes/.old"]


def test_marks_of_results_that_were_never_recorded_go_after_a_while(tmp_path: Path) -> None:
    cache: Any = SimpleNamespace(files=LocalFiles(tmp_path))
    waiting = pushes.Pushes(cache, object.__new__(remote.Remote))
    for name in ("pending/recorded", "pending/young", "pending/old", "recipes/recorded.json"):
        cache.files.replace(name, b"")
    long_ago = time.time() - pushes.UNWRITTEN_SECONDS - 60
    os.utime(tmp_path / "pending" / "old", (long_ago, long_ago))
    assert waiting.pending() == ["recorded"]
    assert cache.files.names("pending") == ["recorded", "young"]
