"""Caches of others that are used: those that a group shares, and those in folders that the user trusts.

`gravel cache init --shared GROUP` makes a shared cache. The folder has mode 2770, so that what is made in it
belongs to the group, and `shared.json` in it names the group by its number. Members can replace that file,
but not make it belong to whom the folder belongs to; so a mark of another owner is refused.

Members may write results. The folders of `runs` and `schedules` are sticky (3770), and each entry there can
be written by its maker alone: a page that is opened and a schedule that is served come from nobody else.

The user trusts the folders, whoever owns them, that `GRAVEL_TRUSTED` names, with colons between, and those in
`trusted-folders` of the user's configuration, an absolute path a line. Each stands for all below it.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import (
    GROUP,
    OTHERS_READ,
    PRIVATE,
    config_folder,
    given_mask,
    make_config_folder,
    written_aside,
)
from gravel.pipeline.store.descriptors import open_regular
from gravel.pipeline.store.ownership import describe, find_unsafe, group_name, user_name

MARK = "shared.json"
FORMAT = 1
FOLDER_MODE, OWN_FOLDER_MODE, OWN_FILE_MODE = 0o2770, 0o2750, 0o640
OWN_FOLDERS = ("runs", "schedules")
"""Folders whose entries belong to their makers."""

VARIABLE = "GRAVEL_TRUSTED"
FOLDERS_FILE = "trusted-folders"


@dataclass(frozen=True)
class Sharing:
    """The group that shares a cache, and who made it so."""

    group: int
    owner: int


def sharing_of(root: Path) -> Sharing | None:
    """Return how a cache is shared, None if it is not; raises RequestError for a mark to distrust."""
    mark = f"{root}/{MARK}"
    try:
        with os.fdopen(open_regular(root, MARK), "rb") as file:
            found, text = os.fstat(file.fileno()), file.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refusal(root, f"{mark} cannot be read ({(error.strerror or str(error)).lower()})") from None
    folder = os.stat(root)  # noqa: PTH116
    if found.st_uid != folder.st_uid:
        raise _refusal(
            root, f"{mark} belongs to {user_name(found.st_uid)}, the folder to {user_name(folder.st_uid)}"
        )
    try:
        body = json.loads(text)
        group = body["group"] if body["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        group = None
    if not isinstance(group, int):
        raise _refusal(root, f"{mark} is not what gravel writes")
    if folder.st_gid != group or folder.st_mode & stat.S_IRWXO:
        raise _refusal(
            root,
            f"the folder has group {group_name(folder.st_gid)} and mode {stat.S_IMODE(folder.st_mode):04o}, "
            f"and {mark} says group {group_name(group)}, which is mode {FOLDER_MODE:04o}",
        )
    return Sharing(group, folder.st_uid)


def is_shared(root: Path) -> bool:
    """Say whether a cache is shared; whoever shares it may write results, never code, hooks or pages."""
    return os.path.exists(f"{root}/{MARK}")  # noqa: PTH110


def mask_for(root: Path) -> int:
    """Return the mask for what is written to a cache.

    A folder of somebody else, which the user trusts, may be one that a container writes as root: what is made
    there stays readable as far as the folder itself is.
    """
    if is_shared(root):
        return GROUP
    try:
        return PRIVATE if os.stat(root).st_uid == os.geteuid() else OTHERS_READ  # noqa: PTH116
    except OSError:
        return PRIVATE


def write_as_in(root: Path) -> None:
    """Have this process write as is right for a cache, if it is a command of gravel or a worker."""
    if given_mask() >= 0:
        os.umask(mask_for(root))


def keep_own(root: Path, path: Path) -> None:
    """In a shared cache, take the group's right to write from a file or folder just made below `runs` and the
    like.

    So are the folders between.
    """
    first = path.relative_to(root).parts[0]
    if first not in OWN_FOLDERS or not is_shared(root):
        return
    for each in (path, *path.parents):
        if each == root / first:
            break
        if each.stat().st_uid == os.geteuid():
            each.chmod(OWN_FOLDER_MODE if each.is_dir() else OWN_FILE_MODE)


def is_own(root: Path, path: Path) -> bool:
    """Say whether nobody but the user wrote what lies at a path of a cache, or there is nothing yet."""
    if not is_shared(root):
        return True
    try:
        found = path.lstat()
    except OSError:
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _refusal(root: Path, problem: str) -> RequestError:
    return RequestError(
        f"the cache {root} is marked as shared, and the mark is not trusted: {problem}",
        hint="whoever owns the folder can make the mark anew: gravel cache init --shared GROUP",
    )


def init_shared(root: Path, group: str) -> Sharing:
    """Make a folder that a group shares, or mend the modes of one; raises RequestError if that cannot be."""
    number = _group(group)
    if root.exists():
        _check_can_be_shared(root, number)
    root.parent.mkdir(parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    _give(root, number, FOLDER_MODE)
    for name in OWN_FOLDERS:
        (root / name).mkdir(mode=0o700, exist_ok=True)
        if (root / name).stat().st_uid == os.geteuid():
            _give(root / name, number, FOLDER_MODE | stat.S_ISVTX)
    unfinished = root / f".{MARK}.{os.getpid()}"
    unfinished.write_text(json.dumps({"format": FORMAT, "group": number}) + "\n", encoding="utf-8")
    _give(unfinished, number, OWN_FILE_MODE)
    unfinished.replace(root / MARK)
    return Sharing(number, root.stat().st_uid)


def _group(name: str) -> int:
    import grp

    try:
        found = grp.getgrgid(int(name)) if name.isdigit() else grp.getgrnam(name)
    except KeyError:
        mine = ", ".join(sorted({group_name(each) for each in os.getgroups()}))
        raise RequestError(f"there is no group {name!r}", hint=f"you are in: {mine}") from None
    if os.geteuid() and found.gr_gid not in {*os.getgroups(), os.getegid()}:
        raise RequestError(
            f"you are not in the group {found.gr_name}",
            hint=f"an administrator can add you: usermod -aG {found.gr_name} {user_name(os.geteuid())}",
        )
    return found.gr_gid


def _check_can_be_shared(root: Path, group: int) -> None:
    found = root.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise RequestError(f"{root} is a file, and a folder is needed", hint="choose another with --cache")
    if found.st_uid != os.geteuid():
        raise RequestError(
            f"the folder {root} belongs to {user_name(found.st_uid)}, who alone can share it",
            hint="choose another with --cache",
        )
    shared = is_shared(root)
    if any(root.iterdir()) and not (shared and found.st_gid == group):
        raise RequestError(
            f"the folder {root} is not empty, and what it holds was made for {user_name(os.geteuid())} alone",
            hint=f"share a new folder with --cache, and copy results there: gravel cache push {root}-shared",
        )


def _give(path: Path, group: int, mode: int) -> None:
    os.chown(path, -1, group)
    path.chmod(mode)


def is_trusted(folder: Path) -> bool:
    """Say whether the user trusts a folder, as it is written or where links lead."""
    trusted = trusted_folders()
    if not trusted:
        return False
    names = {os.path.abspath(folder), os.path.realpath(folder)}  # noqa: PTH100 (links are kept)
    return any(f"{name}/".startswith(f"{each.rstrip('/')}/") for each in trusted for name in names)


def trusted_folders() -> list[str]:
    """Return every trusted folder; raises RequestError for a file that others can write."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    file = config_folder() / FOLDERS_FILE
    lines = check_own_file(file).splitlines() if os.path.exists(file) else []  # noqa: PTH110 (at each start)
    found = [each.strip() for each in (*named, *lines)]
    return [os.path.normpath(each) for each in found if each.startswith("/")]


def trust(folder: Path) -> Path:
    """Put a folder on the user's list; returns the file."""
    file = config_folder() / FOLDERS_FILE
    path = os.path.realpath(folder)
    before = check_own_file(file) if file.exists() else ""
    if path not in before.splitlines():
        make_config_folder()
        with written_aside(file, f"{before}{path}\n".encode(), 0o600) as aside:
            aside.replace(file)
    return file


def check_own_file(file: Path) -> str:
    """Return the text of a file of the user's configuration; raises RequestError if others can write it."""
    unsafe = find_unsafe(file, entries=False)
    if unsafe is not None:
        raise RequestError(
            f"{file} is not used: {unsafe.path}: {unsafe.problem} ({describe(unsafe.path)})",
            hint=unsafe.command or "keep your configuration in a folder of your own: set XDG_CONFIG_HOME",
        )
    return file.read_text(encoding="utf-8")
