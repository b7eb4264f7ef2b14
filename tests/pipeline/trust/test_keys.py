"""Keys: whose they are, which are trusted, and files that cannot be relied on."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.store.records import unseal
from gravel.pipeline.trust import keys
from gravel.pipeline.trust.keys import check_only_mine
from tests.pipeline.other_user import OTHER, needs_root
from tests.pipeline.store.conftest import line, server
from tests.pipeline.store.trust_case import ALL, keys_in, names, place, read, world

__all__ = ["line", "place", "server", "world"]


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


@pytest.mark.parametrize("me", [0, 1000])
@pytest.mark.parametrize("owner", [0, 1000, 1001])
def test_only_files_of_the_user_and_of_root_are_relied_on(monkeypatch, owner, me):
    """Whoever runs the tests: root owns what it makes, and would not notice."""

    class Owned(type(Path())):  # type: ignore[misc]
        def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
            return os.stat_result((stat.S_IFREG | 0o600, 1, 1, 1, owner, owner, 1, 0, 0, 0))

    monkeypatch.setattr(keys.os, "geteuid", lambda: me)
    if owner in (me, 0):
        check_only_mine(Owned("/key"), 0o077, "it is secret")
        return
    with pytest.raises(RequestError, match=f"/key belongs to user {owner}, and it is secret") as refused:
        check_only_mine(Owned("/key"), 0o077, "it is secret")
    assert refused.value.problems[0].hint == f"chown {me} /key"


@needs_root
def test_a_key_of_somebody_else_is_refused(world):
    one = world.cache("one")
    world.run(one)
    world.call("trust", "key")
    os.chown(world.config("me") / "gravel" / "signing-key", OTHER, OTHER)
    pushed = world.call("cache", "push", world.cache("disk"), "--cache", one)
    assert pushed.exit_code == 2
    assert f"signing-key belongs to user {OTHER}" in pushed.output + pushed.stderr
    assert not list((Path(world.cache("disk"))).rglob("*.json"))


def mounted(folder: Path, text: bytes, mode: int) -> Path:
    """Mount a secret as Kubernetes does: the file of a name is a link, into a folder that is one, too."""
    (folder / "..2026").mkdir(parents=True)
    (folder / "..2026" / "key").write_bytes(text)
    (folder / "..2026" / "key").chmod(mode)
    (folder / "..data").symlink_to("..2026")
    (folder / "key").symlink_to("..data/key")
    return folder / "key"


def test_a_key_that_is_mounted_as_a_secret_signs(world, tmp_path, monkeypatch):
    _, own = keys.signing_key()
    text = (world.config("me") / "gravel" / "signing-key").read_bytes()
    world.be("pod")
    monkeypatch.setenv("GRAVEL_SIGNING_KEY_FILE", str(mounted(tmp_path / "secret", text, 0o400)))
    assert keys.signing_key()[1] == own
    assert keys.own_public_key() == own
    assert own.raw in keys.all_trusted()
    assert not world.config("pod").exists()  # nothing is made where nothing is kept
    assert world.call("trust", "key").stdout.startswith(own.text)


@pytest.mark.parametrize("mode", [0o440, 0o404, 0o420, 0o644, 0o600])
def test_a_mounted_key_that_others_can_use_is_refused(world, tmp_path, monkeypatch, mode):
    keys.signing_key()
    text = (world.config("me") / "gravel" / "signing-key").read_bytes()
    path = mounted(tmp_path / "secret", text, mode)
    monkeypatch.setenv("GRAVEL_SIGNING_KEY_FILE", str(path))
    of_root = os.geteuid() == 0
    if mode == 0o600 or (mode == 0o440 and of_root):  # which its group may read: a pod's user is in it
        keys.signing_key()
        return
    with pytest.raises(RequestError, match=rf"a file of user {os.geteuid()} with mode {mode:04o}") as refused:
        keys.signing_key()
    assert str(path) in str(refused.value)
    hint = refused.value.problems[0].hint
    right = "0440" if of_root else "0400"
    assert hint == f"chmod {right} {path}; for a secret of Kubernetes, set its defaultMode: {right}"


def test_a_mounted_key_that_is_not_there_is_not_made(world, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAVEL_SIGNING_KEY_FILE", str(tmp_path / "key"))
    for ask in (keys.signing_key, keys.own_public_key):
        with pytest.raises(RequestError, match="which cannot be read: No such file") as refused:
            ask()
        assert "mount the key there" in refused.value.problems[0].hint
    (tmp_path / "key").write_text("no key")
    (tmp_path / "key").chmod(0o400)
    with pytest.raises(RequestError, match="no usable signing key"):
        keys.signing_key()
    assert not (tmp_path / "key.pub").exists()


@needs_root
def test_a_mounted_key_of_somebody_else_is_refused(world, tmp_path, monkeypatch):
    path = tmp_path / "key"
    path.write_text("")
    path.chmod(0o400)
    os.chown(path, OTHER, -1)
    monkeypatch.setenv("GRAVEL_SIGNING_KEY_FILE", str(path))
    with pytest.raises(RequestError, match="must belong to you or to root") as refused:
        keys.signing_key()
    assert refused.value.problems[0].hint == f"chown {os.geteuid()} {path}"
