"""A web server of files that answers as told: with an ETag or none, in pieces, only with a password."""

from __future__ import annotations

import base64
import http.server
import re
import threading
from types import TracebackType
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Request(NamedTuple):
    """A question of a client; `path` may be a whole URL, as proxies are asked."""

    method: str
    path: str
    range: str | None
    authorization: str | None


class WebServer:
    """Serves `files` (content by path, or by path and query), or one content everywhere; a context manager.

    `headers` go with every answer. With `password` ("user:word") others get 401, with `query` who asks
    without it gets 403; `moved` leads from paths to URLs. Without `ranges` every answer is whole, and with
    `chunked` none has a length. `cuts` are the numbers of bytes after which answers to come end early.
    """

    def __init__(self, files: dict[str, bytes] | bytes, **headers: str) -> None:
        self.files = files
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}
        self.password: str | None = None
        self.query: str | None = None
        self.status: int | None = None
        self.moved: dict[str, str] = {}
        self.ranges, self.chunked = True, False
        self.cuts: list[int] = []
        self.requests: list[Request] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                server._answer(self)

            def do_GET(self) -> None:
                server._answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.address = f"http://{self.host}"

    @property
    def asked(self) -> list[tuple[str, str | None]]:
        """Each method and range that was asked for."""
        return [(each.method, each.range) for each in self.requests]

    @property
    def gets(self) -> int:
        """How often a file was fetched."""
        return sum(each.method == "GET" for each in self.requests)

    def _content(self, target: str) -> bytes | None:
        parts = urlsplit(target)
        path = unquote(parts.path)
        if isinstance(self.files, bytes):
            return self.files
        return self.files.get(f"{path}?{parts.query}", self.files.get(path))

    def _status(self, target: str, authorization: str | None) -> int:
        if self.password is not None:
            word = "Basic " + base64.b64encode(self.password.encode()).decode()
            if authorization != word:
                return 401
        if self.query is not None and urlsplit(target).query != self.query:
            return 403
        if target in self.moved:
            return 302
        return self.status or (404 if self._content(target) is None else 200)

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        given, target = handler.headers, handler.path
        self.requests.append(Request(handler.command, target, given["Range"], given["Authorization"]))
        status, content, start = self._status(target, given["Authorization"]), self._content(target) or b"", 0
        headers = {**self.headers, **({"Location": self.moved[target]} if status == 302 else {})}
        match = re.fullmatch(r"bytes=(\d+)-", given["Range"] or "")
        same = given["If-Range"] in (None, self.headers.get("ETag"))
        if status == 200 and match and self.ranges and same:
            start, size = int(match[1]), len(content)
            status = 206 if start < size else 416
            span = f"{start}-{size - 1}" if start < size else "*"
            headers["Content-Range"] = f"bytes {span}/{size}"
        body = content[start:] if status in (200, 206) else b""
        handler.send_response(status)
        how = (
            ("Transfer-Encoding", "chunked") if self.chunked and body else ("Content-Length", str(len(body)))
        )
        for name, text in (how, *headers.items()):
            handler.send_header(name, text)
        handler.end_headers()
        if handler.command == "GET" and body:
            part = body[: self.cuts.pop(0)] if self.cuts else body
            if self.chunked:
                ended = b"0\r\n\r\n" if part is body else b""
                part = b"".join(b"%x\r\n%b\r\n" % (1, part[at : at + 1]) for at in range(len(part))) + ended
            handler.wfile.write(part)

    def __enter__(self) -> WebServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening: from now on nobody can be reached."""
        self._server.shutdown()
        self._server.server_close()
