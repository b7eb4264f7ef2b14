"""An HTTP server of files that answers as told: with an ETag or none, and only to who has a password."""

from __future__ import annotations

import base64
import http.server
import threading
from types import TracebackType
from urllib.parse import unquote, urlsplit


class PlainServer:
    """Serves `files` (content by path, or by path and query); a context manager.

    `headers` go with every answer. With `password` ("user:word") others get 401, with `query` who asks
    without it gets 403. `asked` lists each method and path.
    """

    def __init__(self, files: dict[str, bytes], **headers: str) -> None:
        self.files = files
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}
        self.password: str | None = None
        self.query: str | None = None
        self.status: int | None = None
        self.asked: list[tuple[str, str]] = []
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                parts = urlsplit(self.path)
                served.asked.append((self.command, self.path))
                path = unquote(parts.path)
                content = served.files.get(f"{path}?{parts.query}", served.files.get(path))
                status = served.status or (404 if content is None else 200)
                if served.query is not None and parts.query != served.query:
                    status = 403
                if served.password is not None:
                    word = "Basic " + base64.b64encode(served.password.encode()).decode()
                    status = status if self.headers.get("Authorization") == word else 401
                self.send_response(status)
                body = content if status == 200 and content is not None else b""
                self.send_header("Content-Length", str(len(body)))
                for name, text in served.headers.items():
                    self.send_header(name, text)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.address = f"http://{self.host}"

    @property
    def gets(self) -> int:
        """How often a file was fetched."""
        return sum(method == "GET" for method, _ in self.asked)

    def __enter__(self) -> PlainServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
