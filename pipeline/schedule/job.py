"""A scheduled job, as `gravel schedule add` was given it, and how dataclasses are kept as JSON."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import field, fields
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.records.hooks import EVENTS, Event
from gravel.pipeline.schedule.times import Times, from_iso, iso, times_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _seconds(moment: Any) -> Any:
    return from_iso(moment) if isinstance(moment, str) else moment


DueTime = Annotated[int, BeforeValidator(_seconds), PlainSerializer(iso)]
"""Seconds since 1970; ISO 8601 in UTC on disk."""
Moment = Annotated[float, BeforeValidator(_seconds), PlainSerializer(iso)]


class Record:
    """A dataclass of Pydantic that is kept as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dict(TypeAdapter(type(self)).dump_python(self, mode="json"))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        names = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        for problem, wrong in (("lacks", names - data.keys()), ("has the unknown", data.keys() - names)):
            if wrong:
                raise ValueError(f"it {problem} {', '.join(sorted(wrong))}")
        return TypeAdapter(cls).validate_python(data)


@dataclass(frozen=True)
class Job(Record):
    """A workflow and when to run it.

    `workflow` is an absolute path; `settings` are NAME=VALUE texts of `--set`; `arguments` are further words
    for `gravel run`; `jitter` and `time_limit` are seconds; `hooks` are the events with a hook in the user's
    configuration; `created` is seconds since 1970. `id` tells a job from a later one of the same name.
    """

    name: str
    workflow: str
    cron: str
    zone: str
    created: float
    settings: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    jitter: float = 0.0
    time_limit: float | None = None
    hooks: tuple[Event, ...] = ()
    id: Annotated[str, Field(pattern="^[0-9A-Za-z]{1,64}$")] = field(default_factory=lambda: uuid.uuid4().hex)

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
    def _can_be_run(self) -> Self:
        try:
            _ = self.times
        except RequestError as error:
            raise ValueError(str(error)) from None
        for word in self.arguments:
            option = word.partition("=")[0]
            if option in {f"--on-{event}" for event in EVENTS}:  # hooks are never taken from a cache
                raise ValueError(f"{option} is among the words for `gravel run`")
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
