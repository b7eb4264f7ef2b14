"""Where the cache lies, and whether it is one to use: `find_cache` refuses what other users can write.

Naming a folder is not enough to trust it, as with git. What others own is used if the user trusts it, or if a
group shares it (`gravel.pipeline.store.sharing`), the user is in that group and named the cache: one that is
merely found above the current directory may have been put there for that purpose.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import unicodedata
from pathlib import Path

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.files import PRIVATE, existing_folder, make_root
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.ownership import Unsafe, describe, find_unsafe, group_name, user_name
from gravel.pipeline.store.sharing import VARIABLE, Sharing, is_trusted, sharing_of, write_as_in

MARKS = (".gravel", "pyproject.toml", ".git")

LINK_FILE = "remote.json"
"""In a cache folder that is the local tier of a store: names the store."""


def find_cache(option: str | None = None) -> Path:
    """Choose the cache folder: the option, else `GRAVEL_CACHE`, else `.gravel` of the project around us.

    The project is the nearest ancestor of the current directory that holds `.gravel`, `pyproject.toml` or
    `.git`; without one it is the current directory. Where that is `/`, the home folder or somebody else's
    folder, which are no projects, the cache is `$XDG_CACHE_HOME/gravel/results`, else
    `~/.cache/gravel/results`. The folder need not exist yet. Raises `RequestError` for
    a path that is not a folder, cannot be read or can be written by other users, and for a URL that names no
    remote cache. The modes of what this command writes from now on are those of the cache.

    For the URL of a remote cache (such as `s3://bucket/prefix`) it is the folder of its local tier, which is
    made and linked to it: below `GRAVEL_LOCAL_TIER`, else `$XDG_CACHE_HOME/gravel`, else `~/.cache/gravel`.
    """
    named = option or os.environ.get("GRAVEL_CACHE")
    root = locate_cache(option)
    _check_trust(root, named=bool(named))
    write_as_in(root)
    if named and "://" in named:
        from gravel.pipeline.store.objects import check_url

        url, files = check_url(named), LocalFiles(root)
        if linked_url(files) != url:
            files.replace(LINK_FILE, json.dumps({"format": 1, "url": url}).encode())
    return root


def locate_cache(option: str | None = None) -> Path:
    """Return where `find_cache` finds the cache, whoever owns it: to copy from, or to make it."""
    named = option or os.environ.get("GRAVEL_CACHE")
    if named and "://" in named:
        from gravel.pipeline.store.objects import check_url

        return _usable(_tier(check_url(named)))
    # An unknown user's ~name is left as it is.
    root = Path(os.path.expanduser(named)) if named else _found()  # noqa: PTH111
    if not root.is_absolute():
        root = Path.cwd() / root
    return _usable(root)


def _tier(url: str) -> Path:
    """Return the folder of a remote cache's local tier; the same URL at another endpoint has another."""
    from blake3 import blake3

    from gravel.stages.remote.object_store import endpoint_of

    base = Path(os.environ.get("GRAVEL_LOCAL_TIER") or user_cache())
    scheme, _, rest = url.partition("://")
    endpoint = endpoint_of(scheme)
    if scheme == "az":  # a container belongs to an account
        endpoint = f"{endpoint} {os.environ.get('AZURE_STORAGE_ACCOUNT_NAME', '')}"
    words = rest.replace("/", "-")[:80]
    name = f"{words}-{blake3(f'{endpoint} {url}'.encode()).hexdigest()[:8]}"
    return Path.cwd() / base.expanduser() / name


def linked_url(files: LocalFiles) -> str | None:
    """Return the URL of the store that a folder is the local tier of, or None."""
    found = files.read(LINK_FILE)
    try:
        url = json.loads(found[0])["url"] if found is not None else None
    except (ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None


def _usable(root: Path) -> Path:
    text = os.fspath(root)
    if not text.isprintable() and {"Cc", "Zl", "Zp"} & set(map(unicodedata.category, text)):
        raise RequestError(
            f"the path of the cache holds control characters: {text!a}",
            hint="records and pages name it as text; choose another with --cache or GRAVEL_CACHE",
        )
    if root.is_symlink() and not root.exists():
        raise RequestError(
            f"the cache {root} is a link to {os.readlink(root)}, which is not there",  # noqa: PTH115 (a text)
            hint="create its target, or choose another with --cache",
        )
    for folder in (root, *root.parents):
        if folder.exists() and not folder.is_dir():
            raise RequestError(
                f"the cache {root} is a file, and a folder is needed"
                if folder == root
                else f"the cache {root} cannot be made, since {folder} is a file",
                hint="choose another with --cache, or move the file away",
            )
    if root.is_dir() and not os.access(root, os.R_OK | os.X_OK):
        raise RequestError(
            f"the cache {root} cannot be read: permission denied", hint="choose another with --cache"
        )
    return root


def _found() -> Path:
    """Return the cache of the project around the current directory, or the user's own where there is none."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        is_root = folder == folder.parent
        # What lies in the root of a container's file system does not make all of it a project.
        if (folder / ".gravel").exists() or any((folder / mark).exists() and not is_root for mark in MARKS):
            return folder / ".gravel"
    return here / ".gravel" if _is_for_work(here) else user_cache() / "results"


def _is_for_work(folder: Path) -> bool:
    """Say whether a folder may get a cache unasked: not the root, the home folder or somebody else's."""
    if folder == folder.parent or str(folder) == os.path.expanduser("~"):  # noqa: PTH111 (there may be none)
        return False
    return folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK)


def user_cache() -> Path:
    """Return the folder of what gravel caches for the user, beside all projects."""
    base = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")  # noqa: PTH111
    if base.startswith("~"):
        raise RequestError(
            "there is no home folder for a cache, and the current folder is no place for one",
            hint="name a folder with --cache, or set GRAVEL_CACHE or HOME",
        )
    return Path.cwd() / base / "gravel"


def _check_trust(root: Path, *, named: bool) -> None:
    """Refuse a cache that somebody else can write, unless the user trusts it; see the module."""
    if is_trusted(root):
        return
    shared = sharing_of(root)
    if shared is None:
        unsafe = find_unsafe(root)
    else:
        _check_member(root, shared, named=named)
        unsafe = find_unsafe(root, owners=(shared.owner,), groups=(shared.group,))
    if unsafe is not None:
        raise _refusal(root, unsafe)
    if shared is None:
        _keep_to_the_user(root)


def _check_member(root: Path, shared: Sharing, *, named: bool) -> None:
    group, owner = group_name(shared.group), user_name(shared.owner)
    if shared.owner == os.geteuid():
        return
    if shared.group not in {*os.getgroups(), os.getegid()}:
        raise RequestError(
            f"the cache {root} is shared by {owner} with the group {group}, and you are not in it",
            hint=f"an administrator can add you: usermod -aG {group} {user_name(os.geteuid())}",
        )
    if not named:
        raise RequestError(
            f"the cache {root} is shared by {owner} with the group {group}, and you did not name it",
            hint=f"if you want their results: gravel cache trust {root}, or name it with --cache",
        )


def _refusal(root: Path, unsafe: Unsafe) -> RequestError:
    what = "" if unsafe.path == os.fspath(root) else f" {unsafe.path}:"
    trust = f"gravel cache trust {root} (or {VARIABLE}={root})"
    is_mine = os.stat(unsafe.path).st_uid == os.geteuid()  # noqa: PTH116
    mend = f"{unsafe.command}, or " if unsafe.command and is_mine else ""
    return RequestError(
        f"the cache {root} is not trusted:{what} {unsafe.problem}, and could make you use what is not yours "
        f"({describe(unsafe.path)}; you are {user_name(os.geteuid())})",
        hint=f"{mend}if you trust whoever can write there: {trust}; else choose another with --cache",
    )


def _keep_to_the_user(root: Path) -> None:
    """Close a cache of the user's that others can read, and say so; make one that others could make first.

    A folder that is no cache yet may have other uses: only what is made in it is closed.
    """
    try:
        found = os.stat(root)  # noqa: PTH116
    except OSError:
        _make_before_others(root)
        return
    if found.st_uid == os.geteuid() and found.st_mode & PRIVATE and (root / "recipes").is_dir():
        try:
            root.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE)
        except OSError:  # a file system without modes, or one that is read only
            return
        print(
            f"note: other users could read the cache {root} (mode {stat.S_IMODE(found.st_mode):04o}); "
            "it is yours alone now (`gravel cache init --shared GROUP` makes one for a group)",
            file=sys.stderr,
        )


def _make_before_others(root: Path) -> None:
    """In a folder that all can write, such as /tmp, make the cache at once, so that nobody is first."""
    above = existing_folder(root.parent)
    try:
        if not above.stat().st_mode & stat.S_IWOTH:
            return
        make_root(root)
    except OSError:
        return
    unsafe = find_unsafe(root, entries=False)
    if unsafe is not None:
        raise _refusal(root, unsafe)
