"""`gravel cache init --shared GROUP`: members share results, and nothing that runs or is opened."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.store.sharing import FOLDER_MODE, OWN_FOLDERS, init_shared
from tests.pipeline.other_user import GROUP, OTHER, WORKFLOW, give, gravel, group, needs_root

MEMBER = 65533
"""A user without a name, who is in the group; so is nobody."""
SEARCH = WORKFLOW + "  page: {stage: report, inputs: [graph]}\n"

pytestmark = needs_root


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others can enter, as they cannot those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="gravel-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def shared(place: Path) -> Path:
    """A folder of users, with a shared cache that `OTHER` made in it."""
    (place / "w.yaml").write_text(SEARCH)
    cache = place / "made" / "c"
    cache.parent.mkdir()
    give(cache.parent)
    done = as_user(OTHER, place, "cache", "init", "--shared", GROUP, "--cache", str(cache))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{cache} is shared with the group {GROUP}")
    return cache


def as_user(user: int, cwd: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return gravel(*words, cwd=cwd, user=user, groups=(user, group()), umask=0o077, **more)


def run(user: int, cache: Path) -> dict[str, int]:
    """Run the workflow as a user; returns how many stage runs were in which state."""
    done = as_user(
        user, cache.parents[1], "run", "w.yaml", "--cluster", "inline", "--json", "--cache", str(cache)
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_members_use_each_others_results(shared: Path):
    assert run(OTHER, shared)["computed"] == 3
    assert run(MEMBER, shared)["cached"] == 3
    number = group()
    for each in (shared, *shared.rglob("*")):
        found = each.stat()
        assert found.st_gid == number, each
        assert not found.st_mode & 0o007, each
        if each.name not in ("runs", "schedules") and not {"runs", "schedules"} & set(each.parts):
            wanted = 0o2770 if each.is_dir() else 0o640 if each.name == "shared.json" else 0o660
            assert found.st_mode & 0o7777 == wanted, each


def test_who_is_not_in_the_group_is_told(shared: Path):
    done = gravel("cache", "ls", "--cache", str(shared), cwd=shared.parents[1], user=65000)
    assert done.returncode == 2
    assert "cannot be read: permission denied" in done.stderr


def test_a_shared_cache_that_is_merely_found_is_not_used(shared: Path):
    inner = shared.with_name(".gravel")
    shared.rename(inner)
    work = inner.parent / "work"
    work.mkdir()
    config = shared.parents[1] / "config"
    config.mkdir()
    for folder in (work, config):
        os.chown(folder, MEMBER, MEMBER)
    done = as_user(MEMBER, work, "cache", "ls")
    assert done.returncode == 2
    assert f"gravel cache trust {inner}" in done.stderr
    assert "is shared by nobody with the group games, and you did not name it" in done.stderr
    assert as_user(MEMBER, work, "cache", "trust", str(inner), XDG_CONFIG_HOME=str(config)).returncode == 0
    done = as_user(MEMBER, work, "cache", "ls", XDG_CONFIG_HOME=str(config))
    assert done.returncode == 0, done.stderr


def test_a_mark_that_a_member_put_there_is_refused(shared: Path):
    (shared / "shared.json").unlink()
    (shared / "shared.json").write_text(json.dumps({"format": 1, "group": group()}))
    os.chown(shared / "shared.json", MEMBER, group())
    done = as_user(OTHER, shared.parents[1], "cache", "ls", "--cache", str(shared))
    assert done.returncode == 2
    assert "shared.json belongs to user 65533, the folder to nobody" in done.stderr
    assert "gravel cache init --shared GROUP" in done.stderr
    again = as_user(OTHER, shared.parents[1], "cache", "init", "--shared", GROUP, "--cache", str(shared))
    assert again.returncode == 0, again.stderr
    assert as_user(OTHER, shared.parents[1], "cache", "ls", "--cache", str(shared)).returncode == 0


def test_pages_of_others_are_made_again_from_the_data(shared: Path):
    run(MEMBER, shared)
    (page,) = shared.glob("runs/*/report.html")
    folder = page.parent
    assert page.stat().st_mode & 0o777 == 0o640
    assert folder.stat().st_mode & 0o7777 == 0o2750
    assert (shared / "runs").stat().st_mode & 0o7777 == 0o3770
    page.write_text(page.read_text() + "<script>evil</script>")
    told = as_user(OTHER, shared.parents[1], "report", "--cache", str(shared))
    assert told.returncode == 0, told.stderr
    mine = Path(told.stdout.strip())
    assert mine.is_relative_to(shared.parents[1] / f"home-{OTHER}")
    assert "evil" not in mine.read_text()
    assert "Content-Security-Policy" in mine.read_text()


def test_schedules_of_others_are_not_served(shared: Path):
    where = ("--cache", str(shared))
    base = shared.parents[1]
    added = as_user(MEMBER, base, "schedule", "add", "w.yaml", "--cron", "* * * * *", *where)
    assert added.returncode == 0, added.stderr
    assert "small" in as_user(MEMBER, base, "schedule", "list", *where).stdout
    assert "no schedule is on record" in as_user(OTHER, base, "schedule", "list", *where).stdout
    taken = as_user(OTHER, base, "schedule", "add", "w.yaml", "--cron", "* * * * *", *where)
    assert taken.returncode == 2
    assert "user 65533 has a schedule 'small' in this cache" in taken.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--shared", "no-such-group", "--cache", "n"), "there is no group 'no-such-group'"),
        (("--shared", "root", "--cache", "n"), "you are not in the group root"),
        (("--shared", GROUP, "--cache", "full"), "is not empty, and what it holds was made for nobody alone"),
        (("--shared", GROUP, "--cache", "roots"), "belongs to root, who alone can share it"),
    ],
)
def test_what_cannot_be_shared(place: Path, words: tuple[str, ...], told: str):
    (place / "full").mkdir()
    (place / "full" / "a").write_text("")
    give(place / "full")
    (place / "roots").mkdir()
    done = as_user(OTHER, place, "cache", "init", *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_members_add_to_the_folders_of_a_shared_cache_and_remove_nothing_of_others(tmp_path: Path):
    """Of runs and schedules, whose entries belong to their makers."""
    made = init_shared(tmp_path / "c", str(os.getegid()))
    for name in OWN_FOLDERS:
        found = (tmp_path / "c" / name).stat()
        assert found.st_gid == made.group
        assert found.st_mode & 0o7777 == FOLDER_MODE | stat.S_ISVTX
