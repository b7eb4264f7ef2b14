"""Equal results that several users push keep the signature of each."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from gravel.pipeline.store.records import seal, unseal
from gravel.pipeline.store.signatures import MAX_SIGNERS, OTHERS, signed_bodies, signer_of
from tests.pipeline.store.test_trust import write
from tests.pipeline.store.trust_case import ALL, World, keys_in, names, place, read, world

__all__ = ["place", "world"]


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
