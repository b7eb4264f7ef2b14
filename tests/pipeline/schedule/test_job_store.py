"""The store of jobs: what is added comes back, and damage is said."""

from __future__ import annotations

import json
import os
import threading

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import State
from tests.pipeline.schedule.case import job_of, store

__all__ = ["store"]


def test_a_job_comes_back_as_it_was_added(store: JobStore):
    job = job_of(settings=["a=1"], arguments=["--only", "x"], jitter=2.5, time_limit=60.0, hooks=("change",))
    store.add(job)
    assert JobStore(store.root).job("j") == job
    assert job.words("/c") == ["run", "/w.yaml", "--set", "a=1", "--only", "x", "--cache", "/c"]
    assert store.state(job) == State(0)
    with pytest.raises(RequestError) as caught:
        store.job("k")
    assert caught.value.problems[0].hint is not None


def test_a_name_is_taken_once(store: JobStore):
    added: list[str] = []
    refused: list[str] = []

    def add(number: int) -> None:
        try:
            store.add(job_of(id=str(number)))
            added.append(str(number))
        except RequestError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added == [store.job("j").id]
    assert len(refused) == 7
    assert all("there is a schedule 'j' already" in each for each in refused)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2}', "\0" * 100])
@pytest.mark.parametrize("name", ["job.json", "state.json"])
def test_damaged_files_are_said(store: JobStore, name: str, text: str):
    job = job_of()
    store.add(job)
    (store.root / "schedules" / "j" / name).write_text(text)
    with pytest.raises(GravelError, match="cannot be read"):
        store.state(store.job("j"))
    store.remove("j")
    store.add(job)


def test_a_job_with_policies_of_before(store: JobStore):
    store.add(job_of())
    path = store.root / "schedules" / "j" / "job.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"format": 1, "catch_up": "all", "overlap": "skip"})
    )
    with pytest.raises(GravelError) as caught:
        store.job("j")
    (problem,) = caught.value.problems
    assert problem.message == (
        f"{path} cannot be read: catch_up and overlap cannot be chosen any more: due times that were missed "
        "run once, and a run at work is not doubled"
    )
    assert problem.hint == "`gravel schedule remove j` and `gravel schedule add` make it anew"


def test_no_hook_comes_from_a_cache(store: JobStore):
    with pytest.raises(ValueError, match="--on-change is among the words for `gravel run`"):
        job_of(arguments=["--on-change=true"])


def test_what_dead_writers_left_is_swept(store: JobStore):
    store.add(job_of())
    folder = store.root / "schedules"
    (folder / ".removed-1" / "claims").mkdir(parents=True)
    (folder / "j" / "claims").mkdir()
    old, new = folder / "j" / "claims" / ".old", folder / "j" / ".new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    store.sweep()
    assert sorted(path.name for path in folder.rglob("*")) == [".new", "claims", "j", "job.json"]
