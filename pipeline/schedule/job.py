"""A scheduled job, as `gravel schedule add` was given it."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import field
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.schedule.record import Record
from gravel.pipeline.schedule.times import Times, times_of
from gravel.stages.urls import REFERENCE, hidden_in_text, is_url

Event = Literal["failure", "change"]
"""For what a job may have a hook."""
EVENTS: tuple[Event, ...] = get_args(Event)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Job(Record):
    """A workflow and when to run it.

    `workflow` is an absolute path; `settings` are NAME=VALUE texts of `--set`; `arguments` are further words
    for `gravel run`; `jitter` and `time_limit` are seconds; `hooks` are the events (failure, change) with a
    hook in the user's configuration (`gravel.pipeline.schedule.hooks`); `created` is seconds since 1970.
    `id` tells a job from a later one of the same name. `in_cache` are the events whose hook is in the record
    itself, as earlier versions of gravel wrote it; such a hook is not called.
    """

    name: str
    workflow: str
    cron: str
    zone: str
    created: float
    settings: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    jitter: float = 0.0
    catch_up: Literal["none", "once", "all"] = "once"
    overlap: Literal["skip", "queue"] = "skip"
    time_limit: float | None = None
    hooks: tuple[Event, ...] = ()
    id: Annotated[str, Field(pattern="^[0-9A-Za-z]{1,64}$")] = field(default_factory=lambda: uuid.uuid4().hex)
    in_cache: Annotated[tuple[Event, ...], Field(exclude=True)] = field(default=(), compare=False)

    @property
    def times(self) -> Times:
        """Return when the job is due."""
        return times_of(self.cron, self.zone)

    def starts(self, due: int) -> float:
        """Return when the run of a due time starts: up to `jitter` later, the same for everyone who asks."""
        if not self.jitter:
            return float(due)
        drawn = hashlib.blake2b(f"{self.id} {due}".encode(), digest_size=8).digest()
        return due + self.jitter * int.from_bytes(drawn, "big") / 2**64

    def words(self, cache: str) -> list[str]:
        """Return the words of the command that runs it, after `gravel`."""
        settings = [word for text in self.settings for word in ("--set", text)]
        return ["run", self.workflow, *settings, *self.arguments, "--cache", cache]

    @model_validator(mode="after")
    def _is_due_at_times(self) -> Self:
        try:
            _ = self.times
        except RequestError as error:
            raise ValueError(str(error)) from None
        return self


def check_name(name: str) -> str:
    """Return a job's name if it can be one; raises RequestError."""
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{name!r} cannot be the name of a schedule",
            hint="use at most 64 letters, digits, - and _, and begin with a letter or digit",
        )
    return name


def name_from(workflow: str) -> str:
    """Make a job's name of a workflow's name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", workflow).strip("-_")[:64] or "job"


def check_secrets(text: str, option: str, *, command: bool = False) -> None:
    """Refuse a text with a URL whose password or query is written out, since schedules are kept in files.

    `command` says that a shell reads it, which has variables of its own.
    """
    named = re.sub(r"\$(\w+|\{\w+\})", "${env:SHELL}", text) if command else text
    if hidden_in_text(named) != named:
        write = "$NAME" if command else "${env:NAME}"
        raise RequestError(
            f"{option} has a URL with a password, a signature or other values of a query in it: "
            f"{hidden_in_text(text)}",
            hint=f"write {write} for each, and set that environment variable where `gravel schedule run` is "
            "started",
        )


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


def shown_hook(target: str | None) -> str | None:
    """Write a hook so that it can be shown: the path and the query of a webhook are often its password."""
    from urllib.parse import urlsplit

    if target is None or not target.startswith(("http://", "https://")):
        return target if target is None else hidden_in_text(target)
    parts = urlsplit(target)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}/..."
