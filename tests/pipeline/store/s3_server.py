"""A real S3 server of this process, and a line to it that can be cut."""

from __future__ import annotations

import logging
import select
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from blake3 import blake3
from zstandard import ZstdDecompressor

from gravel.pipeline.store.identity import LeafDigest, root_of
from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.store.records import ArtifactRecord
from gravel.pipeline.store.selection import read_artifact_record, read_recipe


@contextmanager
def s3_server() -> Iterator[str]:
    """Run moto's server on a free port and yield its address."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def ask(address: str, path: str, data: bytes = b"", method: str = "PUT") -> bytes:
    headers = {"Content-Type": "text/plain"}
    request = urllib.request.Request(f"{address}/{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def stored_record(url: str, artifact_id: str) -> ArtifactRecord:
    """The record of an artifact in a store."""
    text = Bucket(url).get(f"artifacts/{artifact_id}.json")
    assert text is not None
    return read_artifact_record(text, artifact_id)


def objects_of(record: ArtifactRecord) -> list[str]:
    """Names of what a store holds of an artifact, besides its record: attributes, and pieces of arrays."""
    digests = (stored.blake3 for objects in record.objects.values() for stored in objects)
    return [f"data/{record.path.name}/{name}" for name in ("zarr.json", *digests)]


def assert_whole(url: str) -> None:
    """Every record in the store leads to whole data, and every recipe to records."""
    target = Bucket(url)
    ids = set()
    for name in target.names("artifacts"):
        record = stored_record(url, name.removesuffix(".json"))
        metadata = record.files[0]
        attributes = target.get(f"data/{record.path.name}/{metadata.path}") or b""
        assert (len(attributes), blake3(attributes).hexdigest()) == (metadata.size, metadata.blake3)
        for array, root in record.roots.items():
            leaves = LeafDigest()
            for stored in record.objects.get(array, ()):
                pieces = target.read(f"data/{record.path.name}/{stored.blake3}", stored.size)
                assert pieces is not None
                text = b"".join(pieces)
                assert (len(text), blake3(text).hexdigest()) == (stored.size, stored.blake3)
                content = ZstdDecompressor().decompress(text)
                assert len(content) == stored.raw
                leaves.update(memoryview(content))
            assert root_of(leaves.finish()) == root
        ids.add(record.id)
    for name in target.names("recipes"):
        text = target.get(f"recipes/{name}")
        assert text is not None
        assert set(read_recipe(text, name.removesuffix(".json")).outputs) <= ids


class Line:
    """A TCP proxy: it counts the bytes that pass it and, after `budget` of them, is dead until mended."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self.behind = f"{host}:{port}"
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.passed = 0
        self.budget: int | None = None
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, after: int = 0) -> None:
        """Let so many more bytes through, then close every connection and refuse new ones."""
        self.budget = self.passed + after

    def mend(self) -> None:
        self.budget = None

    def close(self) -> None:
        self.closed = True
        self._listener.close()

    @property
    def is_cut(self) -> bool:
        return self.budget is not None and self.passed >= self.budget

    def _accept(self) -> None:
        while not self.closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, suppress(ConnectionError):
            if self.is_cut:
                return
            with socket.create_connection(self._to) as far:
                while not self.is_cut and not self.closed:
                    for ready in select.select([near, far], [], [], 0.05)[0]:
                        piece = ready.recv(1 << 14)
                        if not piece:
                            return
                        self.passed += len(piece)
                        if self.is_cut:
                            return
                        (far if ready is near else near).sendall(piece)


@contextmanager
def line_to_bucket(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """Give a line to an empty bucket of the server, which is where AWS is while it is open."""
    ask(address, "moto-api/reset", method="POST")
    ask(address, "bucket")
    line = Line(address)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "GRAVEL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", line.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "*")
    try:
        yield line
    finally:
        line.close()
