"""Folders and stores that others prepared: what is wrong costs itself, and nothing private leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from gravel.pipeline.store import objects
from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.store.records import seal, unseal
from tests import forked
from tests.drills.gravel import PROGRAM, call_inside, environment
from tests.pipeline.other_user import OTHER, needs_root
from tests.pipeline.samples import equal, graph, recipe
from tests.pipeline.store.remote_case import URL, places, put_graph
from tests.pipeline.store.trust_case import WORKFLOW, world

__all__ = ["places", "world"]

MEMORY = 2 << 30
"""Bytes of addresses that a pull may take: it needs a tenth of that, and sparse files have 20 GiB."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the results of one run."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "w.yaml").write_text(WORKFLOW)
    done = gravel(folder, "run", "w.yaml", "--cluster", "inline", "--cache", "disk")
    assert done.returncode == 0, done.stderr
    return folder / "disk"


def gravel(cwd: Path, *words: str, is_large: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command; fails if it shows a traceback.

    What is large is met in a process of its own, that of a command on caches in little memory.
    """
    if is_large:
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); "
        limit = limit if words[0] == "cache" else ""
        variables = {"PYTHONPATH": str(Path(__file__).parents[3]), "XDG_CONFIG_HOME": str(cwd)}
        done = forked.run(["-c", limit + PROGRAM[-1], *words], cwd=cwd, env=environment() | variables)
    else:
        done = call_inside([*PROGRAM, *words], cwd)
    assert "raceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def artifact(share: Path, kind: str = "Graph") -> tuple[Path, dict[str, Any]]:
    """Return the record of the artifact of a kind, and its body."""
    for path in sorted((share / "artifacts").iterdir()):
        body = unseal(path.read_bytes())
        if body["kind"] == kind:
            return path, body
    raise LookupError(kind)


def run_of(share: Path) -> Path:
    (run,) = (share / "runs").iterdir()
    return run


def data_of(share: Path, name: str) -> Path:
    return share / "data" / artifact(share)[1]["data"] / name


def grow(path: Path) -> None:
    os.truncate(path, 20 << 30)


def put(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def in_place(path: Path) -> None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return in_place


def secret_link(path: Path) -> None:
    """Link to a copy, so that only following the link shows."""
    copy = path.with_name(f".{path.name}")
    path.rename(copy)
    path.symlink_to(copy)


WAYS: dict[str, Callable[[Path], None]] = {
    "a pipe": put(os.mkfifo),
    "a link": secret_link,
    "a link to a device": put(lambda path: path.symlink_to("/dev/zero")),
    "a folder": put(Path.mkdir),
    "20 GiB": grow,
}

LARGE = ("20 GiB", "a link to a device")

PLACES: dict[str, Callable[[Path], Path]] = {
    "metadata": lambda share: data_of(share, "zarr.json"),
    "an array's metadata": lambda share: data_of(share, "column_indices/zarr.json"),
    "a shard": lambda share: data_of(share, "column_indices/c/0"),
    "a record": lambda share: artifact(share)[0],
    "a recipe": lambda share: sorted((share / "recipes").iterdir())[0],
    "a run's record": lambda share: run_of(share) / "run.json",
    "a run's log": lambda share: run_of(share) / "events.jsonl",
    "a page": lambda share: run_of(share) / "report.json",
}


@pytest.mark.parametrize(
    ("place", "way"),
    [
        (place, way)
        for place, rest in zip(PLACES, cycle(["a link", "a link to a device", "a folder"]))
        for way in ("a pipe", "20 GiB", rest)
    ],
)
def test_what_is_no_sound_file_costs_itself(made, tmp_path, place, way):
    share = tmp_path / "share"
    shutil.copytree(made, share)
    (run_of(share) / "logs").mkdir(exist_ok=True)
    WAYS[way](path := PLACES[place](share))
    pulled = gravel(tmp_path, "cache", "pull", "share", "--cache", "mine", "--json", is_large=way in LARGE)
    assert pulled.returncode == 1, pulled.stdout + pulled.stderr
    moved = json.loads(pulled.stdout)
    (reason,) = moved["damaged"].values()
    assert str(path) in reason
    assert ("longer than" in reason or "at most" in reason) if way == "20 GiB" else way[:6] in reason
    of_run = "run" in place or "page" in place
    assert moved["runs"] == (not of_run)
    # The run itself knows two artifacts of each search: they come without what is damaged.
    everything = len(list((made / "artifacts").iterdir()))
    assert moved["artifacts"] >= everything - (0 if of_run else 2)
    assert not list((tmp_path / "mine" / "data").glob("*.lock"))
    assert sorted(path.name for path in (share / "quarantine").glob("*")) == []


@pytest.mark.parametrize("part", ["column_indices", "column_indices/c", ""])
def test_a_folder_that_is_a_link_is_not_entered(made, tmp_path, part):
    share = tmp_path / "share"
    shutil.copytree(made, share)
    secret_link(path := data_of(share, part))
    pulled = gravel(tmp_path, "cache", "pull", "share", "--cache", "mine", "--json")
    (reason,) = json.loads(pulled.stdout)["damaged"].values()
    assert f"{path} is a link, which is not followed" in reason


@needs_root
@pytest.mark.parametrize("folder", ["data", "runs", "recipes", "artifacts"])
def test_a_first_folder_that_others_linked_is_refused_with_its_path(made, tmp_path, folder):
    share = tmp_path / "share"
    shutil.copytree(made, share)
    secret_link(share / folder)
    shutil.copytree(made, tmp_path / "fine")
    followed = gravel(tmp_path, "cache", "pull", "share", "--cache", "followed")
    assert followed.returncode == 0, followed.stderr
    os.chown(share / folder, OTHER, OTHER, follow_symlinks=False)
    pulled = gravel(tmp_path, "cache", "pull", "share", "--cache", "mine", "--json")
    assert pulled.returncode == 1
    assert f"{share}/{folder} is a link, and it is not followed: nobody made it" in pulled.stdout
    assert json.loads(pulled.stdout)["runs"] == (folder != "runs")
    pushed = gravel(tmp_path, "cache", "push", "share", "--cache", "fine")
    assert pushed.returncode == 2, pushed.stdout
    assert f"{share}/{folder} is a link, and it is not followed: nobody made it" in pushed.stderr


@pytest.mark.parametrize(
    "name", ["notes.txt", "logs/extra.txt", "logs/bfs.log", "report.json", "events.jsonl"]
)
def test_a_private_file_does_not_leave_by_a_link_in_a_run(world, made, tmp_path, name):
    """Whoever may write a share plants a link, waits for a pull, takes the run away and waits for a push."""
    share, mine = tmp_path / "share", world.cache("mine")
    shutil.copytree(made, share)
    assert world.call("trust", "key").exit_code == 0
    secret = world.config("me") / "gravel" / "signing-key"
    planted = run_of(share) / name
    planted.parent.mkdir(exist_ok=True)
    planted.unlink(missing_ok=True)
    planted.symlink_to(secret)
    world.call("cache", "pull", str(share), "--cache", mine)
    shutil.rmtree(run_of(share))
    world.call("cache", "push", str(share), "--cache", mine)
    private = secret.read_bytes()
    for folder in (share, Path(mine)):
        for path in folder.rglob("*"):
            assert not path.is_symlink()
            assert not path.is_file() or private not in path.read_bytes(), path
    # And where the link is in the user's own cache.
    if (Path(mine) / "runs").exists():
        for run in (Path(mine) / "runs").iterdir():
            (run / name).parent.mkdir(exist_ok=True)
            (run / name).unlink(missing_ok=True)
            (run / name).symlink_to(secret)
    other = tmp_path / "other"
    world.call("cache", "push", str(other), "--cache", mine)
    for path in other.rglob("*"):
        assert not path.is_file() or private not in path.read_bytes(), path


def test_only_what_runs_have_is_copied(made, tmp_path):
    share = tmp_path / "share"
    shutil.copytree(made, share)
    run = run_of(share)
    for name in (
        "notes.txt",
        "logs/bfs.log",
        "logs/notes.txt",
        "logs/deep/bfs.log",
        "profile.json",
        ".hidden",
    ):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("it ran")
    before = {path.name for path in run_of(made).iterdir() if path.is_file()}
    assert gravel(tmp_path, "cache", "pull", "share", "--cache", "mine").returncode == 0
    mine = tmp_path / "mine" / "runs" / run.name
    names = {path.relative_to(mine).as_posix() for path in mine.rglob("*") if path.is_file()}
    assert names == before | {"logs/bfs.log", "profile.json"}


def reseal(path: Path, body: dict[str, Any]) -> None:
    path.write_bytes(seal(body))


def huge_shape(share: Path) -> None:
    path, body = artifact(share)
    text = data_of(share, "column_indices/zarr.json")
    metadata = json.dumps({**json.loads(text.read_bytes()), "shape": [2**62]}, indent=1).encode()
    text.write_bytes(metadata)
    body["arrays"]["column_indices"] = ["uint32", [2**62]]
    for file in body["files"]:
        if file[0] == "column_indices/zarr.json":
            file[1:] = [len(metadata), blake3(metadata).hexdigest()]
    reseal(path, body)


def stated(name: str, size: int) -> Callable[[Path], None]:
    """Have the record agree with a sparse file."""

    def harm(share: Path) -> None:
        path, body = artifact(share)
        os.truncate(data_of(share, name), size)
        for file in body["files"]:
            if file[0] == name:
                file[1] = size
        reseal(path, body)

    return harm


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def harm(share: Path) -> None:
        path, body = artifact(share)
        change(body)
        reseal(path, body)

    return harm


RECORDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a huge shape": (huge_shape, "and its dtype and shape make"),
    "metadata of 20 GiB": (stated("zarr.json", 20 << 30), "its metadata have more than 67,108,864 bytes"),
    "an array of 20 GiB": (stated("column_indices/c/0", 20 << 30), "and its dtype and shape make"),
    "many axes": (
        changed(lambda body: body["arrays"].update(more=["int64", [2**62] * 100_000])),
        "its values are not those of an artifact's record",
    ),
    "a file that is no array's": (
        changed(lambda body: body["files"].append(["more/c/0", 1 << 40, "0" * 64])),
        "'more/c/0', which belongs to none of its arrays",
    ),
    "a file twice": (changed(lambda body: body["files"].append(body["files"][0])), "'zarr.json' twice"),
    "another name": (
        changed(lambda body: body["files"].append(["column_indices/zarr.json\x1b", 9, "0" * 64])),
        "which",
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_what_a_record_says_is_bounded_before_anything_is_read(made, tmp_path, case):
    share = tmp_path / "share"
    shutil.copytree(made, share)
    harm, said = RECORDS[case]
    harm(share)
    pulled = gravel(tmp_path, "cache", "pull", "share", "--cache", "mine", "--json", is_large=True)
    (reason,) = json.loads(pulled.stdout)["damaged"].values()
    assert said in reason
    # The same in a cache of one's own: what is damaged is computed again, and nothing else.
    verified = gravel(tmp_path, "cache", "verify", "--cache", "share", is_large=True)
    assert verified.returncode == 1, verified.stdout
    ran = gravel(tmp_path, "run", str(made.parent / "w.yaml"), "--cluster", "inline", "--cache", "share")
    assert ran.returncode == 0, ran.stderr
    assert gravel(tmp_path, "cache", "verify", "--cache", "share").returncode == 0


@pytest.mark.parametrize("place", ["a record", "a recipe"])
@pytest.mark.parametrize("way", ["20 GiB", "a pipe", "a link"])
def test_a_look_up_is_bounded_too(made, tmp_path, place, way):
    cache = tmp_path / "cache"
    shutil.copytree(made, cache)
    WAYS[way](path := PLACES[place](cache))
    words = ("run", str(made.parent / "w.yaml"), "--cluster", "inline", "--cache", "cache")
    ran = gravel(tmp_path, *words, is_large=way in LARGE)
    assert ran.returncode == 0, ran.stderr
    assert f"{path} is " in ran.stdout + ran.stderr
    assert path.stat(follow_symlinks=False).st_size < 1 << 20
    assert gravel(tmp_path, "cache", "verify", "--cache", "cache").returncode == 0


def test_a_runs_record_is_bounded(made, tmp_path):
    cache = tmp_path / "cache"
    shutil.copytree(made, cache)
    grow(run_of(cache) / "run.json")
    for words in (("runs",), ("status",), ("cache", "gc")):
        assert gravel(tmp_path, *words, "--cache", "cache", is_large=True).returncode in (0, 2)


@pytest.mark.parametrize("name", ["recipes", "artifacts"])
def test_a_large_object_in_a_store_is_not_read(places, monkeypatch, name):
    """Nor is the store left alone for it: other results still come from there."""
    one = places("one")
    record = put_graph(one)
    put_graph(one, "other", 500)
    target = Bucket(URL)
    text = {"recipes": f"recipes/{recipe('one').digest}.json", "artifacts": f"artifacts/{record.id}.json"}[
        name
    ]
    body = target.get(text)
    assert body is not None
    target.put(text, body + b" " * 200_000)
    monkeypatch.setattr(objects, "MAX_RECORD_BYTES", 150_000)
    two = places("two")
    assert two.cache.look_up(recipe("one").digest) is None
    (said,) = two.told
    assert f"{URL}/{text} has {len(body) + 200_000:,} bytes, and at most 150,000 are read" in said
    found = two.cache.look_up(recipe("other").digest)
    assert found is not None
    assert equal(two.cache.open(found.outputs[0]), graph(500))


def test_a_large_object_in_a_store_costs_itself(world, line, monkeypatch):
    world.run(world.cache("one"))
    assert world.call("cache", "push", "s3://bucket/shared", "--cache", world.cache("one")).exit_code == 0
    target = Bucket("s3://bucket/shared")
    names = target.names("artifacts")
    large = f"artifacts/{names[0]}"
    target.put(large, b" " * 200_000)
    monkeypatch.setattr(objects, "MAX_RECORD_BYTES", 150_000)
    pulled = world.call("cache", "pull", "s3://bucket/shared", "--cache", world.cache("two"), "--json")
    assert pulled.exit_code == 1
    moved = json.loads(pulled.stdout)
    assert moved["damaged"].keys() == {names[0].removesuffix(".json")}
    assert moved["runs"] == 1
    # Whoever pushes mends it.
    mended = world.call("cache", "push", "s3://bucket/shared", "--cache", world.cache("one"))
    assert mended.exit_code == 0, mended.output
