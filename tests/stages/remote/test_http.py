"""Files over HTTP: passwords, redirects, proxies, chunked answers, and going on where a line was cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from gravel.stages.addresses import address_of
from gravel.stages.remote.facts import Answer, Changed, Facts, FetchError
from gravel.stages.remote.http import facts_over_http, open_http
from tests.web_server import WebServer

TEXT = b"".join(b"%d %d\n" % (at, at + 1) for at in range(300))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(TEXT, ETag='"one"') as running:
        yield running


def whole(answer: Answer) -> bytes:
    with closing(answer):
        return b"".join(iter(answer.read, b""))


def start_of(server: WebServer, start: int, known: Facts, *, checked: bool = False) -> int:
    with closing(open_http(address_of(server.address), start, known, checked=checked)) as answer:
        return answer.start


def test_a_password_stays_with_its_server(server: WebServer) -> None:
    server.password = "me:word"
    host = f"http://me:word@{server.host}"
    server.moved = {"/here": "/there?k=1"}
    assert whole(open_http(address_of(f"{host}/here"))) == TEXT
    assert facts_over_http(address_of(f"{host}/here")).size == len(TEXT)
    assert [each.method for each in server.requests] == ["GET", "GET", "HEAD", "HEAD"]
    with WebServer(TEXT) as other:
        server.moved = {"/away": f"{other.address}/file"}
        assert whole(open_http(address_of(f"{host}/away"))) == TEXT
        assert [each.authorization for each in other.requests] == [None]


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_a_redirect_stays_on_the_web(server: WebServer, place: str) -> None:
    server.moved = {"/away": place}
    with pytest.raises(FetchError, match=r"(?i)redirect") as refused:
        open_http(address_of(f"{server.address}/away"))
    assert not refused.value.offline


def test_proxies_are_those_of_the_environment(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.address)
    assert whole(open_http(address_of("http://host.invalid/a.txt?k=1"))) == TEXT
    assert server.requests[0].path == "http://host.invalid/a.txt?k=1"
    monkeypatch.setenv("no_proxy", "host.invalid")
    with pytest.raises(FetchError, match="its server cannot be reached") as refused:
        open_http(address_of("http://host.invalid/a.txt"))
    assert refused.value.offline


def test_a_chunked_answer_has_no_length_and_its_end_is_known(server: WebServer) -> None:
    server.chunked = True
    assert whole(open_http(address_of(server.address))) == TEXT
    server.cuts = [700]
    with closing(open_http(address_of(server.address))) as answer:
        assert answer.facts.size is None
        assert answer.read(512) + answer.read(512) == TEXT[:700]
        with pytest.raises(FetchError, match="the line was cut after 700 bytes"):
            answer.read(512)
    answer = open_http(address_of(server.address), 700, answer.facts)
    assert (answer.start, whole(answer)) == (700, TEXT[700:])


def test_going_on_needs_a_strong_etag_or_a_checksum(server: WebServer) -> None:
    known = Facts(len(TEXT), '"one"')
    assert start_of(server, 700, known) == 700
    assert start_of(server, len(TEXT), known) == len(TEXT)
    assert start_of(server, 700, Facts(len(TEXT), '"old"')) == 0
    server.headers["ETag"] = 'W/"one"'
    weak = Facts(len(TEXT), 'W/"one"')
    assert start_of(server, 700, weak) == 0
    assert start_of(server, 700, weak, checked=True) == 700
    with pytest.raises(Changed):
        start_of(server, len(TEXT) + 1, weak, checked=True)
    server.ranges = False
    assert start_of(server, 700, weak, checked=True) == 0


def test_a_short_answer_is_an_error(server: WebServer) -> None:
    server.cuts = [100]
    with pytest.raises(FetchError, match="the line was cut after 100 of"):
        whole(open_http(address_of(server.address)))


@pytest.mark.parametrize(
    ("etag", "strong"),
    [
        ('"one"', True),
        ('"5d41402abc4b2a76b9719d911017c592-3"', True),  # S3, in parts
        ("CLCL6rnp2f4CEAE=", True),  # Google
        ('"5627c4a8-4d2"', True),  # nginx: it changes at least with size and time
        ('W/"one"', False),
        ('""', False),
        (None, False),
    ],
)
def test_a_validator_is_a_strong_etag(etag: str | None, strong: bool) -> None:
    assert (Facts(1, etag).validator is not None) is strong
    assert Facts(1, etag, "Monday").same_as(Facts(None, etag, None)) is strong
    assert not Facts(1, etag).same_as(Facts(2, etag))
    assert not Facts(1, etag).same_as(Facts(1, '"other"'))
