"""What a run's processes let in: nobody without the run's key, and nothing from the working directory."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 120.0

WAIT = """\
def say(folder, name):
    import json, os, pathlib, subprocess, sys

    told = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.flags.safe_path)"], capture_output=True, text=True
    )
    names = ("PYTHONSAFEPATH", "GRAVEL_SET_SAFE_PATH", "NCCL_SOCKET_IFNAME")
    facts = {each: os.environ.get(each) for each in names}
    facts |= {"child": told.stdout.strip(), "socket": __import__("socket").__file__, "path": sys.path}
    pathlib.Path(folder, name).write_text(json.dumps(facts))


def wait(context, parameters, *, input):
    import pathlib, time

    folder = pathlib.Path(parameters.go).parent
    say(folder, "started.json")
    while not pathlib.Path(parameters.go).exists():
        time.sleep(0.05)
    return input
"""


def stage_text(name: str, body: str, more: str = "") -> str:
    """Return a plugin whose stage waits until a file appears; the function of its name is in `body`."""
    return f'''
from gravel.stages.artifacts import Graph
from gravel.stages.stage import Extent, Need, Parameters, Slot, Stage


class WaitParameters(Parameters):
    go: str
    """The file whose appearance ends the wait."""


{body}


def estimate(parameters, inputs, machine):
    graph = inputs["input"][0]
    result = Extent(kind="Graph", vertices=graph.vertices, arcs=graph.arcs, bytes=graph.bytes)
    return Need(host_bytes=1000, device_bytes=0, outputs=(result,))


STAGE = Stage(
    name={name!r}, version=1, about="Waits.", parameters=WaitParameters,
    inputs={{"input": Slot(kinds=("Graph",), about="any graph")}}, outputs=("Graph",),
    run={name}, estimate=estimate, {more}
)
'''


STRAY = """
import importlib, os, sys

with open({mark!r}, "a") as file:
    file.write(f"{{__name__}} in {{sys.orig_argv}}\\n")
sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
del sys.modules[__name__]
sys.modules[__name__] = importlib.import_module(__name__)
"""
"""A module that notes who imports it, and then is the one that was meant."""


def workflow(folder: Path, name: str, text: str) -> Path:
    """Write a workflow that waits for a file `go` in a folder, and the plugin whose stage does."""
    (folder / "waits.py").write_text(text)
    path = folder / "waits.yaml"
    source = {"rmat": {"scale": 6, "edge_factor": 4, "seed": 1}}
    stages = {
        "edges": {"stage": "ingest", "source": source},
        "graph": {"stage": "symmetrize", "input": "edges"},
        "wait": {"stage": name, "input": "graph", "go": str(folder / "go")},
    }
    path.write_text(json.dumps({"workflow": "waits", "plugins": ["waits.py"], "stages": stages}))
    return path


@contextmanager
def waiting_run(command: list[str], path: Path, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Start `gravel run` on two workers and yield it once `started.json` is there; then let it end well."""
    folder = path.parent
    words = ["run", str(path), "--cluster", "local", "--workers", "2", "--backend", "cpu"]
    words += ["--cache", str(folder / "cache")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    run = subprocess.Popen([*command, *words], text=True, **pipes, **how)
    try:
        deadline = time.monotonic() + LIMIT
        while not (folder / "started.json").exists():
            assert run.poll() is None, run.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield run
        (folder / "go").touch()
        said = run.communicate(timeout=LIMIT)[0]
        assert run.returncode == 0, said
    finally:
        (folder / "go").touch()
        with suppress(subprocess.TimeoutExpired):
            run.wait(10)
        run.kill()
        run.communicate()


def processes_of(run: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the process of a run and all that it started."""
    own = psutil.Process(run.pid)
    return [own, *own.children(recursive=True)]


def ports_of(run: subprocess.Popen[str]) -> set[tuple[str, int]]:
    """Return where the processes of a run listen."""
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in processes_of(run)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def as_dask(host: str, port: int, protocol: str) -> str:
    """Ask for a Dask server's identity as a client without a certificate of the run; returns the answer."""
    import asyncio

    from distributed.core import connect
    from distributed.security import Security

    security = Security.temporary() if protocol == "tls" else Security()

    async def ask() -> str:
        arguments = security.get_connection_args("client")
        comm = await connect(f"{protocol}://{host}:{port}", timeout=3, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            return str(await asyncio.wait_for(comm.read(), 3))
        finally:
            comm.abort()

    try:
        return asyncio.run(asyncio.wait_for(ask(), 8))
    except Exception:  # whatever Dask makes of what is no Dask
        return ""


def as_browser(host: str, port: int) -> str:
    """Return the first line with which HTTP is answered, nothing if it is not."""
    connection = http.client.HTTPConnection(host, port, timeout=3)
    try:
        connection.request("GET", "/metrics")
        return str(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def without_certificate(host: str, port: int) -> bytes:
    """Speak TLS without a certificate of one's own and return what is answered to a few bytes."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=3) as plain,
            context.wrap_socket(plain) as encrypted,
        ):
            encrypted.sendall(b"\0" * 64)
            return encrypted.recv(64)
    except OSError:
        return b""


@dataclass(frozen=True)
class Seen:
    """What was found while a run was at work."""

    folder: Path
    here: Path
    ports: set[tuple[str, int]]
    answers: dict[str, str]
    shown: str
    scratch_mode: int
    facts: dict[str, Any]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Start a run in a folder of modules that nobody asked for, and try everything while it waits."""
    folder = tmp_path_factory.mktemp("closed")
    here = folder / "here"
    here.mkdir()
    for name in ("socket", "signal", "numpy", "zarr", "numba", "distributed", "stages", "selectors"):
        (here / f"{name}.py").write_text(STRAY.format(mark=str(folder / "mark")))
    # As the installed command: a script in a folder of its own, run by a Python without a safe path.
    script = folder / "bin" / "gravel"
    script.parent.mkdir()
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom gravel.pipeline.cli import main\n"
        'if __name__ == "__main__":\n    main()\n'
    )
    plain = {name: text for name, text in os.environ.items() if not name.startswith(("GRAVEL_", "PYTHON"))}
    path = workflow(folder, "wait", stage_text("wait", WAIT))
    with waiting_run([sys.executable, str(script)], path, cwd=here, env=plain) as run:
        ports = ports_of(run)
        answers = {}
        for host, port in ports:
            answers[f"tcp {port}"] = as_dask(host, port, "tcp")
            answers[f"another key {port}"] = as_dask(host, port, "tls")
            answers[f"no certificate {port}"] = without_certificate(host, port).hex()
            answers[f"HTTP {port}"] = as_browser(host, port)
        processes = processes_of(run)
        shown = " ".join(word for each in processes for word in [*each.cmdline(), *each.environ().values()])
        (scratch,) = (folder / "cache" / "scratch").iterdir()
        mode = scratch.stat().st_mode & 0o777
        facts = json.loads((folder / "started.json").read_text())
    return Seen(folder, here, ports, answers, shown, mode, facts)


def test_workers_and_scheduler_answer_nobody_without_the_key(seen: Seen) -> None:
    assert {host for host, _ in seen.ports} == {"127.0.0.1"}
    assert not {name: answer[:80] for name, answer in seen.answers.items() if answer}


def test_only_the_scheduler_nannies_and_workers_listen(seen: Seen) -> None:
    assert len(seen.ports) == 5, seen.ports


def test_the_key_is_in_no_command_line_environment_or_file(seen: Seen) -> None:
    assert "PRIVATE KEY" not in seen.shown
    for path in seen.folder.rglob("*"):
        assert not path.is_file() or b"PRIVATE KEY" not in path.read_bytes(), path


def test_the_scratch_of_a_run_is_closed_to_others(seen: Seen) -> None:
    assert oct(seen.scratch_mode) == "0o700"


def test_nothing_in_the_working_directory_is_imported(seen: Seen) -> None:
    mark = seen.folder / "mark"
    assert not mark.exists(), mark.read_text()
    assert str(seen.here) not in seen.facts["path"]
    assert str(ROOT) in seen.facts["path"]


def test_programs_that_a_stage_starts_do_not_inherit_the_safe_path(seen: Seen) -> None:
    assert seen.facts["PYTHONSAFEPATH"] is None
    assert seen.facts["GRAVEL_SET_SAFE_PATH"] is None
    assert seen.facts["child"] == "False"


def test_nccl_stays_on_the_machine(seen: Seen) -> None:
    assert seen.facts["NCCL_SOCKET_IFNAME"] == "=lo"
