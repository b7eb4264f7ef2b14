"""An HTTP server of one file, which can cut the line, ignore ranges or have nothing."""

from __future__ import annotations

import http.server
import re
import threading
from types import TracebackType


class FileServer:
    """Serves `content` at every path; a context manager. `asked` lists each method and range.

    `cuts` are the numbers of bytes after which answers end early, one for each answer to come.
    """

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.etag: str | None = '"one"'
        self.ranges = True
        self.status: int | None = None
        self.cuts: list[int] = []
        self.asked: list[tuple[str, str | None]] = []
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(False)

            def do_GET(self) -> None:
                self.answer(True)

            def answer(self, whole: bool) -> None:
                wanted = self.headers.get("Range")
                served.asked.append((self.command, wanted))
                if served.status is not None:
                    self.send_error(served.status)
                    return
                start, size = 0, len(served.content)
                match = re.fullmatch(r"bytes=(\d+)-", wanted or "")
                same = self.headers.get("If-Range") in (None, served.etag)
                if match and served.ranges and same:
                    start = int(match[1])
                    if start >= size:
                        self.send_response(416)
                        self.send_header("Content-Range", f"bytes */{size}")
                        self.send_header("Content-Length", "0")
                        self.end_headers()
                        return
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
                else:
                    self.send_response(200)
                if served.etag:
                    self.send_header("ETag", served.etag)
                self.send_header("Content-Length", str(size - start))
                self.end_headers()
                if whole:
                    end = start + served.cuts.pop(0) if served.cuts else size
                    self.wfile.write(served.content[start:end])

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FileServer:
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
