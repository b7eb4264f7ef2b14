"""Downloads: resumed, verified, kept by content, and what is said without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from blake3 import blake3

from gravel.pipeline.core.errors import NeedsContent, RequestError
from gravel.pipeline.datasets.downloads import Download, Downloads
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.stages.errors import StageError
from gravel.stages.stage import FileInput
from tests.web_server import WebServer

TEXT = b"".join(b"%d %d\n" % (at, at + 1) for at in range(3000))
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(TEXT, ETag='"one"') as running:
        yield running


def fetch(root: Path, url: str, sha256: str | None = None) -> Download:
    return Downloads(root).fetch(url, sha256, pause=0.0)


def test_a_file_is_fetched_once_and_named_by_its_content(tmp_path: Path, server: WebServer) -> None:
    found = fetch(tmp_path, f"{server.address}/road.txt?key=1", SHA256)
    assert found.path == tmp_path / "downloads/files" / SHA256 / "road.txt"
    assert found.path.read_bytes() == TEXT
    assert fetch(tmp_path, f"{server.address}/road.txt?key=1", SHA256) == found
    assert fetch(tmp_path, f"{server.address}/elsewhere.txt", SHA256).path == found.path
    assert server.asked == [("GET", None)]
    assert not list((tmp_path / "downloads/parts").glob("*[!k]"))  # locks only


def test_two_at_once_fetch_it_once(tmp_path: Path, server: WebServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fetch(tmp_path, f"{server.address}/a.txt", SHA256), range(4)))
    assert {each.path.read_bytes() for each in found} == {TEXT}
    assert server.asked == [("GET", None)]


def test_a_line_that_is_cut_goes_on_where_it_stopped(tmp_path: Path, server: WebServer) -> None:
    server.cuts = [1000, 500]
    assert fetch(tmp_path, f"{server.address}/a.txt", SHA256).path.read_bytes() == TEXT
    assert server.asked == [("GET", None), ("GET", "bytes=1000-"), ("GET", "bytes=1500-")]


def test_what_came_is_kept_for_the_next_run(tmp_path: Path, server: WebServer) -> None:
    url = f"{server.address}/a.txt"
    server.cuts = [1000, 0, 0, 0, 0, 0]
    with pytest.raises(StageError, match="the line was cut after 1,000 of") as caught:
        fetch(tmp_path, url)
    assert "what came so far is kept" in (caught.value.hint or "")
    server.cuts.clear()
    server.requests.clear()
    assert fetch(tmp_path, url).sha256 == SHA256
    assert server.asked == [("GET", "bytes=1000-")]


def test_another_version_is_fetched_from_its_beginning(tmp_path: Path, server: WebServer) -> None:
    url = f"{server.address}/a.txt"
    server.cuts = [1000, 0, 0, 0, 0, 0]
    with pytest.raises(StageError):
        fetch(tmp_path, url)
    server.files, server.headers["ETag"], server.cuts = b"1 2\n" * 500, '"two"', []
    assert fetch(tmp_path, url).path.read_bytes() == server.files
    shorter = fetch(tmp_path, url)
    server.files, server.headers["ETag"] = b"1 2\n", '"three"'
    assert fetch(tmp_path, url).path.read_bytes() == b"1 2\n"
    assert shorter.path.read_bytes() == b"1 2\n" * 500  # whoever reads it still can


def test_a_server_without_ranges(tmp_path: Path, server: WebServer) -> None:
    server.ranges, server.cuts = False, [1000]
    assert fetch(tmp_path, f"{server.address}/a.txt").path.read_bytes() == TEXT
    assert server.asked == [("GET", None), ("GET", "bytes=1000-")]


def test_a_link_in_the_place_of_a_part_is_not_followed(tmp_path: Path, server: WebServer) -> None:
    url, outside = f"{server.address}/a.txt", tmp_path / "outside"
    outside.write_bytes(b"mine")
    part = tmp_path / "downloads/parts" / Downloads(tmp_path).records.name(url)
    part.parent.mkdir(parents=True)
    part.symlink_to(outside)
    part.with_name(f"{part.name}.json").symlink_to(outside)
    found = fetch(tmp_path, url).path
    assert found.read_bytes() == TEXT
    assert not found.is_symlink()
    assert outside.read_bytes() == b"mine"


def test_another_checksum_is_refused_and_nothing_of_it_kept(tmp_path: Path, server: WebServer) -> None:
    url = f"{server.address}/a.txt"
    with pytest.raises(StageError) as caught:
        fetch(tmp_path, url, "0" * 64)
    assert SHA256 in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert Downloads(tmp_path).find(url) is None
    assert not list((tmp_path / "downloads").rglob("*.txt"))
    assert fetch(tmp_path, url, SHA256).sha256 == SHA256


@pytest.mark.parametrize(("status", "message"), [(404, "answers 404 Not Found"), (403, "answers 403")])
def test_what_is_not_there(tmp_path: Path, server: WebServer, status: int, message: str) -> None:
    server.status = status
    with pytest.raises(StageError, match=message) as caught:
        fetch(tmp_path, f"{server.address}/a.txt")
    assert "check the URL" in (caught.value.hint or "")
    assert len(server.asked) == 1


def test_without_a_network_it_says_where_to_put_the_file(tmp_path: Path, server: WebServer) -> None:
    url = f"{server.address}/graphs/a.txt"
    server.stop()
    with pytest.raises(StageError) as caught:
        fetch(tmp_path, url, SHA256)
    assert url in str(caught.value)
    where = Downloads(tmp_path).by_hand(url)
    assert str(where) in (caught.value.hint or "")
    with pytest.raises(RequestError) as refused:
        FileDigests(tmp_path).digest(FileInput(url))
    assert str(where) in (refused.value.problems[0].hint or "")
    where.parent.mkdir(parents=True)
    where.write_bytes(b"another")
    with pytest.raises(StageError, match="is expected of"):
        fetch(tmp_path, url, SHA256)
    where.write_bytes(TEXT)
    before = FileDigests(tmp_path).digest(FileInput(url))
    assert fetch(tmp_path, url).path.read_bytes() == TEXT
    assert FileDigests(tmp_path).digest(FileInput(url)) == before == blake3(TEXT).hexdigest()


def test_without_a_network_a_download_stands_for_its_url(tmp_path: Path, server: WebServer) -> None:
    file = FileInput(f"{server.address}/a.txt")
    with pytest.raises(NeedsContent, match="asks the server"):
        FileDigests(tmp_path).digest(file)
    found = fetch(tmp_path, file.location)
    before = FileDigests(tmp_path).digest(file)
    server.stop()
    assert FileDigests(tmp_path).digest(file) == before
    assert fetch(tmp_path, file.location) == found


def test_dropping_frees_what_no_other_url_leads_to(tmp_path: Path, server: WebServer) -> None:
    downloads = Downloads(tmp_path)
    one, two = f"{server.address}/a.txt", f"{server.address}/b.txt"
    path = fetch(tmp_path, one).path
    fetch(tmp_path, two)
    assert downloads.drop(one) == 0
    assert path.exists()
    assert downloads.drop(two) == len(TEXT)
    assert not path.exists()
    assert downloads.find(one) is downloads.find(two) is None
    # What they held stays known, so that results made of it are still found.
    assert FileDigests(tmp_path).digest(FileInput(one)) == blake3(TEXT).hexdigest()
