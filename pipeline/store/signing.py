"""Signatures on recipes that are copied: put on what leaves, looked for on what arrives."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.pipeline.store.acceptance import RECIPES, UNTRUSTED
from gravel.pipeline.store.records import BrokenRecord, RecipeRecord, seal, unseal
from gravel.pipeline.store.selection import read_recipe
from gravel.pipeline.store.signatures import (
    FIELD,
    MAX_SIGNERS,
    check_signature,
    sign,
    signed_bodies,
    signer_of,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from gravel.pipeline.store.folder import CacheFolder
    from gravel.pipeline.store.selection import Moved
    from gravel.pipeline.trust.keys import PublicKey


class Signer:
    """Signs the recipes that were made here; those that came signed keep their signature."""

    def __init__(self, cache: CacheFolder) -> None:
        self._cache = cache

    @cached_property
    def _key(self) -> tuple[Ed25519PrivateKey, PublicKey]:
        from gravel.pipeline.trust.keys import signing_key

        return signing_key()

    def prepare(self) -> None:
        """Read the key, or make it; raises `RequestError` if there can be none."""
        self._key  # noqa: B018 (kept for later)

    def signed(self, text: bytes, there: bytes | None) -> bytes:
        """Return a record's text with a signature, and in it the one by another that it takes the place of.

        Raises `RequestError` if there can be no key.
        """
        body = unseal(text)
        other = self._other(body, there)
        if FIELD in body:
            return text if other is None else sign(text, *self._key, [body, other])
        return sign(text, *self._key, [] if other is None else [other])

    def _other(self, body: dict[str, Any], there: bytes | None) -> dict[str, Any] | None:
        """Return the record of another user that lies there, if it is sound."""
        if there is None:
            return None
        try:
            read_recipe(there, body["recipe"])
            other = unseal(there)
            key = check_signature(other)
        except BrokenRecord:
            return None
        signers = len(signed_bodies(other))
        if key is None or key == self._key[1] or signers >= MAX_SIGNERS - 2:
            return None
        return other

    def counts(self, text: bytes | None, digest: str) -> bool:
        """Say whether what lies there is whole and signed by a key that this user trusts."""
        if text is None:
            return False
        try:
            read_recipe(text, digest)
            return self._cache.acceptance.trusted(unseal(text)) is not None
        except BrokenRecord:
            return False


class Incoming:
    """Takes recipes into a cache; counts, of those that came, the ones that no trusted key signed."""

    def __init__(self, cache: CacheFolder, moved: Moved) -> None:
        self._cache = cache
        self._moved = moved
        self._counting = threading.Lock()

    def take_own(self, recipe: RecipeRecord, text: bytes, signer: Signer) -> bool:
        """Sign and keep a record that this user puts here; says whether it lacked a trusted signature."""
        files, name = self._cache.files, f"{RECIPES}/{recipe.digest}.json"
        here = files.read(name)
        if here is None and files.create(name, signer.signed(text, None)):
            files.remove(f"{UNTRUSTED}/{recipe.digest}.json")
            return True
        if here is not None and self._is_as_good(here[0], recipe):
            return False
        with self._cache.lock(f"recipe-{recipe.digest}"):  # two who push at once keep both signatures
            here = files.read(name)
            signed = signer.signed(text, None if here is None else here[0])
            self._cache.adopt(recipe.digest, signed, trusted=True)
            return True

    def _is_as_good(self, text: bytes, recipe: RecipeRecord) -> bool:
        try:
            there, body = read_recipe(text, recipe.digest), unseal(text)
            if not all(self._cache.is_here(output) for output in there.outputs):
                return False
            if FIELD not in body:
                # Made there: its own answer stays, and one that is the same gets a signature.
                return there.outputs != recipe.outputs
            return self._cache.acceptance.trusted(body) is not None
        except BrokenRecord:
            return False

    def take(self, recipe: RecipeRecord, text: bytes) -> bool:
        """Keep a record that somebody offers; says whether it was missing.

        Without the signature of a trusted key it is kept apart and does not count until its key is trusted.
        """
        digest = recipe.digest
        here = self._cache.look_up_here(digest)
        if here is not None and all(self._cache.is_here(output) for output in here.outputs):
            return False
        try:
            body = unseal(text)
            trusted = self._cache.acceptance.trusted(body)
        except BrokenRecord as error:
            self._moved.damaged[digest] = f"the record of the recipe is damaged ({error})"
            return False
        if trusted is None:
            self._count(body)
            kept = self._cache.files.read(f"{UNTRUSTED}/{digest}.json")
            if kept is not None and kept[0] == text:
                return False
        text = text if trusted is None else seal(trusted)
        self._cache.adopt(digest, text, trusted=trusted is not None)
        return True

    def _count(self, body: dict[str, object]) -> None:
        key = signer_of(body)
        with self._counting:
            if key is None:
                self._moved.unsigned += 1
            else:
                self._moved.untrusted[key.text] = self._moved.untrusted.get(key.text, 0) + 1
