"""What gravel writes is the user's alone, whatever the mask it is started with; exports follow that mask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.other_user import WORKFLOW, gravel

SEARCH = f"""{WORKFLOW}  bfs: {{stage: traverse, input: graph, sources: [1]}}
  page: {{stage: report, inputs: [graph]}}
"""


def loose(folder: Path) -> list[str]:
    """List what others could read or write."""
    return [
        f"{each} {each.stat().st_mode & 0o7777:04o}"
        for each in (folder, *folder.rglob("*"))
        if not each.is_symlink() and each.stat().st_mode & 0o077
    ]


@pytest.mark.parametrize("cluster", ["inline", "local"])
def test_all_that_a_run_writes_is_the_users(tmp_path: Path, cluster: str):
    (tmp_path / "w.yaml").write_text(SEARCH)
    done = gravel("run", "w.yaml", "--cluster", cluster, "-q", "--cache", "c", cwd=tmp_path, umask=0)
    assert done.returncode == 0, done.stderr
    assert {"runs", "recipes", "artifacts", "data", "locks"} <= {
        each.name for each in (tmp_path / "c").iterdir()
    }
    assert list((tmp_path / "c").glob("runs/*/report.html"))
    assert loose(tmp_path / "c") == []
    gravel("run", "w.yaml", "--cluster", cluster, "-q", "--cache", "c", cwd=tmp_path, umask=0)
    gravel("schedule", "add", "w.yaml", "--cron", "@daily", "--cache", "c", cwd=tmp_path, umask=0)
    assert list((tmp_path / "c").glob("schedules/*/job.json"))
    assert loose(tmp_path / "c") == []


@pytest.mark.parametrize(
    ("umask", "mode"),
    [
        pytest.param(0o022, 0o644, marks=pytest.mark.slow),
        (0o027, 0o640),
        pytest.param(0o077, 0o600, marks=pytest.mark.slow),
    ],
)
def test_what_the_user_names_follows_their_mask(tmp_path: Path, umask: int, mode: int):
    (tmp_path / "w.yaml").write_text(SEARCH)
    done = gravel(
        "export", "w.yaml", "bfs", "--to", "o.csv", "--cluster", "inline", cwd=tmp_path, umask=umask
    )
    assert done.returncode == 0, done.stderr
    assert gravel("dag", "w.yaml", "--svg", "--to", "o.svg", cwd=tmp_path, umask=umask).returncode == 0
    for name in ("o.csv", "o.svg"):
        assert (tmp_path / name).stat().st_mode & 0o777 == mode, name


def test_a_cache_that_others_could_read_is_closed_once_and_that_is_said(tmp_path: Path):
    cache = tmp_path / ".gravel"
    (cache / "recipes").mkdir(parents=True)
    cache.chmod(0o755)
    done = gravel("cache", "ls", cwd=tmp_path)
    assert f"note: other users could read the cache {cache} (mode 0755); it is yours alone now" in done.stderr
    assert cache.stat().st_mode & 0o777 == 0o700
    assert gravel("cache", "ls", cwd=tmp_path).stderr == ""
    tmp_path.chmod(0o755)  # a folder with other uses is left as it is
    assert gravel("cache", "ls", "--cache", ".", cwd=tmp_path).stderr == ""
    assert tmp_path.stat().st_mode & 0o777 == 0o755
