"""Processes that are forked from one that has loaded Numba, which takes longer than most of them run.

`run` stands for `subprocess.run([sys.executable, *words], ...)`: the process has the folder, environment and
output that it is given, and nothing of gravel or of these tests. What is told by the modules that a process
loads, or by its memory, is for `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

LIMIT = 200.0
"""Seconds after which a process counts as hung."""

_LOCK = threading.Lock()


def run(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], umask: int = 0o022
) -> subprocess.CompletedProcess[str]:
    """Run `python WORDS`, with `-c` or `-m`; its exit code and output."""
    if any(_read_at_start(name) and os.environ.get(name) != value for name, value in env.items()):
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=cwd, env=env, umask=umask, capture_output=True, text=True, timeout=LIMIT
        )
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error, _asked() as asked:
        what = {"words": list(words), "cwd": str(cwd), "env": dict(env), "umask": umask}
        socket.send_fds(asked, [json.dumps(what).encode()], [out.fileno(), error.fileno()])
        asked.shutdown(socket.SHUT_WR)
        with asked.makefile() as answers:
            process = int(answers.readline())
            try:
                code = int(answers.readline())
            except TimeoutError:
                os.killpg(process, signal.SIGKILL)
                raise
        out.seek(0)
        error.seek(0)
        return subprocess.CompletedProcess([sys.executable, *words], code, out.read(), error.read())


def _read_at_start(name: str) -> bool:
    """Whether Python, its loader, or Numba reads a variable before a fork could set it."""
    others = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}  # which the fork heeds
    return name.startswith(("NUMBA_", "LD_", "OMP_", "PYTHON")) and name not in others


def _asked() -> socket.socket:
    """Ask for a fork; the socket that what is forked answers on."""
    mine, theirs = socket.socketpair()
    mine.settimeout(LIMIT)
    with theirs, _LOCK:
        socket.send_fds(_server(), [b"1"], [theirs.fileno()])
    return mine


@cache
def _server() -> socket.socket:
    """Start what forks, once for this process, with which it ends; where it takes sockets."""
    mine, theirs = socket.socketpair()
    start = f"import runpy; runpy.run_path({__file__!r})['serve']({theirs.fileno()})"
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", start],
            cwd="/",
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        mine.close()
        server.wait()

    atexit.register(end)
    return mine


def serve(number: int) -> None:
    """Fork for each socket that comes, until the end of the process that sends them."""
    found = sys.path[1:]
    _load()
    asking = socket.socket(fileno=number)
    # What has ended goes at once: tests list the processes below them, and cannot read one that waits for it.
    # Its processor time is counted by waiting for it.
    signal.signal(signal.SIGCHLD, lambda *_: _wait_for_what_ended())
    while sockets := socket.recv_fds(asking, 1, 1)[1]:
        asked = socket.socket(fileno=sockets[0])
        if os.fork() == 0:
            asking.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer(asked, found)
        asked.close()


def _wait_for_what_ended() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _load() -> None:
    """Load what most processes of tests load, and let Numba compile something."""
    import numba
    import numpy

    for name in ("click", "jinja2", "pydantic", "ruamel.yaml"):
        with contextlib.suppress(ModuleNotFoundError):  # it is where PYTHONPATH of the fork says
            importlib.import_module(name)
    numba.njit(lambda values: values.sum())(numpy.arange(3))


def _answer(asked: socket.socket, found: list[str]) -> None:
    """Tell the number of the process that does what was asked for, and how it ended."""
    text, numbers, _, _ = socket.recv_fds(asked, 1 << 20, 2)
    while more := asked.recv(1 << 20):
        text += more
    process = os.fork()
    if process == 0:
        asked.close()
        os.setpgid(0, 0)
        _become(json.loads(text), numbers, found)
    asked.sendall(f"{process}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    asked.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(what: dict[str, Any], numbers: list[int], found: list[str]) -> None:
    """Be what Python would be with these words, and end as it ends."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, number in enumerate(numbers, 1):
        os.dup2(number, place)
        os.close(number)
    os.umask(what["umask"])
    os.chdir(what["cwd"])
    os.environ.clear()
    os.environ.update(what["env"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    kind, text, *arguments = what["words"]
    sys.argv = [kind, *arguments]
    sys.path[:] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *found]
    sys.path_importer_cache.clear()
    os._exit(_ended(kind, text))


def _ended(kind: str, text: str) -> int:
    code = 0
    try:
        try:
            if kind == "-m":
                sys.path[0] = str(Path.cwd())
                runpy.run_module(text, run_name="__main__", alter_sys=True)
            else:
                main = sys.modules["__main__"]
                main.__dict__.clear()
                main.__dict__.update(__name__="__main__", __builtins__=__builtins__, __spec__=None)
                exec(compile(text, "<string>", "exec"), main.__dict__)
        finally:
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code
