"""A stand-in for S3, Google Cloud Storage and Azure: the requests that obstore sends, on objects in memory.

Google's (its XML interface) and those of S3 are `/bucket/key`, Azure's `/account/container/key`. Signatures
are not checked, and S3 is only read.
"""

from __future__ import annotations

import hashlib
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCOUNT = "someone"
BUCKET = "bucket"


class CloudServer:
    """The objects of one bucket by key; the next answer ends after `cut` bytes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.cut: int | None = None


class _Handler(http.server.BaseHTTPRequestHandler):
    cloud: CloudServer

    def do_GET(self) -> None:
        self._answer(b"")

    do_HEAD = do_DELETE = do_GET

    def do_PUT(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    do_POST = do_PUT

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        path, query = unquote(parts.path).lstrip("/"), parse_qs(parts.query)
        azure = path.split("/")[0] == ACCOUNT
        if azure:
            path = path.partition("/")[2]
        bucket, _, key = path.partition("/")
        if bucket != BUCKET:
            code = "ContainerNotFound" if azure else "NoSuchBucket"
            self._send(404, f"<Error><Code>{code}</Code></Error>".encode())
        elif self.command == "POST" and "batch" in query.get("comp", ()):
            self._batch(body)
        elif not key:
            self._list(query.get("prefix", [""])[0], query.get("delimiter", [""])[0], azure=azure)
        elif self.command == "PUT":
            self._put(key, body)
        elif key not in self.cloud.objects:
            self._send(404, b"")
        elif self.command == "DELETE":
            del self.cloud.objects[key]
            self._send(202 if azure else 204, b"")
        else:
            self._get(key)

    def _put(self, key: str, body: bytes) -> None:
        new_only = self.headers["If-None-Match"] == "*" or self.headers["x-goog-if-generation-match"] == "0"
        if new_only and key in self.cloud.objects:
            self._send(409 if self.headers["If-None-Match"] else 412, b"")
            return
        self.cloud.objects[key] = body
        self._send(201, b"", _facts(body))

    def _get(self, key: str) -> None:
        content = self.cloud.objects[key]
        facts = _facts(content)
        if self.headers["If-Match"] not in (None, facts["ETag"]):
            self._send(412, b"")
            return
        match = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or self.headers["x-ms-range"] or "")
        start = int(match[1]) if match else 0
        if match:
            facts["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(206 if match else 200, content[start:], facts)

    def _list(self, prefix: str, delimiter: str, *, azure: bool) -> None:
        files, folders = [], set()
        for key, content in sorted(self.cloud.objects.items()):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
                continue
            files.append((escape(key), len(content), _facts(content)["ETag"]))
        if azure:
            date = formatdate(0, usegmt=True)
            text = "".join(
                f"<Blob><Name>{key}</Name><Properties><Last-Modified>{date}</Last-Modified><Etag>{tag}</Etag>"
                f"<Content-Length>{size}</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"
                for key, size, tag in files
            ) + "".join(f"<BlobPrefix><Name>{folder}</Name></BlobPrefix>" for folder in sorted(folders))
            text = f"<EnumerationResults><Blobs>{text}</Blobs><NextMarker/></EnumerationResults>"
        else:
            text = "".join(
                f"<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{escape(tag)}</ETag>"
                "<LastModified>1970-01-01T00:00:00Z</LastModified></Contents>"
                for key, size, tag in files
            ) + "".join(
                f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" for name in sorted(folders)
            )
            text = f"<ListBucketResult>{text}</ListBucketResult>"
        self._send(200, text.encode())

    def _batch(self, body: bytes) -> None:
        """Answer Azure's request of many deletions."""
        answers = []
        for number, path in re.findall(rb"Content-ID: (\d+)\r\n.*?DELETE (\S+)", body, re.DOTALL):
            self.cloud.objects.pop(unquote(urlsplit(path.decode()).path).split("/", 3)[-1], None)
            answers.append(
                b"--batch\r\nContent-Type: application/http\r\n"
                b"Content-ID: %b\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n" % number
            )
        self._send(
            202, b"".join(answers) + b"--batch--\r\n", {"Content-Type": "multipart/mixed; boundary=batch"}
        )

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.cloud.cut is not None and self.command == "GET" and len(body) > self.cloud.cut:
            body, self.cloud.cut = body[: self.cloud.cut], None
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def _facts(content: bytes) -> dict[str, str]:
    date = formatdate(0, usegmt=True)
    return {
        "ETag": f'"{hashlib.md5(content).hexdigest()}"',
        "Last-Modified": date,
        "x-ms-blob-type": "BlockBlob",
    }


@contextmanager
def cloud_server() -> Iterator[tuple[CloudServer, dict[str, str]]]:
    """Run the stand-in; gives it, and the environment by which obstore finds it."""
    cloud = CloudServer()
    handler = type("Handler", (_Handler,), {"cloud": cloud})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield (
            cloud,
            {
                "GOOGLE_BASE_URL": address,
                "GOOGLE_BEARER_TOKEN": "token",
                "AZURE_STORAGE_ENDPOINT": f"{address}/{ACCOUNT}",
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0",
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": ACCOUNT,
                "AWS_SECRET_ACCESS_KEY": "secret",
                "NO_PROXY": "*",
            },
        )
        server.shutdown()
