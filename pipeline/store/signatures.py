"""Signatures of recipe records, and which recipes of others count because of them.

A signature is part of the record's text, over all the rest of it. What is signed is the typed digest of the
whole body (the recipe, the ids of its outputs, its parts, who made it, and the format's number) with a word
that says what it is for. So a signature fits no other recipe, no other outputs and no other use of the key.

Whoever puts a record in place of another user's keeps that one whole in its own: so the recipe counts for all
who trust either of them.

A recipe that was made in this cache has no signature and counts. One that came from elsewhere counts if a
trusted key signed it, or for one run with `--trust-remote`. It lies in `recipes/` with the signature that was
checked when it came, or in `untrusted/` until somebody trusts its key.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.names import counted
from gravel.pipeline.store.records import BrokenRecord, is_recipe, seal, unseal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from gravel.pipeline.trust.keys import PublicKey

RECIPES, UNTRUSTED = "recipes", "untrusted"
RECIPE_FOLDERS = (RECIPES, UNTRUSTED)

FIELD, OTHERS = "signature", "others"

MAX_SIGNERS = 16
"""Records that are kept in one, and of which one is asked who signed it."""

PURPOSE = "gravel recipe record, signature format 1"


def signed_bodies(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a record, and those of other users that are kept in it."""
    found = [body]
    for each in found:  # which grows
        others = each.get(OTHERS)
        found += [
            other
            for other in (others if isinstance(others, list) else [])
            if isinstance(other, dict) and is_recipe(other) and other["recipe"] == body.get("recipe")
        ]
        if len(found) >= MAX_SIGNERS:
            break
    return found[:MAX_SIGNERS]


def signer_of(body: dict[str, Any]) -> PublicKey | None:
    """Return the key that a record says it is signed with, unchecked, or None; raises `BrokenRecord`."""
    stated = body.get(FIELD)
    if stated is None:
        return None
    from gravel.pipeline.trust.keys import parse_key  # a cache without signatures does without

    try:
        return parse_key(stated["key"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenRecord(f"its signature names no key ({error})") from error


def check_signature(body: dict[str, Any]) -> PublicKey | None:
    """Return the key that signed a record, or None for an unsigned one; raises `BrokenRecord`."""
    key = signer_of(body)
    if key is None:
        return None
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = base64.b64decode(body[FIELD]["ed25519"], validate=True)
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, _message(body))
    except (InvalidSignature, KeyError, TypeError, ValueError, binascii.Error) as error:
        raise BrokenRecord(f"its signature by {key.fingerprint} does not fit its text") from error
    return key


def sign(
    text: bytes, key: Ed25519PrivateKey, public: PublicKey, others: Sequence[dict[str, Any]] = ()
) -> bytes:
    """Return a record's text with a signature, and the records of others in it.

    Raises `BrokenRecord` for one that is damaged.
    """
    body = {name: value for name, value in unseal(text).items() if name not in (FIELD, OTHERS)}
    if others:
        body[OTHERS] = list(others)
    signature = base64.b64encode(key.sign(_message(body))).decode()
    return seal({**body, FIELD: {"key": public.line, "ed25519": signature}})


def _message(body: dict[str, Any]) -> bytes:
    from gravel.pipeline.core.hashing import digest

    rest = {name: value for name, value in body.items() if name != FIELD}
    return f"{PURPOSE}: {digest(rest)}".encode()


class Acceptance:
    """Decides on recipes that came from elsewhere, and remembers what it decided.

    `refused` and `accepted` map digests of recipes to the key that signed them, None for unsigned ones;
    `accepted` has only those that count because of `trust_remote`.
    """

    def __init__(self, *, trust_remote: bool = False) -> None:
        self.trust_remote = trust_remote
        self.refused: dict[str, PublicKey | None] = {}
        self.accepted: dict[str, PublicKey | None] = {}
        self._warned: set[PublicKey | None] = set()

    @cached_property
    def _trusted(self) -> dict[bytes, PublicKey]:
        from gravel.pipeline.trust.keys import all_trusted

        return all_trusted()

    def prepare(self) -> None:
        """Read the user's keys; raises `RequestError` for files that cannot be relied on."""
        self._trusted  # noqa: B018 (kept for later)

    def trusted(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record from elsewhere that a trusted key signed: this one or one that is kept in it.

        Raises `BrokenRecord` for a signature that does not fit, `RequestError` for keys that cannot be read.
        """
        return self._first(body, check_signature)

    def _first(
        self, body: dict[str, Any], signer: Callable[[dict[str, Any]], PublicKey | None]
    ) -> dict[str, Any] | None:
        for each in signed_bodies(body):
            key = signer(each)
            if key is not None and key.raw in self._trusted:
                return each
        return None

    def still_counts(self, digest: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record in `recipes/` that counts, whose signature was checked when it came."""
        if "signature" not in body:
            return body  # it was made here
        found = self._first(body, signer_of)
        return body if found is None and self.counts_anyway(digest, body) else found

    def counts_anyway(self, digest: str, body: dict[str, Any]) -> bool:
        """Say whether a record that nobody trusted signed counts, and remember that."""
        kept = self.accepted if self.trust_remote else self.refused
        kept[digest] = signer_of(body)
        return self.trust_remote

    def why_refused(self, digest: str) -> list[str] | None:
        """Return why a recipe that is there does not count, or None if it was not refused."""
        if digest not in self.refused:
            return None
        return [f"its recipe came from elsewhere {signed(self.refused[digest])}"]

    def warnings(self) -> list[str]:
        """Tell of each key, once, that its recipes do not count: before what they led to is computed."""
        new = set(self.refused.values()) - self._warned
        self._warned |= new
        return [f"results from elsewhere are not used: {signed(key)}; {advice(key)}" for key in new]

    def messages(self) -> list[str]:
        """Tell, a line for each key, how many recipes did not count or did only because of the option."""
        lines = []
        for key, count in Counter(self.refused.values()).items():
            more = "" if key in self._warned else f"; {advice(key)}"
            lines.append(f"{counted(count, 'recipe')} from elsewhere, {signed(key)}: computed again{more}")
        for key, count in Counter(self.accepted.values()).items():
            lines.append(
                f"--trust-remote: {counted(count, 'recipe')} from elsewhere, {signed(key)}, taken as they are"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return what a run's record says of it."""
        recipes = {
            name: {digest: key and key.fingerprint for digest, key in found.items()}
            for name, found in (("accepted", self.accepted), ("refused", self.refused))
        }
        return {"trust_remote": self.trust_remote, **recipes}


def signed(key: PublicKey | None) -> str:
    """Say by whom a recipe is signed that no trusted key signed."""
    return "unsigned" if key is None else f"signed by the key {key.fingerprint}, which is not trusted"


def advice(key: PublicKey | None) -> str:
    """Say what makes such recipes count."""
    if key is None:
        return (
            "a `gravel cache push` from the cache that made them signs them; --trust-remote takes them once"
        )
    return f"if you know whose key it is: gravel trust add '{key.text}'"
