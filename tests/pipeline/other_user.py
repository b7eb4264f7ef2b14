"""Another user of the machine, for tests that root runs: whose files lie about, and who runs gravel."""

from __future__ import annotations

import grp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from gravel.kernels.compiled.folder import folder_path
from tests.drills.gravel import PROGRAM, call_inside

OTHER = 65534
"""nobody, who owns nothing."""
GROUP = "games"
"""A group that every Debian and Fedora has, with no members."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")

WORKFLOW = """\
workflow: small
stages:
  edges: {stage: ingest, source: {rmat: {scale: 4, edge_factor: 4, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
"""


def group() -> int:
    """Return the group's number, or skip the test."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        pytest.skip(f"there is no group {GROUP!r} here")


def give(path: Path, user: int = OTHER) -> None:
    """Make a folder and all in it another user's."""
    for each in (path, *path.rglob("*")):
        os.chown(each, user, user, follow_symlinks=False)


def compiled(user: int) -> Path:
    """Return the folder of kernels that tests have had compiled for a user: each takes seconds."""
    if not user:
        return folder_path()
    folder = Path(tempfile.gettempdir()) / f"gravel-compiled-{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, user, user)
    return folder


def gravel(
    *words: str,
    cwd: Path,
    user: int = 0,
    groups: tuple[int, ...] = (),
    umask: int = 0o022,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run gravel as a user in a folder; `home-USER` in it holds the configuration. As root it runs here."""
    home = cwd / f"home-{user or os.geteuid()}"
    if not home.exists():
        home.mkdir()
        if user:
            os.chown(home, user, user)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GRAVEL_COMPILED": str(compiled(user)),
        **environment,
    }
    if not user:
        before = os.umask(umask)
        try:
            with patch.dict(os.environ, clear=True):
                return call_inside([*PROGRAM, *words], cwd, **variables)
        finally:
            os.umask(before)
    return subprocess.run(
        [*_as(user, groups), sys.executable, "-m", "tests.pipeline.gravel", *words],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        umask=umask,
    )


def _as(user: int, groups: tuple[int, ...]) -> list[str]:
    """Return the words that start a program as a user.

    Root's Python may lie where nobody else can read it; so may what pytest makes. The user is therefore given
    the right to read everything, and none to write.
    """
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv of util-linux is needed to be another user")
    rest = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    read = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    return ["setpriv", "--reuid", str(user), "--regid", str(groups[0] if groups else user), *rest, *read]


def planted_cache(root: Path, hook: str) -> None:
    """Make a cache of another user with a job that is due each minute and names a hook."""
    job = {"format": 2, "id": "0" * 32, "name": "planted", "workflow": str(root.parent / "w.yaml")}
    job |= {"cron": "* * * * *", "zone": "UTC", "created": 0.0, "jitter": 0.0, "time_limit": None}
    job |= {"settings": [], "arguments": ["--cluster", "inline"], "hooks": ["change"], "on_change": hook}
    folder = root / "schedules" / "planted"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(job))
