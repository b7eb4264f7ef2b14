"""The folders that the user trusts whoever owns them: `GRAVEL_TRUSTED` and a file of the user's own.

`trusted-folders` in the user's configuration folder holds one absolute path a line, `GRAVEL_TRUSTED` several
with colons between. Each stands for the folder and all below it.
"""

from __future__ import annotations

import os
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import config_folder
from gravel.pipeline.store.ownership import describe, find_unsafe

VARIABLE = "GRAVEL_TRUSTED"
FILE = "trusted-folders"


def is_trusted(folder: Path) -> bool:
    """Say whether the user trusts a folder, as it is written or where links lead."""
    trusted = trusted_folders()
    if not trusted:
        return False
    names = {os.path.abspath(folder), os.path.realpath(folder)}  # noqa: PTH100 (links are kept)
    return any(_holds(each, name) for each in trusted for name in names)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def trusted_folders() -> list[str]:
    """Return every trusted folder; raises RequestError for a file that others can write."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    file = config_folder() / FILE
    lines = check_own_file(file).splitlines() if os.path.exists(file) else []  # noqa: PTH110 (at each start)
    found = [each.strip() for each in (*named, *lines)]
    return [os.path.normpath(each) for each in found if each.startswith("/")]


def trust(folder: Path) -> Path:
    """Put a folder on the user's list; returns the file."""
    file = config_folder() / FILE
    path = os.path.realpath(folder)
    before = check_own_file(file) if file.exists() else ""
    if path not in before.splitlines():
        make_config_folder()
        unfinished = file.with_name(f".{FILE}.{os.getpid()}")
        unfinished.write_text(f"{before}{path}\n", encoding="utf-8")
        unfinished.chmod(0o600)
        unfinished.replace(file)
    return file


def make_config_folder() -> Path:
    """Make the user's configuration folder, which nobody else may read."""
    folder = config_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def check_own_file(file: Path) -> str:
    """Return the text of a file of the user's configuration; raises RequestError if others can write it."""
    unsafe = find_unsafe(file, entries=False)
    if unsafe is not None:
        raise RequestError(
            f"{file} is not used: {unsafe.path}: {unsafe.problem} ({describe(unsafe.path)})",
            hint=unsafe.command or "keep your configuration in a folder of your own: set XDG_CONFIG_HOME",
        )
    return file.read_text(encoding="utf-8")
