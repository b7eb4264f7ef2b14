"""Where the page of a run is, and which runs it leads to: of the same workflow, or makers of its results."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.progress.tables import counts_by_state
from gravel.pipeline.records.past_runs import read_run
from gravel.pipeline.report.policy import META
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.folder import PAGE, RUNS
from gravel.pipeline.store.opening import open_file
from gravel.pipeline.store.sharing import is_own, is_shared, keep_own
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifact import Json


def page_path(folder: Path) -> Path:
    """Return where the page of the run of a folder is to be."""
    if is_own(folder.parents[1], folder):
        return folder / PAGE
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]
    return base / "gravel" / "pages" / f"{folder.name}-{key}" / PAGE


def find_page(folder: Path) -> Path | None:
    """Return the page of a run if it is there, this user's, and has a content security policy."""
    page = page_path(folder)
    root = page.parents[2]
    with suppress(OSError, RequestError):
        if is_own(folder.parents[1], page):
            with open_file(root, page.relative_to(root).as_posix()) as file:
                return page if META.encode() in file.read(1024) else None
    return None


def put(path: Path, text: Iterable[str]) -> Path:
    """Write a file of a page's, whole, in place of an older one; `text` comes in pieces."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            if path.parents[1].name == RUNS:
                keep_own(path.parents[2], unfinished)
            file.writelines(text)
        return unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


NEAR = 12
"""Runs listed; their records are read whole, at some milliseconds each."""

_RUN = re.compile(r"\d{8}-\d{6}-(?P<workflow>.*)-[0-9a-f]{4}")


def relatives(folder: Path, record: Mapping[str, Json], *, served: bool = False) -> list[dict[str, Json]]:
    """List runs of the same workflow nearest in time to that of `folder`, the newest first, itself included.

    Each has `run`, `state`, `started`, `seconds`, `counts`, `changed` (parameters that differ from those of
    this run) and `href`, None where there is no page, and in a shared cache, where it may become another's;
    every run has one that is served.
    """
    mine = _RUN.fullmatch(folder.name)
    if mine is None:
        return []
    matches = (_RUN.fullmatch(entry.name) for entry in folder.parent.iterdir())
    names = sorted(each[0] for each in matches if each and each["workflow"] == mine["workflow"])
    place = names.index(folder.name) if folder.name in names else len(names)
    low = max(0, min(place - NEAR // 2, len(names) - NEAR))
    found = []
    linked = not is_shared(folder.parents[1])
    for each in reversed(names[low : low + NEAR]):
        here = each == folder.name
        its = record if here else read_run(folder.parent / each)
        if its is None or its["workflow"].get("name") != record["workflow"].get("name"):
            continue
        there = not here and (served or (linked and (folder.parent / each / PAGE).exists()))
        found.append(
            {
                "run": each,
                "href": f"../{quote(each)}/{PAGE}" if there else None,
                "here": here,
                "state": its.get("state", ""),
                "started": its.get("started", ""),
                "seconds": its.get("seconds"),
                "counts": counts_of(its),
                "changed": "" if here else _changed(its, record),
            }
        )
    return found if len(found) > 1 else []


def counts_of(record: Mapping[str, Json]) -> str:
    """Say how many stage runs are in which state."""
    return counts_by_state(Counter(run["state"] for run in record["stages"]))


def _changed(its: Mapping[str, Json], record: Mapping[str, Json]) -> str:
    parts = []
    for part in ("parameters", "matrix"):
        theirs, mine = its["workflow"].get(part) or {}, record["workflow"].get(part) or {}
        names = (name for name in dict.fromkeys([*mine, *theirs]) if theirs.get(name) != mine.get(name))
        parts += [f"{name}: {to_text(theirs.get(name))}" for name in names]
    return "; ".join(parts)


def makers(
    folder: Path, record: Mapping[str, Json], cache: Cache, *, served: bool = False
) -> dict[str, tuple[str, str | None]]:
    """Return for each cached stage run the run that made it, and the address of that run's page or None."""
    linked = served or not is_shared(folder.parents[1])
    found: dict[str, tuple[str, str | None]] = {}
    for run in record["stages"]:
        made = cache.look_up(run["recipe"]) if run["state"] == "cached" and run["recipe"] else None
        maker = str(made.provenance.get("run") or "") if made is not None else ""
        if maker and maker != record["run"]:
            there = linked and (folder.parent / maker / PAGE).exists()
            found[run["key"]] = (maker, f"../{quote(maker)}/{PAGE}" if there else None)
    return found


def log_address(folder: Path, run: Mapping[str, Json]) -> str | None:
    """Return the address of a stage run's log, None if it wrote none."""
    log = run["log"]
    return quote(log) if log and (folder / log).is_file() else None
