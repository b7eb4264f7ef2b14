"""A graph from files over a worker whose credentials end while it runs: what is said, kept, and run again."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gravel.pipeline.store.objects import Bucket
from tests.pipeline.store.s3_server import Line, assert_whole, line_to_bucket, s3_server
from tests.pipeline.workers.dask_processes import DaskProcesses
from tests.pipeline.workers.test_own_tier import URL, Site, call

pytest.importorskip("moto")

WORKFLOW = """\
workflow: ranks
stages:
  split: {stage: distribute, files: ["s3://bucket/data/*.txt"], ranks: 2, threshold: 4}
  bfs: {stage: traverse, input: split, sources: [1]}
  check: {stage: verify, graph: split, traversal: bfs}
"""

REFUSAL = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
BODY = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


class Guarded(Line):
    """A line that refuses a key once it has let `allowed` requests with a mark pass."""

    def __init__(self, address: str, key: bytes, mark: bytes, allowed: int) -> None:
        self._key, self._mark, self._left = b"Credential=" + key + b"/", mark, allowed
        self._count = threading.Lock()
        self.refusing = True
        super().__init__(address)

    def _refuses(self, piece: bytes) -> bool:
        if self._key not in piece:
            return False
        with self._count:
            self._left -= bool(re.search(self._mark, piece))
            return self.refusing and self._left < 0

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(self._to) as far, suppress(OSError):
            threading.Thread(target=self._answers, args=(far, near), daemon=True).start()
            while piece := near.recv(1 << 16):
                if self._refuses(piece):
                    near.sendall(REFUSAL % len(BODY) + BODY)
                    return
                far.sendall(piece)

    @staticmethod
    def _answers(far: socket.socket, near: socket.socket) -> None:
        with suppress(OSError):
            while piece := far.recv(1 << 16):
                near.sendall(piece)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, Guarded]]:
    """One worker with a key of its own, whose way to the store is guarded."""
    with s3_server() as server, line_to_bucket(server, monkeypatch):
        guarded = Guarded(server, b"expiring", rb"^PUT /bucket/cache/recipes/", 1)
        (tmp_path / "secret").mkdir()
        (tmp_path / "client").mkdir()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        from gravel.pipeline.trust.keys import signing_key

        signing_key()
        (tmp_path / "config" / "gravel" / "signing-key").rename(tmp_path / "secret" / "signing-key")
        monkeypatch.setenv("GRAVEL_SIGNING_KEY_FILE", str(tmp_path / "secret" / "signing-key"))
        monkeypatch.setenv("GRAVEL_LOCAL_TIER", "/proc/self/cwd/tiers")
        with DaskProcesses(tmp_path / "dask") as dask:
            site = Site(tmp_path, dask)
            monkeypatch.chdir(site.client)
            site.worker("one", AWS_ACCESS_KEY_ID="expiring", AWS_ENDPOINT_URL=guarded.address)
            dask.connected(1)
            yield site, guarded
        guarded.close()


def test_a_worker_whose_credentials_end_is_told_and_its_pieces_stay(place: tuple[Site, Guarded]) -> None:
    site, guarded = place
    for number in range(9):
        Bucket("s3://bucket/data").put(
            f"{number}.txt", f"{number} {number + 1}\n{number} 100\n1 {number}\n".encode()
        )
    (site.client / "ranks.yaml").write_text(WORKFLOW)
    words = ("run", "ranks.yaml", "--cache", URL, "--cluster", site.dask.address, "--backend", "cpu")
    said = call(site, *words, code=1)
    assert re.search(rf"split: failed: {URL} at \S+ refuses: ExpiredToken", said), said
    assert "hint: look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE" in said
    assert "bfs: skipped" in said
    assert_whole(URL)
    guarded.refusing = False
    said = call(site, *words)
    assert "9 pieces: 9 cached, 0 read" in said
    assert "3 computed" in said
    assert_whole(URL)
    assert "3 cached" in call(site, *words)
