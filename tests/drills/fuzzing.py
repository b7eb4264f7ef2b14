"""Mutations of texts, of JSON values and of what a server answers."""

from __future__ import annotations

import json
import random
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

TOKENS = [
    b"-1", b"0", b"99999999999999999999", b"9223372036854775807", b"1e9", b"nan", b"0x10", b"1.5", b"+3",
    b"\0", b"\n", b"\r\n", b"\t", b" ", b",", b";", b"%", b"#", b"c ", b"p ", b'"', b"'", b"\xff\xfe",
    b"\xef\xbb\xbf", b"%%MatrixMarket matrix coordinate real general\n", b"\xe2\x80\xa8", b"a", b"e",
    b"1 2 3 4 5 6 7 8\n",
]  # fmt: skip

YAML_TOKENS = [
    b": ", b":", b"- ", b"\n", b"\n  ", b"{", b"}", b"[", b"]", b", ", b"'", b'"', b"|", b">", b"#", b"?",
    b"\t", b"&a ", b"*a", b"!!int ", b"!x", b"<<: *a", b"---\n", b"...\n", b"%YAML 1.1\n", b"~", b"-1",
    b"1e999", b".nan", b"${order}", b"${", b"$${", b"${a}", b"\xc3\xa9", b"\xe2\x80\xa8", b"@", b"`", b"\\",
    b"true", b"null", b"stage: ", b"input: ", b"matrix: ", b"include: ", b"parameters: ", b"about: ",
    b"keep: ", b"over: ",
]  # fmt: skip

ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, 2**200, 0.5, 1e308, -1e-308, "", "x", "../../../etc", "/dev/null",
    "a\0b", [], {}, [[]], [None], [0] * 50, {"a": {"b": []}}, "é" * 300, "\ud800", "2026-13-45T99:00:00Z",
    "<script>",
]  # fmt: skip


def mutate(dice: random.Random, data: bytes, tokens: list[bytes] = TOKENS) -> bytes:
    """Edit a text in one to four places, of bytes or of whole lines."""
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        at = dice.randrange(len(data) + 1)
        lines = data.split(b"\n")
        kind = dice.randrange(9)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + dice.randbytes(dice.choice([1, 1, 8])) + data[at + 1 :]
        elif kind in (2, 3):
            data = data[:at] + dice.choice(tokens) + data[at:]
        elif kind == 4:
            data = data[:at] + data[at + dice.randrange(1, 9) :]
        elif kind == 5:
            lines.insert(dice.randrange(len(lines) + 1), dice.choice(lines))
            data = b"\n".join(lines)
        elif kind == 6:
            del lines[dice.randrange(len(lines))]
            data = b"\n".join(lines)
        elif kind == 7:
            one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            data = b"\n".join(lines)
        else:
            data = data[:at] + data[:at][-dice.randrange(1, 200) :] + data[at:]
    return data


def mutate_json(dice: random.Random, value: Any) -> Any:
    """Return the value with one to three of its parts replaced, removed or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(dice.choice([1, 1, 2, 3])):
        holder: Any = {"root": value}
        key: Any = "root"
        while isinstance(holder[key], dict | list) and holder[key] and dice.random() < 0.8:
            holder = holder[key]
            key = dice.choice(sorted(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
        way = dice.random()
        if isinstance(holder, dict) and way < 0.2 and "root" not in holder:
            del holder[key]
        elif isinstance(holder, list) and way < 0.2:
            holder.append(holder[key])
        else:
            holder[key] = deepcopy(dice.choice(ODD))  # which the next change may enter
            if "root" in holder:
                value = holder["root"]
    return value


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


HEADERS = {
    "ETag": ['"one"', 'W/"one"', "one", '""', '"', "x" * 5000, '"a\tb"', "\xe9"],
    "Last-Modified": ["Wed, 25 Nov 2026 01:00:00 GMT", "never", "0", "", "Wed, 99 Nov 2026 99:99:99 GMT"],
    "Content-Length": ["SIZE", "SIZE", "SIZE", "0", "-1", "999999999999", "abc", "", "5"],
    "Content-Type": ["text/plain", "text/html; charset=nonsense", "\x01"],
    "Content-Encoding": ["identity", "gzip", "br", "nonsense"],
    "Transfer-Encoding": ["chunked", "gzip", "nonsense"],
    "Content-Range": ["bytes 0-5/6", "bytes 9-1/0", "nonsense"],
    "Location": ["/elsewhere", "http://127.0.0.1:1/", "file:///etc/passwd", "ftp://x", "::", "http://[bad"],
    "Accept-Ranges": ["bytes", "none"],
    "Retry-After": ["0", "-5", "tomorrow"],
    "Set-Cookie": ["a=b"],
}
STATUSES = [b"200 OK"] * 12 + [b"206 Partial Content", b"204 No Content", b"301 Moved", b"302 Found"]
STATUSES += [b"404 Not Found", b"416 Range", b"500 Broken", b"503 Later", b"999 Odd", b"abc", b"200"]


class Answers:
    """A server that answers one odd answer to every request, until it is given another."""

    def __init__(self) -> None:
        self.answer = b""

    def choose(self, dice: random.Random, body: bytes) -> None:
        body = body if dice.random() < 0.7 else mutate(dice, body)
        head = [b"HTTP/1.1 " + dice.choice(STATUSES)]
        names = dice.sample(sorted(HEADERS), dice.randrange(5))
        for name in {*names, *(["Content-Length"] if dice.random() < 0.8 else [])}:
            value = dice.choice(HEADERS[name]).replace("SIZE", str(len(body)))
            head.append(f"{name}: {value}".encode("latin-1"))
        if dice.random() < 0.1:
            head.append(dice.choice([b"no colon", b": empty", b"\xff\xff: x", b"X: " + b"y" * 70_000]))
        whole = b"\r\n".join(head) + b"\r\n\r\n" + body
        self.answer = whole if dice.random() < 0.9 else whole[: dice.randrange(len(whole))]


@contextmanager
def odd_server() -> Iterator[tuple[Answers, str]]:
    """Run a server of `Answers`; yields it with its address."""
    answers = Answers()

    class Handler(socketserver.StreamRequestHandler):
        timeout = 5.0

        def handle(self) -> None:
            head = False
            while (line := self.rfile.readline(65_536)).strip():
                head = head or line.startswith(b"HEAD")
            answer = answers.answer
            self.wfile.write(answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if head else answer)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield answers, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
