"""Results of others: ids are recomputed, and what no trusted key signed does not count."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from gravel.pipeline.store.objects import Bucket
from gravel.pipeline.store.records import seal, unseal
from gravel.pipeline.store.signatures import MAX_SIGNERS, OTHERS, signed_bodies, signer_of
from tests.pipeline.cli_case import loaded
from tests.pipeline.store.trust_case import ALL, URL, World, keys_in, names, place, read, world

__all__ = ["place", "world"]


def write(place: str, name: str, text: bytes) -> None:
    if place == URL:
        Bucket(place).put(name, text)
    else:
        (Path(place) / name).write_bytes(text)


def swap(place: str, identity: str, other: str) -> None:
    """Write a record that is whole and sealed, and that leads to another artifact's data."""
    body = unseal(read(place, f"artifacts/{other}.json"))
    write(place, f"artifacts/{identity}.json", seal({**body, "id": identity}))


def unsign(place: str) -> None:
    """Take the signatures of a place away."""
    for name in names(place, "recipes"):
        body = unseal(read(place, f"recipes/{name}"))
        write(place, f"recipes/{name}", seal({key: body[key] for key in body if key != "signature"}))


def traversal(run: dict[str, Any], key: str) -> str:
    """The first output of a search, which holds its distances."""
    return str(run["outputs"][key][0])


def exported(world: World, cache: str, key: str) -> bytes:
    target = world.folder / f"{key}-{len(list(world.folder.iterdir()))}.csv"
    result = world.call("export", str(world.file), key, "--to", str(target), "--cache", cache)
    assert result.exit_code == 0, result.output
    return target.read_bytes()


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
        if state == "computed":  # said before anything is
            assert run["said"].index("results from elsewhere are not used: unsigned; ") < run["said"].index(
                "started"
            )


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


def test_a_cached_run_of_what_was_pulled_reads_no_cryptography(world):
    one, disk, two = world.cache("one"), world.cache("disk"), world.cache("two")
    world.run(one)
    world.call("cache", "push", disk, "--cache", one)
    world.call("cache", "pull", disk, "--cache", two)
    words = ("run", str(world.file), "--cache", two, "--backend", "cpu", "--cluster", "inline")
    heavy = {"cryptography", "numpy", "zarr", "distributed"}
    for _ in range(2):
        told, found = loaded(*words, of=heavy, cwd=world.folder)
        assert "4 cached" in told
    assert not found


def key_of(world: World, user: str) -> str:
    world.be(user)
    return world.call("trust", "key").stdout.splitlines()[0]


def pushed(world: World, user: str, place: str) -> None:
    world.be(user)
    world.run(world.cache(user))
    assert world.call("cache", "push", place, "--cache", world.cache(user)).exit_code == 0


def states(world: World, user: str, trusted: str, place: str) -> dict[str, str]:
    """Pull as a user who trusts one other, run, and return what became of each stage run."""
    key = key_of(world, trusted)
    world.be(user)
    assert world.call("trust", "add", key).exit_code == 0
    assert world.call("cache", "pull", place, "--cache", world.cache(user)).exit_code == 0
    found: dict[str, str] = world.run(world.cache(user))["states"]
    return found


@pytest.mark.parametrize("first", ["alice", "bob"])
def test_who_trusts_either_gets_them(world, place, first):
    for user in (first, {"alice": "bob", "bob": "alice"}[first]):
        pushed(world, user, place)
    for user, trusted in (("carol", "alice"), ("dave", "bob")):
        assert keys_in(states(world, user, trusted, place), "cached") == ALL, (user, trusted)
    world.be("eve")
    assert keys_in(world.run(world.cache("eve"))["states"], "computed") == ALL


def test_a_third_keeps_all_and_nobody_pushes_twice(world, place):
    for user in ("alice", "bob", "carol"):
        pushed(world, user, place)
    before = {name: read(place, f"recipes/{name}") for name in names(place, "recipes")}
    for text in before.values():
        assert len(signed_bodies(unseal(text))) == 3
    for user in ("alice", "bob"):
        world.be(user)
        again = world.call("cache", "push", place, "--cache", world.cache(user), "--json")
        assert json.loads(again.stdout)["recipes"] == 0
    assert before == {name: read(place, f"recipes/{name}") for name in names(place, "recipes")}
    for user, trusted in (("dave", "alice"), ("eve", "bob"), ("frank", "carol")):
        assert keys_in(states(world, user, trusted, place), "cached") == ALL


def test_a_kept_record_that_was_changed_does_not_count(world, place):
    for user in ("alice", "bob"):
        pushed(world, user, place)
    for name in names(place, "recipes"):
        body = unseal(read(place, f"recipes/{name}"))
        body[OTHERS][0]["provenance"]["host"] = "elsewhere"
        write(place, f"recipes/{name}", seal(body))
    key = key_of(world, "alice")
    world.be("carol")
    world.call("trust", "add", key)
    world.call("cache", "pull", place, "--cache", world.cache("carol"))
    assert keys_in(world.run(world.cache("carol"))["states"], "computed") == ALL


def test_those_of_other_recipes_and_what_is_no_record_are_not_asked(world, tmp_path):
    place = str(tmp_path / "disk")
    for user in ("alice", "bob"):
        pushed(world, user, place)
    name = names(place, "recipes")[0]
    body = unseal(read(place, f"recipes/{name}"))
    assert len(signed_bodies(body)) == 2
    assert signer_of(body) != signer_of(body[OTHERS][0])
    body[OTHERS][0]["recipe"] = "0" * 64
    assert signed_bodies(body) == [body]
    for odd in ({}, "x", [None], [{}], [[[]]]):
        assert signed_bodies({**body, OTHERS: odd}) == [{**body, OTHERS: odd}]
    nested = dict(body)
    for _ in range(100):
        nested = {**body, OTHERS: [nested, nested]}
    assert len(signed_bodies(nested)) == MAX_SIGNERS


def test_two_who_push_at_once_keep_both(world, tmp_path):
    from gravel.pipeline.store.cache import Cache
    from gravel.pipeline.store.push_pull import Incoming
    from gravel.pipeline.store.selection import Moved, read_recipe
    from gravel.pipeline.store.transfer import Signer

    place = Cache(tmp_path / "disk", lambda message: None)
    world.be("alice")
    world.run(world.cache("alice"))
    takers = []
    for user in ("alice", "bob", "carol", "dave"):
        world.be(user)
        signer = Signer(Cache(world.cache("alice")))
        signer.prepare()
        target = Cache(place.root, lambda message: None)
        target.acceptance.prepare()
        takers.append((Incoming(target, Moved("")), signer))
    own = Cache(world.cache("alice"))
    for name in own.files.names("recipes"):
        found = own.files.read(f"recipes/{name}")
        assert found is not None
        text, recipe = found[0], read_recipe(found[0], name.removesuffix(".json"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda taker: taker[0].take_own(recipe, text, taker[1]), takers))  # noqa: B023
        kept = place.files.read(f"recipes/{name}")
        assert kept is not None
        assert len({signer_of(each) for each in signed_bodies(unseal(kept[0]))}) == 4
