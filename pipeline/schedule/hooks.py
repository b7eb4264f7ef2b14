"""Hooks: a shell command or a webhook that is given a run's JSON.

The JSON is `{"event": "failure" | "change", "schedule": NAME, "claim": {...}, "run": {...} | null}`, where
`claim` is as in `gravel.pipeline.schedule.job_store` and `run` is the run's `run.json` (null if it made
none). A command gets it on its standard input, a webhook as the body of a POST; in its URL `${env:NAME}`
stands for an environment variable. A hook is called at least once: again, if
the supervisor dies while it is called.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gravel.pipeline.core.file_modes import given_mask
from gravel.stages.addresses import Address, address_of
from gravel.stages.errors import StageError

LIMIT = 60.0
"""Seconds that a command has."""
WEB_LIMIT = 20.0
"""Seconds that a server has to answer."""
PAUSES = (1.0, 4.0)
"""Seconds before a webhook is tried again whose server could not be reached or was overloaded."""


def call(
    target: str,
    payload: dict[str, Any],
    folder: Path,
    *,
    limit: float = LIMIT,
    pauses: Sequence[float] = PAUSES,
) -> str | None:
    """Call a hook; returns what went wrong, or None. A command starts in `folder` if that is there."""
    body = json.dumps(payload).encode()
    if target.startswith(("http://", "https://")):
        try:
            return _post(address_of(target), body, pauses)
        except StageError as error:
            return error.message
    return _command(target, body, folder, limit)


def _command(target: str, body: bytes, folder: Path, limit: float) -> str | None:
    child = subprocess.Popen(
        ["/bin/sh", "-c", target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder if folder.is_dir() else "/",
        start_new_session=True,
        umask=given_mask(),
    )
    try:
        output = child.communicate(body, timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return f"it took longer than {limit:.0f} s and was stopped"
    if child.returncode == 0:
        return None
    words = " ".join(output.decode(errors="replace").split())[-300:]
    return f"it ended with {child.returncode}" + (f": {words}" if words else "")


def _post(address: Address, body: bytes, pauses: Sequence[float]) -> str | None:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json", "User-Agent": "gravel"}
    if address.authorization is not None:
        headers["Authorization"] = address.authorization
    problem = None
    for pause in (*pauses, None):
        try:
            with urlopen(Request(address.url, body, headers, method="POST"), timeout=WEB_LIMIT):
                return None
        except HTTPError as error:
            error.close()
            problem = address.without_secrets(f"it answered {error.code} {error.reason}")
            if error.code < 500 and error.code != 429:
                return problem
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "reason", None) or error)
            problem = f"it cannot be reached: {address.without_secrets(reason)}"
        if pause is not None:
            time.sleep(pause)
    return problem
