"""Files in object stores: read, continued, listed, and what is said of a store that does not give them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("obstore")

from gravel.stages.addresses import address_of
from gravel.stages.errors import StageError
from gravel.stages.remote.facts import Changed, FetchError
from gravel.stages.remote.object_store import facts_of_object, list_objects, open_object
from tests.stages.remote.cloud_server import CloudServer, cloud_server

TEXT = b"".join(b"%d %d\n" % (at, at + 1) for at in range(400_000))

schemes = pytest.mark.parametrize("scheme", ["s3", "gs", "az"])


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudServer]:
    monkeypatch.setattr("gravel.stages.remote.object_store.RETRIES", 0)
    with cloud_server() as (running, environment):
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        running.objects["graphs/a b.txt"] = TEXT
        yield running


@schemes
def test_an_object_is_read_in_order(cloud: CloudServer, scheme: str) -> None:
    address = address_of(f"{scheme}://bucket/graphs/a b.txt")
    facts = facts_of_object(address)
    assert facts.size == len(TEXT)
    assert facts.validator is not None
    assert b"".join(iter(open_object(address).read, b"")) == TEXT


@schemes
def test_a_cut_object_goes_on_where_it_stopped(cloud: CloudServer, scheme: str) -> None:
    address, pieces = address_of(f"{scheme}://bucket/graphs/a b.txt"), []
    cloud.cut = 3 << 20
    answer = open_object(address)
    with pytest.raises(FetchError) as cut:
        pieces.extend(iter(answer.read, b""))
    assert cut.value.passing
    came = b"".join(pieces)
    assert 0 < len(came) < len(TEXT)
    rest = open_object(address, len(came), answer.facts)
    assert rest.start == len(came)
    assert came + b"".join(iter(rest.read, b"")) == TEXT
    assert open_object(address, len(TEXT), answer.facts).read() == b""
    cloud.objects["graphs/a b.txt"] = b"another"
    other = open_object(address, len(came), answer.facts)
    assert (other.start, other.read()) == (0, b"another")


@schemes
def test_another_version_between_two_questions_is_noticed(
    cloud: CloudServer, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = address_of(f"{scheme}://bucket/graphs/a b.txt")
    facts = facts_of_object(address)
    cloud.objects["graphs/a b.txt"] = b"another"
    monkeypatch.setattr("gravel.stages.remote.object_store._head", lambda store, key: facts)
    with pytest.raises(Changed):
        open_object(address)


@schemes
def test_what_is_not_there_is_said(cloud: CloudServer, scheme: str) -> None:
    with pytest.raises(FetchError, match="there is nothing at this URL") as missing:
        open_object(address_of(f"{scheme}://bucket/none.txt"))
    assert missing.value.status == 404
    with pytest.raises(FetchError, match=r"there is no bucket 'elsewhere' at http://127\.0\.0\.1"):
        list_objects(address_of(f"{scheme}://elsewhere/"), "")


@schemes
def test_a_store_that_is_down_counts_as_offline(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.stages.remote.object_store.RETRIES", 0)
    with cloud_server() as (_, environment):
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
    with pytest.raises(FetchError, match=r"its store at http://.* cannot be reached") as down:
        facts_of_object(address_of(f"{scheme}://bucket/a.txt"))
    assert down.value.offline
    assert "ENDPOINT" in (down.value.hint or "") or "BASE_URL" in (down.value.hint or "")


@schemes
def test_without_obstore_it_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StageError, match="needs the package obstore") as refused:
        facts_of_object(address_of(f"{scheme}://bucket/a.txt"))
    assert "gravel[remote]" in (refused.value.hint or "")


def test_without_credentials_and_boto3_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(StageError, match=r"no credentials are known for s3://bucket/a\.txt") as refused:
        facts_of_object(address_of("s3://bucket/a.txt"))
    assert "pip install boto3" in (refused.value.hint or "")


def test_an_account_that_is_not_named_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(
        StageError, match=r"az://bucket/a\.txt cannot be asked for: Account must be"
    ) as refused:
        facts_of_object(address_of("az://bucket/a.txt"))
    assert "AZURE_STORAGE_ACCOUNT_NAME" in (refused.value.hint or "")
