"""The store of jobs: what is added comes back, and damage is said."""

from __future__ import annotations

import threading

import pytest

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.schedule.job_store import JobStore
from gravel.pipeline.schedule.policy import State
from tests.pipeline.schedule_case import job_of, store

__all__ = ["store"]


def test_a_job_comes_back_as_it_was_added(store: JobStore):
    job = job_of(settings=["a=1"], arguments=["--only", "x"], jitter=2.5, time_limit=60.0, hooks=("change",))
    store.add(job)
    assert JobStore(store.root).job("j") == job
    assert job.words("/c") == ["run", "/w.yaml", "--set", "a=1", "--only", "x", "--cache", "/c"]
    assert store.state(job) == State(0)
    assert store.names() == ["j"]


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


def test_an_unknown_name_is_told_the_nearest(store: JobStore):
    store.add(job_of(name="nightly"))
    with pytest.raises(RequestError) as caught:
        store.job("nigthly")
    assert caught.value.problems[0].hint == "did you mean 'nightly'?"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', '{"format": 1}', "\0" * 100])
@pytest.mark.parametrize("name", ["job.json", "state.json"])
def test_damaged_files_are_said(store: JobStore, name: str, text: str):
    job = job_of()
    store.add(job)
    (store.root / "schedules" / "j" / name).write_text(text)
    with pytest.raises(GravelError, match="cannot be read"):
        store.state(store.job("j"))
    store.remove("j")
    store.add(job)
