"""Cached plans in the folder `frozen` of the cache: one small sealed file for each request."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.errors import GravelError
from gravel.pipeline.core.file_state import state_of
from gravel.pipeline.core.trace import DependencyTrace, digest_of, digest_of_names
from gravel.pipeline.datasets.file_lists import expanded
from gravel.pipeline.plan.cache import process_state as process_state
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.records import RECORD_FORMAT, BrokenRecord, seal, unseal
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from gravel.stages.artifact import Json

__all__ = ["load_entry", "save_entry", "why_stale"]

FORMAT = 2
MAX_KEPT = 64
"""Cached plans of one cache; a person asks the same few things again and again. The oldest go first."""


def name_of(request: dict[str, Json]) -> str:
    """Name the file of a request; the request itself is not kept, since its words may hold secrets."""
    return f"frozen/{digest_of(json.dumps(request, sort_keys=True).encode())}.json"


def save_entry(root: Path, request: dict[str, Json], trace: DependencyTrace, answer: dict[str, Json]) -> bool:
    """Keep an answer with all that it was made from; say whether that could be done.

    It is not for a plan in doubt, a cache with a store behind it, and where code or packages may have changed
    since they were loaded.
    """
    began = process_state.began()
    if began is None or trace.doubts or (root / "remote.json").exists():
        return False
    try:
        code = process_state.code()
        packages, latest = process_state.packages()
        if process_state.changed_since(code, began) or latest >= began - process_state.RACY_SECONDS:
            return False
        body = {
            "format": RECORD_FORMAT,
            "frozen": FORMAT,
            "request": name_of(request),
            "code": code,
            "packages": packages,
            **{name: getattr(trace, name) for name in ("texts", "there", "lists", "inputs")},
            "memos": sorted(trace.memos),
            "answer": answer,
        }
        files = LocalFiles(root)
        files.replace(name_of(request), seal(body), durable=False)
        _forget_the_oldest(files)
    except (GravelError, OSError, ValueError, TypeError, AttributeError):
        return False  # code in no file, a cache that cannot be written, a value that JSON has not
    return True


def _forget_the_oldest(files: LocalFiles) -> None:
    names = files.names("frozen", ".json")
    if len(names) <= MAX_KEPT:
        return
    folder = files.root / "frozen"
    names.sort(key=lambda name: (folder / name).stat().st_mtime_ns)
    for name in names[:-MAX_KEPT]:
        files.remove(f"frozen/{name}")


def load_entry(root: Path, request: dict[str, Json]) -> dict[str, Json] | None:
    """Return the answer that was kept for a request if nothing that it was made from has changed."""
    try:
        found = LocalFiles(root).read(name_of(request))
        if found is None:
            return None
        body = unseal(found[0])
        if body["frozen"] != FORMAT or body["request"] != name_of(request):
            return None
        fits = (
            process_state.is_as(body["code"])
            and _is_as_noted(root, body)
            and process_state.packages()[0] == body["packages"]
        )
        answer: dict[str, Json] | None = body["answer"] if fits else None
        return answer
    except (BrokenRecord, GravelError, OSError, KeyError, TypeError, ValueError, AttributeError):
        return None


def why_stale(root: Path, name: str, gone: Collection[str]) -> str | None:
    """Say why a cached plan will never answer again; None if it may. Recipes in `gone` are about to go."""
    try:
        found = LocalFiles(root).read(name)
        if found is None:
            return None
        body = unseal(found[0])
        if body["frozen"] != FORMAT:
            return "another gravel wrote it"
        recipes = [stage["recipe"] for stage in body["answer"]["stages"] if stage["keep"]]
        if any(each in gone or not (root / "recipes" / f"{each}.json").is_file() for each in recipes):
            return "a result that it stands for is gone"
        if not process_state.is_as(body["code"]):
            return "gravel's code has changed since"
        return None if _is_as_noted(root, body) else "what it was made from has changed"
    except OSError:
        return "what it was made from is gone"
    except (BrokenRecord, KeyError, TypeError, ValueError, AttributeError):
        return "it cannot be read"
    except GravelError:
        return None  # a newer gravel's, or not to be read by this user


def _is_as_noted(root: Path, body: dict[str, Any]) -> bool:
    """Look again at what planning looked at; an input that was touched is for the planner to digest."""
    return (
        all(os.path.exists(path) is there for path, there in body["there"].items())  # noqa: PTH110
        and all(_text(path, known) for path, known in body["texts"].items())
        and all(_files(pattern) == known for pattern, known in body["lists"].items())
        and all(_input(path) == known for path, known in body["inputs"].items())
        and all((root / name).is_file() for name in body["memos"])
    )


def _files(pattern: str) -> str:
    try:
        return digest_of_names(expanded([pattern]))
    except StageError:
        return digest_of_names([])


def _text(path: str, known: list[str | int]) -> bool:
    # A pipe under the same name is left for the planner to read.
    found = os.stat(path)  # noqa: PTH116
    if not stat.S_ISREG(found.st_mode) or found.st_size != known[0]:
        return False
    return digest_of(Path(path).read_bytes()) == known[1]


def _input(path: str) -> list[str | int]:
    found = os.stat(path)  # noqa: PTH116 (a text is at hand)
    return [os.path.realpath(path), *state_of(found)]
