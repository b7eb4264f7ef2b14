"""Whether the values of a record have the types that everything which reads it relies on."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gravel.pipeline.store.opening import MAX_RECORD_BYTES

METADATA = "zarr.json"

ITEMSIZE = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}

MAX_AXES = 32

MAX_SHARD_BYTES = 256 << 20
"""Of a shard that is read, stored and decoded; those that gravel writes have at most half of it."""

SLACK_BYTES = 1 << 20
"""Of an array's shards beyond twice its bytes: their indices."""

_WORD = frozenset(string.ascii_letters + string.digits + "_-")
_HEX = frozenset("0123456789abcdef")

_NAMES_OF_PROVENANCE = {"stage": str, "key": str, "workflow": str, "run": str, "host": str, "user": str}


@dataclass(frozen=True)
class StoredFile:
    """One file of an artifact: its path inside the artifact's folder, its bytes and their BLAKE3."""

    path: str
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
        and _is_texts(body.get("roots"))
        and _is_texts(body.get("checksums"))
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


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_array(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], list)
        and len(value[1]) <= MAX_AXES
        and all(_is_count(length) and length < 1 << 63 for length in value[1])
    )


def _is_file(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        return False
    return _is_count(value[1]) and _is_digest(value[2])


def why_too_large(body: Mapping[str, Any]) -> str | None:
    """Say which files in an artifact's record have more bytes than its arrays and metadata can have.

    So that no more of them is read than that, however large the files are.
    """
    left = {name: _stored_most(dtype, shape) for name, (dtype, shape) in body["arrays"].items()}
    metadata, names = MAX_RECORD_BYTES, set()
    for path, size, _ in body["files"]:
        name, inside, _ = path.partition("/c/")
        if path in names:
            return f"it names {path!r} twice"
        names.add(path)
        if path.rpartition("/")[2] == METADATA:
            metadata -= size
        elif not inside or name not in left:
            return f"it names {path!r}, which belongs to none of its arrays"
        else:
            left[name] -= size
            if left[name] < 0 or size > MAX_SHARD_BYTES:
                return f"it says that {path} has {size:,} bytes, which is more than its shape and dtype allow"
    return f"its metadata have more than {MAX_RECORD_BYTES:,} bytes" if metadata < 0 else None


def _stored_most(dtype: str, shape: list[int]) -> int:
    """Return the bytes that an array's shards have at most: the last chunk of a line is filled up."""
    return 2 * ITEMSIZE.get(dtype, 0) * math.prod(shape) + SLACK_BYTES


def leads_outside(body: Mapping[str, Any]) -> str | None:
    """Return the first part of a file's path in an artifact's record that may lead out of its folder."""
    parts = (part for path, _, _ in body["files"] for part in path.split("/"))
    return next((part for part in parts if part in ("", ".", "..")), None)
