"""Caches that other users own or can write are refused, and how the user says otherwise."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from gravel.pipeline.store import ownership
from tests.pipeline.other_user import WORKFLOW, give, gravel, needs_root, planted_cache

RUN = ("run", "w.yaml", "--cluster", "inline", "-q")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a cache and a folder to work in."""
    tmp_path.chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "w.yaml").write_text(WORKFLOW)
    (tmp_path / ".gravel").mkdir()
    return tmp_path


@needs_root
def test_a_cache_of_somebody_else_above_is_refused(project: Path):
    give(project / ".gravel")
    done = gravel("runs", cwd=project / "work")
    assert done.returncode == 2
    assert f"error: the cache {project}/.gravel is not trusted: it belongs to nobody" in done.stderr
    assert "owner nobody, group nogroup, mode 0755; you are root" in done.stderr
    assert f"gravel cache trust {project}/.gravel (or GRAVEL_TRUSTED={project}/.gravel)" in done.stderr


@needs_root
@pytest.mark.parametrize("owner", [0, 65534])
def test_hooks_in_a_cache_are_not_run(project: Path, owner: int):
    """Neither those that somebody else put there, nor those of the user."""
    (project / "w.yaml").write_text(WORKFLOW)
    sign = project / "was-here"
    planted_cache(project / ".gravel", f"touch {sign}")
    give(project / ".gravel", owner)
    done = gravel("schedule", "tick", cwd=project / "work")
    assert not sign.exists()
    if owner:
        assert done.returncode == 2
        assert "is not trusted: it belongs to nobody" in done.stderr
    else:
        assert done.returncode == 1
        assert "planted/job.json cannot be read: it has the unknown on_change" in done.stdout


def test_a_hook_is_kept_by_the_user(project: Path):
    sign, work = project / "was-here", project / "work"
    hook = f"cat > {sign}; umask >> {sign}"
    words = ("w.yaml", "--name", "j", "--cron", "* * * * *", "--on-change", hook, "--", "--cluster", "inline")
    done = gravel("schedule", "add", *words, cwd=work)
    assert done.returncode == 0, done.stderr
    (file,) = (work / "home-0/.config/gravel/hooks").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    job = project / ".gravel/schedules/j/job.json"
    assert hook not in job.read_text()
    created = json.loads(job.read_text())["created"]
    job.write_text(job.read_text().replace(str(created), str(created - 60)))
    done = gravel("schedule", "tick", cwd=work)
    assert done.returncode == 0, done.stderr
    assert sign.read_text().endswith("}0022\n")  # it runs with the user's own mask
    file.unlink()
    assert f"not called: {file} is not there" in gravel("schedule", "list", "j", cwd=work).stdout


@pytest.mark.parametrize("place", [".", "recipes", "remote.json"])
def test_what_others_can_write_is_refused(project: Path, place: str):
    cache = project / ".gravel"
    (cache / "recipes").mkdir()
    (cache / "remote.json").write_text("{}")
    (cache / place).chmod(0o777)
    done = gravel("cache", "ls", cwd=project / "work")
    assert done.returncode == 2
    path = (cache / place).resolve()
    assert "every user can write it" in done.stderr
    assert f"chmod -R go-w {path}, or if you trust" in done.stderr
    assert f"gravel cache trust {cache}" in done.stderr


def test_a_folder_above_that_all_can_write_is_refused_without_the_sticky_bit(project: Path):
    project.chmod(0o777)
    done = gravel("cache", "ls", cwd=project / "work")
    assert done.returncode == 2
    assert f"{project}: every user can write it" in done.stderr
    assert f"chmod go-w {project}, or" in done.stderr
    project.chmod(0o1777)
    assert gravel("cache", "ls", cwd=project / "work").returncode == 0


def test_where_all_can_write_a_cache_is_made_before_others_can(project: Path):
    open_to_all = project / "tmp"
    open_to_all.mkdir()
    open_to_all.chmod(0o1777)
    assert gravel("cache", "ls", "--cache", str(open_to_all / "c"), cwd=project).returncode == 0
    assert (open_to_all / "c").stat().st_mode & 0o777 == 0o700


@needs_root
def test_a_link_is_as_safe_as_where_it_leads(project: Path):
    there = project / "there"
    there.mkdir()
    (project / "link").symlink_to(there)
    assert gravel("cache", "ls", "--cache", "link", cwd=project).returncode == 0
    give(there)
    done = gravel("cache", "ls", "--cache", "link", cwd=project)
    assert "is not trusted: it belongs to nobody" in done.stderr


@needs_root
@pytest.mark.parametrize("folder", ["recipes", "artifacts"])
def test_a_record_of_somebody_else_is_refused(project: Path, folder: str):
    work = project / "work"
    assert gravel(*RUN, cwd=work).returncode == 0
    record = sorted((project / ".gravel" / folder).iterdir())[0]
    os.chown(record, 65534, 65534)
    done = gravel(*RUN, cwd=work)
    assert done.returncode == 2
    assert f"{record} belongs to nobody, and the cache to root: it is not used" in done.stderr


@needs_root
def test_what_is_trusted_is_used_whoever_owns_it(project: Path):
    give(project / ".gravel")
    work = project / "work"
    named = gravel("cache", "ls", "--cache", str(project / ".gravel"), cwd=work)
    assert named.returncode == 2  # naming it is not enough
    for trusted in (f"/nowhere:{project}/.gravel", str(project), f"{project}/"):
        assert gravel("cache", "ls", cwd=work, GRAVEL_TRUSTED=trusted).returncode == 0, trusted
    for other in ("", f"{project}/.grav", "/nowhere", ".gravel"):
        assert gravel("cache", "ls", cwd=work, GRAVEL_TRUSTED=other).returncode == 2, other
    told = gravel("cache", "trust", "../.gravel", cwd=work)
    file = work / "home-0/.config/gravel/trusted-folders"
    assert told.stdout == (f"{project}/.gravel is trusted; to take that back, remove its line from {file}\n")
    assert gravel("cache", "ls", cwd=work).returncode == 0
    file.chmod(0o666)
    done = gravel("cache", "ls", cwd=work)
    assert done.returncode == 2
    assert f"{file} is not used" in done.stderr
    assert f"chmod -R go-w {file}" in done.stderr


@needs_root
def test_a_container_that_runs_as_root_leaves_files_that_the_owner_can_read(project: Path):
    give(project / ".gravel")
    work = project / "work"
    done = gravel(*RUN, cwd=work, GRAVEL_TRUSTED=str(project))
    assert done.returncode == 0, done.stderr
    assert all(each.stat().st_mode & 0o044 for each in (project / ".gravel").rglob("*.json"))


@needs_root
def test_results_are_copied_from_a_cache_of_somebody_else(project: Path):
    work = project / "work"
    assert gravel(*RUN, "--cache", "theirs", cwd=work).returncode == 0
    give(work / "theirs")
    done = gravel("cache", "pull", "theirs", cwd=work)
    assert done.returncode == 0, done.stderr
    assert "pulled" in done.stdout


def status(user: int, group: int) -> os.stat_result:
    """A folder of this user and group, to which nobody else writes."""
    return os.stat_result((stat.S_IFDIR | 0o755, 1, 1, 1, user, group, 0, 0, 0, 0))


def test_a_group_counts_inside_a_folder_and_not_above_it():
    """Members of a cache's group may have made what lies in it, but not where it lies."""
    theirs = status(4242, 777)
    assert ownership._unsafe("inside", theirs, {os.geteuid()}, {777}) is None
    assert ownership._unsafe("inside", theirs, {os.geteuid()}, {778}) is not None
    assert ownership._unsafe("above", theirs, {os.geteuid()}, {777}, is_above=True) is not None
