"""Hooks: a shell command or a webhook that is given a run's JSON when the run has ended.

The JSON is `{"event": "failure" | "change" | "success", "run": {...} | null, "problem": TEXT | null,
"schedule": NAME | null, "claim": {...} | null}`: `run` is the run's `run.json` (null if it made none) and
`problem` what went wrong; the last two are null but for a run of `gravel schedule`. A command gets it on its
standard input, a webhook as the body of a POST; in its URL `${env:NAME}` stands for an environment variable.

What becomes of a hook never changes what becomes of the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal, get_args

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import given_mask
from gravel.pipeline.records.past_runs import runs_of
from gravel.stages.addresses import Address, address_of
from gravel.stages.errors import StageError
from gravel.stages.urls import REFERENCE, hidden_in_text, is_url

Event = Literal["failure", "change", "success"]
EVENTS: tuple[Event, ...] = get_args(Event)
LIMIT = 60.0
"""Seconds that a command has."""
WEB_LIMIT = 20.0
"""Seconds that a server has to answer."""
PAUSES = (1.0, 4.0)
"""Seconds before a webhook is tried again whose server could not be reached or was overloaded."""


def check_hooks(given: Mapping[str, str | None]) -> dict[Event, str]:
    """Return the hooks of the options `on_failure` and so on, by event; raises RequestError."""
    hooks = {event: given[f"on_{event}"] for event in EVENTS}
    return {event: check_hook(hook, f"--on-{event}") for event, hook in hooks.items() if hook is not None}


def check_hook(target: str, option: str) -> str:
    """Return a hook if it is a command or an http(s) URL; raises RequestError."""
    from urllib.parse import urlsplit

    if not target.strip():
        raise RequestError(f"{option} is empty", hint="give a shell command or an http(s) URL")
    check_secrets(target, option, command=not is_url(target))
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", target):
        try:
            parts = urlsplit(REFERENCE.sub("x", target))
            whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            whole = False
        if not whole:
            raise RequestError(
                f"{option} {target!r} is no address that can be called",
                hint="webhooks are http:// or https:// with a host; anything else is a shell command",
            )
    return target


def check_secrets(text: str, option: str, *, command: bool = False) -> None:
    """Refuse a text with a URL whose password or query is written out, since others may read it.

    `command` says that a shell reads it, which has variables of its own.
    """
    named = re.sub(r"\$(\w+|\{\w+\})", "${env:SHELL}", text) if command else text
    if hidden_in_text(named) != named:
        raise RequestError(
            f"{option} has a URL with a password, a signature or other values of a query in it: "
            f"{hidden_in_text(text)}",
            hint=f"write {'$NAME' if command else '${env:NAME}'} for each, and set that environment variable "
            "where gravel is started",
        )


def shown_hook(target: str) -> str:
    """Write a hook so that it can be shown: the path and the query of a webhook are often its password."""
    from urllib.parse import urlsplit

    if not target.startswith(("http://", "https://")):
        return hidden_in_text(target)
    parts = urlsplit(target)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}/..."


def results_of(record: Mapping[str, Any]) -> str:
    """Return a digest of what a run made: equal exactly if every stage run has equal results."""
    made = {stage["key"]: stage["outputs"] for stage in record["stages"]}
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def failure_of(record: Mapping[str, Any]) -> str | None:
    """Return what a record says went wrong."""
    failed = (f"{stage['key']}: {stage['error']}" for stage in record["stages"] if stage["state"] == "failed")
    return next(failed, record.get("problem") or None)


@contextmanager
def run_hooks(
    hooks: Mapping[Event, str], root: Path, file: Path, say: Callable[[str], None]
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Call the hooks of a run of `file` when the block has ended; gives what takes the run's record.

    A block that raises is a failure, and an interrupted run is no event. `say` gets a line for each that
    could not be called.
    """
    done = (each for each in runs_of(root, file) if each["state"] == "done") if "change" in hooks else ()
    before = next(map(results_of, done), None)
    record: dict[str, Any] = {}
    events: tuple[Event, ...] = ()
    problem = None
    try:
        yield record.update
        if record.get("state") == "failed":
            events, problem = ("failure",), failure_of(record)
        elif record.get("state") == "done":
            events = ("change", "success") if results_of(record) != before else ("success",)
    except Exception as error:
        events, problem = ("failure",), hidden_in_text(str(error))
        raise
    finally:
        whole = {"run": record or None, "problem": problem, "schedule": None, "claim": None}
        for event in events:
            if event in hooks:
                went_wrong = call(hooks[event], {"event": event, **whole}, file.parent)
                if went_wrong is not None:
                    say(f"{event} hook {shown_hook(hooks[event])}: {went_wrong}")


def call(
    target: str,
    payload: Mapping[str, Any],
    folder: Path,
    *,
    limit: float = LIMIT,
    pauses: Sequence[float] = PAUSES,
) -> str | None:
    """Call a hook; returns what went wrong, or None. A command starts in `folder` if that is there."""
    body = json.dumps(payload).encode()
    try:
        if target.startswith(("http://", "https://")):
            return _post(address_of(target), body, pauses)
        return _command(target, body, folder, limit)
    except StageError as error:
        return error.message
    except (OSError, GravelError) as error:
        return str(error)
    except KeyboardInterrupt:
        return "it was interrupted"


def _command(target: str, body: bytes, folder: Path, limit: float) -> str | None:
    # Files, not pipes: a hook need not read, and what it leaves in the background holds up nobody.
    with TemporaryFile() as given, TemporaryFile() as output:
        given.write(body)
        given.seek(0)
        child = subprocess.Popen(
            ["/bin/sh", "-c", target],
            stdin=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder if folder.is_dir() else "/",
            start_new_session=True,
            umask=given_mask(),
        )
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            return f"it took longer than {limit:.0f} s and was stopped"
        finally:
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child.returncode == 0:
            return None
        output.seek(0)
        words = " ".join(output.read().decode(errors="replace").split())[-300:]
        return f"it ended with {child.returncode}" + (f": {words}" if words else "")


def _post(address: Address, body: bytes, pauses: Sequence[float]) -> str | None:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json", "User-Agent": "gravel"}
    if address.authorization is not None:
        headers["Authorization"] = address.authorization
    problem = None
    for pause in (0.0, *pauses):
        time.sleep(pause)
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
    return problem
