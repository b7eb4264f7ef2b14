"""Whether the values of a record have the types that everything which reads it relies on."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

METADATA = "zarr.json"

ITEMSIZE = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}

MAX_AXES = 32

_WORD = frozenset(string.ascii_letters + string.digits + "_-")
_HEX = frozenset("0123456789abcdef")

_NAMES_OF_PROVENANCE = {"stage": str, "key": str, "workflow": str, "run": str, "host": str, "user": str}


@dataclass(frozen=True)
class StoredFile:
    """One file of an artifact: its path inside the artifact's folder, its bytes and their BLAKE3.

    Files of an array's bytes and of their digests have none: the array's root in the record covers them.
    """

    path: str
    size: int
    blake3: str | None


OBJECT_BYTES = 64 << 20
"""Of an array in one object of a store, at most."""


@dataclass(frozen=True)
class StoredObject:
    """One object of an array in a store: the array's bytes in it, its own bytes and their BLAKE3."""

    raw: int
    size: int
    blake3: str


def is_recipe(body: Mapping[str, Any]) -> bool:
    """Whether a recipe's record holds what one holds."""
    outputs, provenance, parts = body.get("outputs"), body.get("provenance"), body.get("parts")
    return (
        _is_digest(body.get("recipe"))
        and isinstance(outputs, list)
        and all(_is_output(each) for each in outputs)
        and isinstance(provenance, dict)
        and all(
            provenance.get(name) is None or isinstance(provenance[name], kind)
            for name, kind in _NAMES_OF_PROVENANCE.items()
        )
        and isinstance(parts, dict)
        and isinstance(parts.get("parameters", {}), dict)
        and isinstance(parts.get("inputs", {}), dict)
        and _is_time(body.get("created"))
    )


def is_artifact(body: Mapping[str, Any]) -> bool:
    """Whether an artifact's record holds what one holds; its data are one folder beside those of others."""
    arrays, files, extent = body.get("arrays"), body.get("files"), body.get("extent")
    return (
        _is_digest(body.get("id"))
        and isinstance(body.get("kind"), str)
        and _is_file_name(body.get("data"))
        and _is_time(body.get("created"))
        and _is_count(body.get("bytes"))
        and isinstance(extent, dict)
        and isinstance(arrays, dict)
        and all(_is_array(each) for each in arrays.values())
        and isinstance(body.get("absent"), list)
        and all(isinstance(each, str) for each in body["absent"])
        and isinstance(files, list)
        and all(_is_file(each) for each in files)
        and isinstance(body.get("roots"), dict)
        and body["roots"].keys() == arrays.keys()
        and all(map(_is_digest, body["roots"].values()))
        and isinstance(objects := body.get("objects", {}), dict)
        and all(isinstance(each, list) and all(map(_is_object, each)) for each in objects.values())
    )


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and _HEX.issuperset(value)


def _is_file_name(value: Any) -> bool:
    return isinstance(value, str) and value[:1] != "." and _is_word(value.replace(".", ""))


def _is_output(value: Any) -> bool:
    # "recipe:" and the recipe where nothing is kept.
    return isinstance(value, str) and _is_word(value.removeprefix("recipe:"))


def _is_word(value: str) -> bool:
    return value != "" and _WORD.issuperset(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_array(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and value[0] in ITEMSIZE
        and isinstance(value[1], list)
        and 1 <= len(value[1]) <= MAX_AXES
        and all(_is_count(length) and length < 1 << 63 for length in value[1])
    )


def _is_file(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        return False
    return _is_count(value[1]) and (value[2] is None or _is_digest(value[2]))


def _is_object(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return _is_count(value[0]) and _is_count(value[1]) and _is_digest(value[2])


def leads_outside(body: Mapping[str, Any]) -> str | None:
    """Return the first part of a file's path in an artifact's record that may lead out of its folder."""
    parts = (part for path, _, _ in body["files"] for part in path.split("/"))
    return next((part for part in parts if part in ("", ".", "..")), None)
