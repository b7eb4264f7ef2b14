"""The pages of runs served on loopback, each made anew whenever its run has gone on.

Addresses are those of the runs folder below a random token, so that the links of a page lead on:
`/TOKEN/RUN/report.html`, its logs and `report.json`; `/TOKEN/` lists the runs. Without the token, which only
whoever started the server was given, nothing is answered: others of this machine reach the port too. Only the
machine's own name is answered, so that no web page can read reports by a name that it lets point here.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote, urlsplit

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.records.past_runs import read_run, run_folders
from gravel.pipeline.report.links import counts_of
from gravel.pipeline.report.page import page_text, report_artifacts
from gravel.pipeline.report.policy import served_headers
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import EVENT_LOG, LOGS, PAGE, PAGE_DATA, RUN_RECORD, RUNS, run_path
from gravel.pipeline.store.opening import MAX_LOG_BYTES, read_file, stated

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")

MAX_LISTED = 100
"""Runs in the list; their records are read whole."""

Answer = tuple[HTTPStatus, str, bytes]
MISSING: Answer = (HTTPStatus.NOT_FOUND, "text/plain", b"there is no such page\n")
HTML, JSON = "text/html; charset=utf-8", "application/json"


class Pages:
    """Makes pages from records and the cache, and keeps the last version of each."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._made: dict[str, tuple[str, bytes]] = {}

    def version(self, folder: Path) -> str:
        """Return a word that changes when a run goes on or is found dead, or when another run begins."""
        record = read_run(folder)
        try:
            files = (file for file in (folder / RUN_RECORD, folder / EVENT_LOG) if file.exists())
            written = max(file.stat().st_mtime_ns for file in files)
            return f"{written:x}-{folder.parent.stat().st_mtime_ns:x}-{record['state'] if record else ''}"
        except OSError:
            return "gone"

    def page(self, folder: Path) -> bytes | None:
        """Return the page of a run, None if it has no record."""
        with self._lock:
            version = self.version(folder)
            made = self._made.get(folder.name)
            if made is not None and made[0] == version:
                return made[1]
            record = read_run(folder)
            if record is None:
                return None
            try:
                reports = report_artifacts(record, self._cache)
            except (DamagedArtifact, RequestError):
                reports = []  # a cache that was cleaned or damaged since: what the record says is still true
            page = page_text(folder, record, reports, self._cache, live=version).encode()
            self._made[folder.name] = (version, page)
            return page

    def answer(self, path: str) -> Answer:
        """Answer a request for a path."""
        parts = [unquote(part) for part in path.split("/") if part]
        if not parts:
            return HTTPStatus.OK, HTML, self._list()
        if any(part in (".", "..") or "/" in part or "\\" in part or "\0" in part for part in parts):
            return MISSING
        run, *rest = parts
        folder = self._cache.root / RUNS / run
        if stated(self._cache.root, run_path(run, RUN_RECORD)) is None:
            return MISSING
        if rest == ["version"]:
            return HTTPStatus.OK, "text/plain", self.version(folder).encode()
        if rest == [PAGE]:
            page = self.page(folder)
            return MISSING if page is None else (HTTPStatus.OK, HTML, page)
        if rest == [RUN_RECORD]:
            record = read_run(folder)
            return MISSING if record is None else (HTTPStatus.OK, JSON, json.dumps(record).encode())
        if rest == [PAGE_DATA] or (len(rest) == 2 and rest[0] == LOGS):
            form = JSON if len(rest) == 1 else "text/plain; charset=utf-8"
            with suppress(OSError, RequestError):
                return HTTPStatus.OK, form, read_file(self._cache.root, run_path(*parts), MAX_LOG_BYTES)
        return MISSING

    def _list(self) -> bytes:
        lines = [
            f'<li><a href="{quote(folder.name)}/{PAGE}">{escape(folder.name)}</a> '
            f"{escape(record['state'])}: {escape(counts_of(record))}</li>"
            for folder in run_folders(self._cache.root)[:MAX_LISTED]
            if (record := read_run(folder)) is not None
        ]
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Runs</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<style>:root{color-scheme:light dark}body{font:15px/1.6 system-ui,sans-serif;max-width:60rem;"
            f"margin:1.5rem auto;padding:0 1rem}}</style><h1>Runs</h1><ul>{''.join(lines)}</ul></html>"
        ).encode()


class ReportServer(ThreadingHTTPServer):
    """Serves pages to whoever has the token; `address` is where the list of runs is, with the token."""

    daemon_threads = True
    token = ""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say in a line what could not be answered; that a browser went elsewhere is not said."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"a page could not be served: {type(error).__name__}: {error}", file=sys.stderr)

    @property
    def address(self) -> str:
        """Return the address below which everything is."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}"


def report_server(cache: Cache, port: int = 0) -> ReportServer:
    """Return a server of the reports of a cache's runs, bound to loopback; port 0 takes a free one.

    Raises RequestError if the port is taken.
    """
    pages = Pages(cache)
    token = secrets.token_urlsafe(24)

    class Handler(BaseHTTPRequestHandler):
        server_version = "gravel"
        sys_version = ""

        def do_GET(self) -> None:
            host = self.headers.get("Host", "")
            try:
                given, slash, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
            except ValueError:  # http://[::1/
                given, slash, rest = "", "", ""
            if (host.rpartition(":")[0] or host) not in NAMES:
                status, form, body = HTTPStatus.FORBIDDEN, "text/plain", b"ask by the name 127.0.0.1\n"
            elif not secrets.compare_digest(given.encode("utf-8", "replace"), token.encode()):
                refusal = b"ask by the address that gravel report --watch has printed\n"
                status, form, body = HTTPStatus.FORBIDDEN, "text/plain", refusal
            else:
                status, form, body = pages.answer(rest) if slash else MISSING
            try:
                self.send_response(status)
                self.send_header("Content-Type", form)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                for header, value in served_headers().items():
                    self.send_header(header, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the browser went elsewhere

        do_HEAD = do_GET  # noqa: N815 (so the standard library calls it)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    try:
        server = ReportServer((LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        problem = f"port {port} of {LOOPBACK} cannot be served: {error}"
        raise RequestError(problem, hint="choose another with --port") from None
    server.token = token
    return server


@contextmanager
def redirect_file(address: str) -> Iterator[Path]:
    """Write a file that leads a browser to an address, and that others cannot read.

    An address in a browser's command line could be read by everybody on the machine.
    """
    with TemporaryDirectory(prefix="gravel-report-") as folder:
        page = Path(folder) / PAGE
        page.write_text(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={escape(address)}"><title>Report</title>'
        )
        yield page
