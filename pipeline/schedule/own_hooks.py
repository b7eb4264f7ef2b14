"""The hooks of jobs, in the user's own configuration and nowhere else.

A hook is a command that is run, so it must come from whoever runs it, and a cache may be one that others
write. `hooks/ID.json` in the configuration folder holds the hooks of the job with that id; the job's record
in the cache only says for which events there are any.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.user_config import config_folder
from gravel.pipeline.schedule.job import EVENTS, Event, Job
from gravel.pipeline.store.trusted import check_own_file, make_config_folder

FORMAT = 1


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
