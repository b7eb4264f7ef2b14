"""Hooks: a shell command or a webhook that is given a run's JSON.

A hook is a command that is run, so it must come from whoever runs it, and a cache may be one that others
write. So hooks lie in the user's own configuration and nowhere else: `hooks/ID.json` holds those of the job
with that id; the job's record in the cache only says for which events there are any.

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import config_folder, given_mask
from gravel.pipeline.schedule.job import EVENTS, Event, Job
from gravel.pipeline.store.trusted import check_own_file, make_config_folder
from gravel.stages.addresses import Address, address_of
from gravel.stages.errors import StageError

FORMAT = 1
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


def hooks_file(job: Job) -> Path:
    """Return where the hooks of a job are kept."""
    return config_folder() / "hooks" / f"{job.id}.json"


def save_hooks(job: Job, root: Path, hooks: Mapping[Event, str]) -> None:
    """Keep the hooks of a job of a cache by event; without any, keep nothing."""
    file = hooks_file(job)
    if not hooks:
        file.unlink(missing_ok=True)
        return
    make_config_folder()
    file.parent.mkdir(mode=0o700, exist_ok=True)
    body: dict[str, Any] = {"format": FORMAT, "cache": str(root), "schedule": job.name, "hooks": dict(hooks)}
    unfinished = file.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    unfinished.chmod(0o600)
    unfinished.replace(file)


def load_hooks(job: Job) -> dict[str, str]:
    """Return the hooks of a job by event; raises RequestError for a file that others can write or damaged."""
    file = hooks_file(job)
    if not file.exists():
        return {}
    try:
        body = json.loads(check_own_file(file))
        if body["format"] == FORMAT:
            return {event: str(body["hooks"][event]) for event in EVENTS if event in body["hooks"]}
    except (ValueError, KeyError, TypeError):
        pass
    raise RequestError(f"{file} is not what gravel writes", hint=advice(job))


def missing_hook(job: Job, event: str) -> str:
    """Say why a hook that a job has is not called, and what to do."""
    if event in job.in_cache:
        return f"not called, since it lies in the cache, from which no hook is taken any more; {advice(job)}"
    return f"not called, since it is not in {hooks_file(job)}; {advice(job)}"


def advice(job: Job) -> str:
    """Say how the hooks of a job are set."""
    return f"set it again: gravel schedule hooks {job.name} --on-failure HOOK --on-change HOOK"
