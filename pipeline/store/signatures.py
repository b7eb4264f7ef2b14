"""Signatures of recipe records: part of the record's text, over all the rest of it.

What is signed is the typed digest of the whole body (the recipe, the ids of its outputs, its parts, who made
it, and the format's number) with a word that says what it is for. So a signature fits no other recipe, no
other outputs and no other use of the key.

Whoever puts a record in place of another user's keeps that one whole in its own: so the recipe counts for all
who trust either of them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.pipeline.core.hashing import digest
from gravel.pipeline.store.records import BrokenRecord, is_recipe, seal, unseal
from gravel.pipeline.trust.keys import PublicKey, parse_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
    rest = {name: value for name, value in body.items() if name != FIELD}
    return f"{PURPOSE}: {digest(rest)}".encode()
