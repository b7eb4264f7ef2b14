"""Results of others: ids are recomputed, and what no trusted key signed does not count."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli import main
from gravel.pipeline.store.objects import Folder
from gravel.pipeline.store.records import seal, unseal
from gravel.pipeline.store.s3 import open_remote
from tests.pipeline.s3_server import Line, ask, s3_server

URL = "s3://bucket/shared"

WORKFLOW = """\
workflow: small
stages:
  edges:  {stage: ingest, source: {rmat: {scale: 6, seed: 1}}}
  graph:  {stage: symmetrize, input: edges}
  bfs:    {stage: traverse, input: graph, sources: {random: 2, seed: 7}}
  other:  {stage: traverse, input: graph, sources: {random: 2, seed: 8}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def line(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    ask(server, "moto-api/reset", method="POST")
    ask(server, "bucket")
    line = Line(server)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "GRAVEL_CACHE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", line.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(tmp_path / "tiers"))
    monkeypatch.setattr("gravel.pipeline.store.s3.RETRIES", 1)
    yield line
    line.close()


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where results are exchanged: a folder, or a prefix of a bucket."""
    if request.param == "folder":
        return str(tmp_path / "disk")
    request.getfixturevalue("line")
    return URL


class World:
    """Users with configuration folders of their own, and caches on one machine."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._monkeypatch = monkeypatch
        self.file = folder / "small.yaml"
        self.file.write_text(WORKFLOW)

    def be(self, user: str) -> None:
        self._monkeypatch.setenv("XDG_CONFIG_HOME", str(self.config(user)))

    def config(self, user: str) -> Path:
        return self.folder / "homes" / user

    def cache(self, name: str) -> str:
        return str(self.folder / name)

    def call(self, *arguments: str) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert "Traceback" not in result.output + result.stderr
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def run(self, cache: str, *options: str) -> dict[str, Any]:
        """Run the workflow; return its stages' states, what was said, and its record."""
        result = self.call(
            "run", str(self.file), "--cache", cache, "--cluster", "inline", "--backend", "cpu", *options
        )
        assert result.exit_code == 0, result.output
        root = Path(cache) if "://" not in cache else next((self.folder / "tiers").iterdir())
        newest = max((root / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
        record = json.loads((newest / "run.json").read_text())
        states = {stage["key"]: stage["state"] for stage in record["stages"]}
        outputs = {stage["key"]: stage["outputs"] for stage in record["stages"]}
        recipes = {stage["key"]: stage["recipe"] for stage in record["stages"]}
        return {
            "states": states,
            "said": result.output,
            "record": record,
            "outputs": outputs,
            "recipes": recipes,
        }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, monkeypatch)
    world.be("me")
    return world


def read(place: str, name: str) -> bytes:
    source = open_remote(place) if place == URL else Folder(Path(place))
    text = source.get(name)
    assert text is not None
    return text


def write(place: str, name: str, text: bytes) -> None:
    if place == URL:
        open_remote(place).put(name, text)
    else:
        (Path(place) / name).write_bytes(text)


def names(place: str, folder: str) -> list[str]:
    source = open_remote(place) if place == URL else Folder(Path(place))
    return source.names(folder)


def swap(place: str, identity: str, other: str) -> None:
    """Write a record that is whole and sealed, and that leads to another artifact's data."""
    body = unseal(read(place, f"artifacts/{other}.json"))
    write(place, f"artifacts/{identity}.json", seal({**body, "id": identity}))


def unsign(place: str) -> None:
    """Make a place as versions of gravel left it that signed nothing and kept no roots of arrays."""
    for folder, field in (("recipes", "signature"), ("artifacts", "roots")):
        for name in names(place, folder):
            body = unseal(read(place, f"{folder}/{name}"))
            write(place, f"{folder}/{name}", seal({key: body[key] for key in body if key != field}))


def traversal(run: dict[str, Any], key: str) -> str:
    """The first output of a search, which holds its distances."""
    return str(run["outputs"][key][0])


def exported(world: World, cache: str, key: str) -> bytes:
    target = world.folder / f"{key}-{len(list(world.folder.iterdir()))}.csv"
    result = world.call("export", str(world.file), key, "--to", str(target), "--cache", cache)
    assert result.exit_code == 0, result.output
    return target.read_bytes()


ALL = {"edges", "graph", "bfs", "other"}


def keys_in(states: dict[str, str], state: str) -> set[str]:
    return {key for key, found in states.items() if found == state}


def test_a_record_with_anothers_data_is_not_pulled(world, place):
    one, two = world.cache("one"), world.cache("two")
    made = world.run(one)
    right = exported(world, one, "bfs")
    pushed = world.call("cache", "push", place, "--cache", one)
    assert pushed.exit_code == 0
    assert f" to {place}; 0 already there" in pushed.output
    swap(place, traversal(made, "bfs"), traversal(made, "other"))

    pulled = world.call("cache", "pull", place, "--cache", two)
    assert pulled.exit_code == 1
    assert traversal(made, "bfs")[:12] in pulled.output
    assert "its content is not what its id says" in pulled.output
    assert not (Path(two) / "artifacts" / f"{traversal(made, 'bfs')}.json").exists()
    assert len(list((Path(two) / "data").iterdir())) == len(list((Path(two) / "artifacts").iterdir()))

    again = world.run(two)
    assert keys_in(again["states"], "cached") == ALL - {"bfs"}
    assert exported(world, two, "bfs") == right


def test_a_store_does_not_serve_anothers_data(world, line):
    made = world.run(URL)
    right = exported(world, URL, "bfs")
    swap(URL, traversal(made, "bfs"), traversal(made, "other"))
    world._monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(world.folder / "another"))
    result = world.call("run", str(world.file), "--cache", URL, "--cluster", "inline", "--backend", "cpu")
    assert result.exit_code == 0
    assert "its content is not what its id says" in result.output + result.stderr
    assert "3 cached" in result.output + result.stderr
    assert exported(world, URL, "bfs") == right
    # What was wrong in the store is set aside there, and the right one is there again.
    assert names(URL, "quarantine")
    assert unseal(read(URL, f"artifacts/{traversal(made, 'bfs')}.json"))["id"] == traversal(made, "bfs")
    assert world.call("cache", "pull", URL, "--cache", world.cache("third")).exit_code == 0


def test_attributes_in_a_store_are_bound_to_the_id_before_any_data_come(world, line):
    made = world.run(URL)
    identity = traversal(made, "bfs")
    body = unseal(read(URL, f"artifacts/{identity}.json"))
    name = f"data/{body['data']}/zarr.json"
    lie = json.loads(read(URL, name))
    lie["attributes"]["vertex_count"] += 1
    text = json.dumps(lie).encode()
    write(URL, name, text)
    from blake3 import blake3

    files = [
        ["zarr.json", len(text), blake3(text).hexdigest()] if file[0] == "zarr.json" else file
        for file in body["files"]
    ]
    write(URL, f"artifacts/{identity}.json", seal({**body, "files": files}))
    world._monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(world.folder / "another"))
    result = world.call("run", str(world.file), "--cache", URL, "--cluster", "inline", "--backend", "cpu")
    assert result.exit_code == 0
    assert "3 cached" in result.output + result.stderr


def test_verify_recomputes_ids(world):
    cache = world.cache("one")
    made = world.run(cache)
    right = exported(world, cache, "bfs")
    identity = traversal(made, "bfs")
    swap(cache, identity, traversal(made, "other"))
    verified = world.call("cache", "verify", "--cache", cache)
    assert verified.exit_code == 1
    assert f"{identity[:12]}  its content is not what its id says" in verified.output
    assert "1 damaged" in verified.output
    assert keys_in(world.run(cache)["states"], "computed") == {"bfs"}
    assert exported(world, cache, "bfs") == right
    assert world.call("cache", "verify", "--cache", cache).exit_code == 0


def test_an_unsigned_recipe_is_no_hit(world, place):
    one, two = world.cache("one"), world.cache("two")
    world.run(one)
    world.call("cache", "push", place, "--cache", one)
    unsign(place)
    pulled = world.call("cache", "pull", place, "--cache", two)
    assert pulled.exit_code == 0
    assert "4 recipes came unsigned" in pulled.output
    assert "gravel cache push" in pulled.output

    planned = world.call("plan", str(world.file), "--cache", two, "--backend", "cpu")
    assert "its recipe came from elsewhere unsigned" in planned.output
    trusting = world.run(two, "--trust-remote")
    assert keys_in(trusting["states"], "cached") == ALL
    assert "--trust-remote: 4 recipes from elsewhere, unsigned, taken as they are" in trusting["said"]
    assert trusting["record"]["options"]["trust_remote"] is True
    assert trusting["record"]["trust"]["accepted"] == dict.fromkeys(trusting["recipes"].values())

    plain = world.run(two)
    assert keys_in(plain["states"], "computed") == ALL
    assert plain["said"].count("computed again") == 1
    assert "4 recipes from elsewhere, unsigned" in plain["said"]
    assert len(plain["record"]["trust"]["refused"]) == 4
    assert plain["record"]["trust"]["trust_remote"] is False
    assert keys_in(world.run(two)["states"], "cached") == ALL  # made here by now


def test_a_store_of_unsigned_recipes_serves_nothing_unless_told_to(world, line):
    world.run(URL)
    unsign(URL)
    for tier, options, state in (("a", (), "computed"), ("b", ("--trust-remote",), "cached")):
        unsign(URL)
        world._monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(world.folder / tier / "tiers"))
        run = World(world.folder / tier, world._monkeypatch).run(URL, *options)
        assert keys_in(run["states"], state) == ALL
        assert "4 recipes from elsewhere, unsigned" in run["said"]


def test_pushing_again_signs_what_lies_there_unsigned(world, place):
    one, two = world.cache("one"), world.cache("two")
    world.run(one)
    world.call("cache", "push", place, "--cache", one)
    unsign(place)
    pushed = json.loads(world.call("cache", "push", place, "--cache", one, "--json").output)
    assert (pushed["artifacts"], pushed["recipes"]) == (0, 4)
    assert json.loads(world.call("cache", "push", place, "--cache", one, "--json").output)["recipes"] == 0
    world.call("cache", "pull", place, "--cache", two)
    assert keys_in(world.run(two)["states"], "cached") == ALL


def test_a_key_counts_from_when_it_is_trusted_until_it_is_removed(world, place):
    one, two = world.cache("one"), world.cache("two")
    world.be("bob")
    world.run(one)
    world.call("cache", "push", place, "--cache", one)
    key = world.call("trust", "key").stdout.strip()
    shown = json.loads(world.call("trust", "key", "--json").stdout)
    assert key.startswith("ssh-ed25519 AAAA")

    world.be("alice")
    pulled = world.call("cache", "pull", place, "--cache", two)
    assert f"4 recipes came signed by the key {shown['fingerprint']}, which is not trusted" in pulled.output
    assert f"gravel trust add '{shown['key']}'" in pulled.output
    planned = world.call("plan", str(world.file), "--cache", two, "--backend", "cpu")
    assert f"signed by the key {shown['fingerprint']}, which is not trusted" in planned.output

    added = world.call("trust", "add", *shown["key"].split(), "--name", "Bob")
    assert added.output == f"trusted from now on: {shown['fingerprint']} (Bob)\n"
    assert keys_in(world.run(two)["states"], "cached") == ALL
    assert keys_in(world.run(two)["states"], "cached") == ALL
    assert f"{shown['fingerprint']} (Bob)" in world.call("trust", "list").output

    # It is passed on with Bob's signature, not with one of Alice's.
    third = world.cache("third")
    world.call("cache", "push", third, "--cache", two)
    recipe = unseal(read(third, f"recipes/{names(third, 'recipes')[0]}"))
    assert recipe["signature"]["key"].startswith(shown["key"])

    assert world.call("trust", "remove", "Bob").exit_code == 0
    again = world.run(two)
    assert keys_in(again["states"], "computed") == ALL
    assert f"signed by the key {shown['fingerprint']}" in again["said"]


def test_a_signature_fits_nothing_else(world, place):
    one = world.cache("one")
    made = world.run(one)
    world.call("cache", "push", place, "--cache", one)
    bfs, other = made["recipes"]["bfs"], made["recipes"]["other"]
    bodies = {digest: unseal(read(place, f"recipes/{digest}.json")) for digest in (bfs, other)}
    forged = [
        {**bodies[bfs], "outputs": bodies[other]["outputs"]},
        {**bodies[bfs], "signature": bodies[other]["signature"]},
        {**bodies[other], "recipe": bfs},
        {**bodies[bfs], "provenance": {**bodies[bfs]["provenance"], "seconds": 0.0}},
        {**bodies[bfs], "signature": {**bodies[bfs]["signature"], "ed25519": "garbage"}},
        {**bodies[bfs], "signature": "garbage"},
    ]
    for number, body in enumerate(forged):
        write(place, f"recipes/{bfs}.json", seal(body))
        cache = world.cache(f"pulled {number}")
        pulled = world.call("cache", "pull", place, "--cache", cache)
        assert pulled.exit_code == 1
        assert f"{bfs[:12]}  the record of the recipe is damaged (its signature" in pulled.output
        assert keys_in(world.run(cache)["states"], "computed") == {"bfs"}


def test_no_private_key_is_in_a_cache_and_only_its_owner_reads_it(world, tmp_path):
    one, disk = world.cache("one"), world.cache("disk")
    world.run(one)
    world.call("cache", "push", disk, "--cache", one)
    folder = world.config("me") / "gravel"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "signing-key").stat().st_mode) == 0o600
    secret = (folder / "signing-key").read_bytes().split(b"\n")[1]
    for root in (one, disk):
        assert not [path for path in Path(root).rglob("*") if path.is_file() and secret in path.read_bytes()]


@pytest.mark.parametrize("change", ["garbage", "truncated", "empty", "readable", "folder"])
def test_a_key_file_that_cannot_be_relied_on_is_refused(world, change):
    one = world.cache("one")
    world.run(one)
    world.call("trust", "key")
    folder = world.config("me") / "gravel"
    key = folder / "signing-key"
    if change == "garbage":
        key.write_bytes(os.urandom(200))
    elif change == "truncated":
        key.write_bytes(key.read_bytes()[:60])
    elif change == "empty":
        key.write_bytes(b"")
    else:
        (key if change == "readable" else folder).chmod(0o644 if change == "readable" else 0o777)
    pushed = world.call("cache", "push", world.cache("disk"), "--cache", one)
    assert pushed.exit_code == 2
    said = pushed.output + pushed.stderr
    assert str(key if change != "folder" else folder) in said
    if change in ("readable", "folder"):
        assert f"chmod go-{'rwx' if change == 'readable' else 'w'} " in said
    assert not list((Path(world.cache("disk"))).rglob("*.json"))


def test_a_home_that_cannot_be_written_is_said(world, monkeypatch):
    one = world.cache("one")
    world.run(one)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nothing")
    pushed = world.call("cache", "push", world.cache("disk"), "--cache", one)
    assert pushed.exit_code == 2
    assert "no signing key can be made" in pushed.output + pushed.stderr
    assert "XDG_CONFIG_HOME" in pushed.output + pushed.stderr
    added = world.call("trust", "add", "ssh-ed25519", GOOD)
    assert added.exit_code == 2
    assert "the trusted keys cannot be changed" in added.output + added.stderr
    assert keys_in(world.run(one)["states"], "cached") == ALL  # nothing of it concerns what is made here


GOOD = "AAAAC3NzaC1lZDI1NTE5AAAAIGXnzq3yZxGE2hIQw4kGpjRrBJ2y2mgjEUcXo8hmtyAe"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ssh-rsa AAAAB3NzaC1yc2E", "'ssh-ed25519' was expected"),
        ("ssh-ed25519", "nothing follows"),
        ("ssh-ed25519 %%%", "is not base64"),
        (f"ssh-ed25519 {GOOD[:40]}", "is it whole?"),
        (f"ssh-ed25519 {GOOD}AAAA", "is it whole?"),
        ("nothing.pub", "neither a public key nor a file"),
        ("", "neither a public key nor a file"),
        (f"ssh-ed25519 {GOOD} a\x1bname", "printable"),
    ],
)
def test_garbage_is_not_trusted(world, text, told):
    added = world.call("trust", "add", text)
    assert added.exit_code == 2
    assert told in added.output + added.stderr
    assert "ssh-ed25519 AAAA" in added.output + added.stderr
    assert json.loads(world.call("trust", "list", "--json").output) == {"own": None, "trusted": []}


def test_keys_are_added_from_files_and_removed_by_any_name(world):
    file = world.folder / "bob.pub"
    file.write_text(f"ssh-ed25519 {GOOD} bob@there\n")
    fingerprint = "SHA256:"
    for name in ("bob@there", f"ssh-ed25519 {GOOD}", fingerprint):
        added = world.call("trust", "add", str(file))
        fingerprint = next(word for word in added.output.split() if word.startswith("SHA256:"))
        assert world.call("trust", "add", str(file)).output.startswith("trusted already")
        gone = world.call("trust", "remove", name if name != "SHA256:" else fingerprint)
        assert gone.exit_code == 0, gone.output
    missing = world.call("trust", "remove", "bob@there")
    assert missing.exit_code == 2
    assert "gravel trust list" in missing.output + missing.stderr
    world.call("trust", "key")
    own = world.config("me") / "gravel" / "signing-key"
    assert "holds a private key" in world.call("trust", "add", str(own)).stderr
    assert "your own key" in world.call("trust", "add", f"{own}.pub").output


def test_a_list_of_keys_that_cannot_be_relied_on_is_refused(world):
    one, disk = world.cache("one"), world.cache("disk")
    world.run(one)
    world.call("cache", "push", disk, "--cache", one)
    trusted = world.config("me") / "gravel" / "trusted-keys"
    trusted.write_text(f"# friends\n\nssh-ed25519 {GOOD} bob\nnonsense\n")
    pulled = world.call("cache", "pull", disk, "--cache", world.cache("two"))
    assert pulled.exit_code == 2
    assert f"{trusted}:4: " in pulled.output + pulled.stderr
    trusted.write_text(f"ssh-ed25519 {GOOD} bob\n")
    trusted.chmod(0o666)
    pulled = world.call("cache", "pull", disk, "--cache", world.cache("two"))
    assert pulled.exit_code == 2
    assert f"chmod go-w {trusted}" in pulled.output + pulled.stderr


def gravel(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from gravel.pipeline.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_pushes_at_once_make_one_key(world):
    one = world.cache("one")
    world.run(one)
    pushes = [gravel("cache", "push", world.cache(f"disk{n}"), "--cache", one) for n in range(4)]
    for push in pushes:
        _, stderr = push.communicate(timeout=120)
        assert push.returncode == 0, stderr
    keys = {
        unseal(path.read_bytes())["signature"]["key"]
        for n in range(4)
        for path in (Path(world.cache(f"disk{n}")) / "recipes").iterdir()
    }
    assert len(keys) == 1
    left = {path.name for path in (world.config("me") / "gravel").iterdir()}
    assert left == {"signing-key", "signing-key.pub"}


def test_a_cached_run_of_what_was_pulled_reads_no_cryptography(world):
    one, disk, two = world.cache("one"), world.cache("disk"), world.cache("two")
    world.run(one)
    world.call("cache", "push", disk, "--cache", one)
    world.call("cache", "pull", disk, "--cache", two)
    code = (
        "import sys, atexit\n"
        "heavy = {'cryptography', 'numpy', 'zarr', 'distributed'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "from gravel.pipeline.cli import main; main()"
    )
    words = ["run", str(world.file), "--cache", two, "--backend", "cpu", "--cluster", "inline"]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert "4 cached" in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
