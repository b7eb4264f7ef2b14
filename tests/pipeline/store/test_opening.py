"""What a disk names is opened without following links; kind, owner and size are those of what was opened."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store import descriptors, opening
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.descriptors import ForeignLink, NoFolder, Obstacle, create, enter, make_folder
from gravel.pipeline.store.files import LocalFiles
from gravel.pipeline.store.opening import Foreign, find_missing, names_in, open_file, read_file, stated
from tests.pipeline.other_user import OTHER, group, needs_root
from tests.pipeline.samples import graph, publish

NAME = "data/a/b/file"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A cache with one file deep in it, and a secret beside it."""
    root = tmp_path / "cache"
    (root / NAME).parent.mkdir(parents=True)
    (root / NAME).write_bytes(b"content")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b").mkdir()
    (tmp_path / "secret" / "b" / "file").write_bytes(b"content")
    (tmp_path / "secret" / "file").write_bytes(b"content")
    return root


def swap(path: Path, to: Path) -> None:
    """Put a link in place of what lies there."""
    path.rename(path.with_name(f"{path.name}-before"))
    path.symlink_to(to)


def test_a_file_is_read_whole(root):
    assert read_file(root, NAME) == b"content"
    assert names_in(root, "data/a") == ["b"]
    assert stated(root, NAME).st_size == 7
    with pytest.raises(FileNotFoundError):
        read_file(root, "data/a/none/file")


@pytest.mark.parametrize(("part", "to"), [("a", "secret"), ("a/b", "secret"), ("a/b/file", "secret/file")])
@pytest.mark.parametrize("relative", [False, True])
def test_no_link_below_the_root_is_followed(root, part, to, relative):
    path = root / "data" / part
    target = root.parent / to
    swap(path, Path(os.path.relpath(target, path.parent)) if relative else target)
    assert (root / NAME).read_bytes() == b"content"
    with pytest.raises(Obstacle, match=f"{path} is a link, which is not followed") as caught:
        read_file(root, NAME)
    assert isinstance(caught.value, NoFolder) == (not part.endswith("file"))
    assert stated(root, NAME) is None
    assert "link" in (find_missing(root, "data", [("a/b/file", 7)]) or "")
    if part != "a/b/file":
        with pytest.raises(NoFolder):
            names_in(root, "data/a/b")
        with pytest.raises(NoFolder):
            create(root, "data/a/b/new")
    assert not list(root.parent.rglob("new"))


def test_nor_one_within_the_root(root):
    (root / "data" / "other").symlink_to("a")
    with pytest.raises(Obstacle, match="is a link"):
        read_file(root, "data/other/b/file")


def test_the_way_out_is_none(root):
    with pytest.raises(NoFolder):
        read_file(root, "data/../../secret/file")
    LocalFiles(root).remove("data/..")
    assert read_file(root, NAME) == b"content"


def test_a_link_at_the_root_is_followed(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    assert read_file(tmp_path / "link", NAME) == b"content"


def test_a_link_of_ones_own_to_a_first_folder_is_followed(root, tmp_path):
    (root / "data").rename(tmp_path / "large")
    (root / "data").symlink_to(tmp_path / "large")
    assert read_file(root, NAME) == b"content"
    assert make_folder(root, "data/new") == []
    assert (tmp_path / "large" / "new").is_dir()
    cache = Cache(root, pytest.fail)
    record = publish(cache, graph(), "one")
    assert cache.check(record.id) is None
    cache.sweep()
    assert cache.open(record.id).vertex_count == 40
    assert cache.verify().damaged == {}


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_not_where_others_may_write(root, tmp_path, mode, monkeypatch):
    monkeypatch.setattr(descriptors, "is_own_group", lambda group: False)
    (root / "data").rename(tmp_path / "large")
    (root / "data").symlink_to(tmp_path / "large")
    root.chmod(mode)
    refusal = f"{root}/data is a link, and it is not followed: others can exchange it"
    for action in (
        lambda: read_file(root, NAME),
        lambda: make_folder(root, "data/new"),
        lambda: LocalFiles(root).names("data"),
        lambda: LocalFiles(root).remove("data/a"),
        lambda: LocalFiles(root).move("data/a", "quarantine/a"),
        lambda: LocalFiles(root).replace("data/x", b""),
        lambda: Cache(root).sweep(),
    ):
        with pytest.raises(ForeignLink, match=refusal):
            action()
    assert sorted(path.name for path in (tmp_path / "large").iterdir()) == ["a"]


@needs_root
@pytest.mark.parametrize("whose", ["link", "root"])
def test_nor_one_that_somebody_else_made_or_can_exchange(root, tmp_path, whose):
    (root / "data").rename(tmp_path / "large")
    (root / "data").symlink_to(tmp_path / "large")
    os.chown(root / "data" if whose == "link" else root, OTHER, OTHER, follow_symlinks=False)
    said = "nobody made it" if whose == "link" else "nobody can exchange it"
    with pytest.raises(ForeignLink, match=f"is not followed: {said}"):
        read_file(root, NAME)


@needs_root
def test_a_run_does_not_empty_what_others_link_to(root, tmp_path):
    """The scratch of runs that died is removed: a link there could have had a home folder removed."""
    from gravel.pipeline.scheduler.execution import sweep

    (root / "scratch").symlink_to(tmp_path / "secret")
    os.chown(root / "scratch", OTHER, OTHER, follow_symlinks=False)
    with pytest.raises(ForeignLink, match=f"{root}/scratch is a link"):
        sweep(Cache(root))
    assert (tmp_path / "secret" / "b" / "file").exists()


def bind(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have a hundred characters only
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a socket": bind,
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a device": lambda path: os.mknod(path, 0o020600, os.makedev(1, 5)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_read_nor_waited_for(root, kind):
    path = root / NAME
    path.unlink()
    try:
        KINDS[kind](path)
    except PermissionError:
        pytest.skip("only root can make a device")
    for action in (read_file, open_file):
        with pytest.raises(Obstacle, match=f"{path} is {kind}"):
            action(root, NAME)
    assert stated(root, NAME) is None
    assert kind in (find_missing(root, "data", [("a/b/file", 7)]) or "")


def test_a_file_that_is_too_large_is_not_read(root):
    os.truncate(root / NAME, 20 << 30)
    with pytest.raises(Obstacle, match="is a file of 21,474,836,480 bytes, and one of at most 67,108,864"):
        read_file(root, NAME)
    with pytest.raises(Obstacle, match="one of at most 7 is needed"):
        open_file(root, NAME, 7)
    os.truncate(root / NAME, 7)
    assert read_file(root, NAME, 7) == b"content"


def test_what_is_put_there_after_the_look_is_what_is_judged(root, monkeypatch):
    """A file is asked about once it is open: what a name leads to by then does not matter."""
    before = os.fstat

    def exchanged(handle: int) -> os.stat_result:
        (root / NAME).unlink(missing_ok=True)
        (root / NAME).symlink_to("/etc/passwd")
        monkeypatch.setattr(opening.os, "fstat", before)
        return before(handle)

    monkeypatch.setattr(opening.os, "fstat", exchanged)
    assert read_file(root, NAME) == b"content"
    with pytest.raises(Obstacle):
        read_file(root, NAME)


@needs_root
def test_a_file_of_somebody_else_is_not_read(root, monkeypatch):
    os.chown(root / NAME, OTHER, OTHER)
    with pytest.raises(Foreign, match=f"{root / NAME} is a file of nobody"):
        read_file(root, NAME)
    with pytest.raises(RequestError, match="belongs to nobody, and the cache to root: it is not used"):
        LocalFiles(root).read(NAME)
    os.chown(root, OTHER, OTHER)
    assert read_file(root, NAME) == b"content"  # of whom the folder belongs to
    os.chown(root, 0, 0)
    monkeypatch.setenv("GRAVEL_TRUSTED", str(root))
    assert read_file(root, NAME) == b"content"


@needs_root
def test_a_file_of_the_group_is_read_in_its_cache(root):
    from gravel.pipeline.store.sharing import init_shared

    shared = root.parent / "shared"
    init_shared(shared, str(group()))
    (shared / "recipes").mkdir()
    for name, owner in (("ours", group()), ("theirs", OTHER)):
        (shared / "recipes" / name).write_bytes(b"content")
        os.chown(shared / "recipes" / name, OTHER, owner)
    assert read_file(shared, "recipes/ours") == b"content"
    with pytest.raises(Foreign):
        read_file(shared, "recipes/theirs")
    (shared / "shared.json").rename(shared / "mark")
    (shared / "shared.json").symlink_to("mark")
    with pytest.raises(RequestError, match="is a link, which is not followed"):
        read_file(shared, "recipes/ours")


def test_descriptors_are_given_back(root):
    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    swap(root / NAME, root.parent / "secret" / "file")
    (root / "data" / "link").symlink_to("a")
    before = held()
    for _ in range(5):
        for name in (NAME, "data/link/b", "data/none/x", "data/../x", "data/a/b"):
            for action in (read_file, create):
                with pytest.raises((Obstacle, FileNotFoundError, FileExistsError)):
                    action(root, name)
            assert stated(root, name) is None
        os.close(enter(root, "data/a/b"))
        names_in(root, "data")
        find_missing(root, "data", [("a/b/none", 1)])
        make_folder(root, "data/a/c/d")
        LocalFiles(root).remove("data/a/c")
    assert held() == before


def test_data_behind_a_link_are_damage_of_their_artifact_alone(tmp_path):
    said: list[str] = []
    cache = Cache(tmp_path / "cache", said.append)
    record, other = publish(cache, graph(seed=1), "one"), publish(cache, graph(seed=2), "two")
    swap(record.path / "row_offsets", record.path / "row_offsets-before")
    assert "row_offsets" in (cache.check(record.id) or "")
    assert cache.check(other.id) is None
    damaged = cache.verify().damaged
    assert list(damaged) == [record.id]
    assert f"{record.path}/row_offsets is a link, which is not followed" in damaged[record.id]


def test_what_is_no_file_is_left_to_who_asked_for_that(tmp_path: Path) -> None:
    (tmp_path / "data" / "a").mkdir(parents=True)
    obstructed: list[str] = []
    before = len(list(Path("/proc/self/fd").iterdir()))
    files = LocalFiles(tmp_path, obstructed=lambda name, problem: obstructed.append(name))
    assert files.read("data/a") is None
    assert obstructed == ["data/a"]
    assert (tmp_path / "data" / "a").is_dir()
    assert len(list(Path("/proc/self/fd").iterdir())) == before, "what was opened to see what it is"
    assert LocalFiles(tmp_path).read("data/a") is None
    assert not (tmp_path / "data" / "a").exists(), "else it is moved out of the way"
