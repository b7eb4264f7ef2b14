"""What another user of the machine gets of a run at work: every port, socket and file, tried as `nobody`.

    sudo -E python -m pytest -m slow -s tests/drills/test_other_user.py

Root is needed to become that user, and to see everything that the run has opened. A table is printed. The
same is tried on a scheduler and a file that are open to everybody, which must succeed.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.drills.gravel import LIMIT, PROGRAM, environment, session
from tests.pipeline.workers.test_workers import stage_text, waiting_run, workflow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]

ROOT = Path(__file__).resolve().parents[2]

TOGETHER = """\
def rank(context, item):
    import pathlib, time

    if context.rank == 1:
        # The rendezvous listens as long as a rank is missing: this one is the first to be there.
        pathlib.Path(item).with_name("started.json").touch()
    while not pathlib.Path(item).exists():
        context.barrier()
        time.sleep(0.05)
    return context.all_gather(context.rank)


def together(context, parameters, *, input):
    context.rank_group(rank, [parameters.go] * 2)
    return input


def two(parameters):
    return 2
"""

OTHER = r'''
"""Tries, as whoever runs it, what it reads as JSON on its standard input; prints what it got."""

import asyncio, hmac, http.client, json, os, signal, socket, ssl, sys
from multiprocessing.connection import Connection, answer_challenge

import distributed  # from a folder that the other user may not look into

def too_long(number, frame):
    raise TimeoutError


signal.signal(signal.SIGALRM, too_long)
wanted = json.load(sys.stdin)
security_of_its_own = distributed.Security.temporary()
os.setgroups([])
os.setgid(wanted["group"])
os.setuid(wanted["user"])


def dask(port, protocol):
    from distributed.core import connect

    security = security_of_its_own if protocol == "tls" else distributed.Security()

    async def ask():
        arguments = security.get_connection_args("client")
        comm = await connect(f"{protocol}://127.0.0.1:{port}", timeout=3, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            return str(await asyncio.wait_for(comm.read(), 3))
        finally:
            comm.abort()

    return asyncio.run(ask())


def unverified(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=3) as plain:
        with context.wrap_socket(plain) as coded:
            coded.sendall(b"\0" * 64)
            return coded.recv(64)


def browser(port):
    found = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    found.request("GET", "/info/main/workers.html")
    return found.getresponse().read(200)


def rank(port):
    with socket.create_connection(("127.0.0.1", port), timeout=3) as plain:
        plain.settimeout(3)
        if not plain.recv(4, socket.MSG_PEEK):
            return b""
        plain.settimeout(None)
        connection = Connection(os.dup(plain.fileno()))
        if not connection.poll(3):
            return b""
        answer_challenge(connection, b"guess")
        return connection.recv_bytes()


def silence(port):
    """What is told to somebody who says nothing; a challenge is no answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as plain:
        got = plain.recv(200)
        return b"" if b"#CHALLENGE#" in got else got


TRIES = {
    "Dask, plain": lambda port: dask(port, "tcp"),
    "Dask, TLS with a key of its own": lambda port: dask(port, "tls"),
    "TLS without a certificate": unverified,
    "HTTP": browser,
    "a rank's handshake": rank,
    "nothing said": silence,
}
got = []
for port in wanted["ports"]:
    for name, attempt in TRIES.items():
        signal.alarm(10)
        try:
            answer, why = attempt(port), "no answer"
        except Exception as error:
            answer, why = "", type(error).__name__
        finally:
            signal.alarm(0)
        got.append([f"port {port}", name, str(answer)[:60] if answer else "", why])
for path in wanted["sockets"]:
    name = "\0" + path[1:] if path.startswith("@") else path
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(name)
            answer, why = "connected", ""
    except OSError as error:
        answer, why = "", type(error).__name__
    got.append([f"socket {path}", "connect", answer, why])
for path in wanted["files"]:
    for verb, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY)):
        try:
            os.close(os.open(path, flags))
            answer, why = verb, ""
        except OSError as error:
            answer, why = "", type(error).__name__
        got.append([path, verb, answer, why])
for process in wanted["processes"]:
    for name in ("environ", "mem", "cmdline"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                answer, why = ("PRIVATE KEY" if b"PRIVATE KEY" in file.read(1 << 20) else ""), "no key in it"
        except OSError as error:
            answer, why = "", type(error).__name__
        got.append([f"/proc/{process}/{name}", "read", answer, why])
json.dump({"user": os.getuid(), "got": got}, sys.stdout)
'''


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a run whose two ranks work together until the test ends, in a folder open to others."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # so that nothing but gravel's own modes keeps others out
    path = workflow(tmp_path, "together", stage_text("together", TOGETHER, "ranks=two"))
    with waiting_run(PROGRAM, path, cwd=ROOT, start_new_session=True, env=environment()) as run:
        yield run, tmp_path / "cache"


def opened(processes: list[psutil.Process], cache: Path) -> dict[str, Any]:
    """Return the ports, the named sockets and the files of processes, and all that is in the cache."""
    ports, sockets = set[int](), set[str]()
    files = {str(path) for path in cache.rglob("*") if path.is_file()}
    for process in processes:
        for found in process.net_connections("all"):
            if isinstance(found.laddr, str):
                sockets |= {found.laddr} if found.laddr else set()
            elif found.status in (psutil.CONN_LISTEN, psutil.CONN_NONE):
                ports.add(found.laddr.port)
        files |= {each.path for each in process.open_files() if not each.path.startswith("/dev/null")}
        files |= {
            entry.path
            for entry in process.memory_maps()
            if entry.path.startswith(("/dev/shm", "/tmp", str(cache)))
        }
    installed = (sys.prefix, sys.base_prefix, "/usr", "/lib", str(ROOT))
    return {
        "ports": sorted(ports),
        "sockets": sorted(sockets),
        "files": sorted(path for path in files if not path.startswith(installed) and Path(path).exists()),
        "processes": [process.pid for process in processes],
    }


def tried(wanted: dict[str, Any]) -> list[list[str]]:
    """Try all that as another user; returns rows of what, how, what came of it, and why nothing did."""
    other = pwd.getpwnam("nobody")
    done = subprocess.run(
        [sys.executable, "-P", "-c", OTHER],
        input=json.dumps({**wanted, "user": other.pw_uid, "group": other.pw_gid}),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["user"] == other.pw_uid
    table: list[list[str]] = answer["got"]
    return table


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that everybody may enter, which those of pytest are not while another session begins."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_another_user_gets_nothing(at_work: tuple[subprocess.Popen[str], Path]) -> None:
    run, cache = at_work
    wanted = opened(session(run.pid), cache)
    assert len(wanted["ports"]) >= 5
    table = tried(wanted)
    print(f"\nwhat another user gets of a run with {len(wanted['processes'])} processes:")
    for what, how, got, why in table:
        print(f"{what:60.60} {how:32} {got or 'nothing'} {f'({why})' if why else ''}")
    assert not [row for row in table if row[2]]


def test_what_is_open_to_everybody_is_got_by_the_same_means(everybodys: Path) -> None:
    from distributed import LocalCluster

    file = everybodys / "open"
    file.touch()
    file.chmod(0o644)  # whatever the mask of this process
    options: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "protocol": "tcp", "n_workers": 0}
    with LocalCluster(processes=False, **options) as cluster:
        scheduler = cluster.scheduler
        ports = {"Dask, plain": scheduler.port, "HTTP": scheduler.http_server.port}
        own = [psutil.Process().pid]
        wanted = {"ports": list(ports.values()), "sockets": [], "files": [str(file)], "processes": own}
        got = {(what, how) for what, how, answer, _ in tried(wanted) if answer}
    assert {(f"port {port}", how) for how, port in ports.items()} | {(str(file), "read")} <= got
