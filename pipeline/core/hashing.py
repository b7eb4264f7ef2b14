"""Recipes: what a stage run is made from, hashed so that equal runs have equal digests.

Every part is tagged with its type and length before it is hashed, so that 1, 1.0, True and "1" differ, and
so do ["ab"] and ["a", "b"]. What cannot be hashed is an error, never a weaker key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from blake3 import blake3

from gravel.stages.artifact import Json
from gravel.stages.stage import FileInput, Parameters, Stage
from gravel.stages.urls import hidden, shown

RECIPE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Recipe:
    """A stage run's digest and, in plain data, the parts that it was made from.

    `parts` has `stage`, `version`, `parameters`, `inputs` (slot -> artifact ids), `files` (location ->
    content digest), `hardware` (None unless the stage measures) and, for a stage that is not gravel's own,
    `code` (the digest of its code); from the second repetition of a measurement on also `repetition`. URLs
    stand there as they are shown. `contents` leads from locations as they are to the same digests.
    """

    digest: str
    parts: dict[str, Json]
    contents: Mapping[str, str] = field(default_factory=dict)

    @property
    def without_parts(self) -> Recipe:
        """The same recipe without its parts, which are most of what it takes in memory."""
        return Recipe(self.digest, {}, self.contents)


def _encode(value: Json, into: bytearray) -> None:
    kind = type(value)
    if value is None:
        into += b"n"
    elif kind is bool:
        into += b"t" if value else b"f"
    elif kind is int:
        into += b"i%d;" % value
    elif kind is float:
        into += b"d" + struct.pack("<d", value)
    elif kind is str:
        text = _bytes_of(value)
        into += b"s%d:" % len(text) + text
    elif kind is bytes:
        into += b"b%d:" % len(value) + value
    elif kind is list or kind is tuple:
        into += b"l%d:" % len(value)
        for item in value:
            _encode(item, into)
    elif kind is dict:
        into += b"m%d:" % len(value)
        for key in sorted(value, key=_sort_key):
            _encode(key, into)
            _encode(value[key], into)
    else:
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be part of a digest: {value!r:.80}")


def _sort_key(key: Any) -> bytes:
    if type(key) is not str:
        raise TypeError(f"a key of a hashed mapping must be a str, not {type(key).__qualname__}: {key!r:.80}")
    return _bytes_of(key)


def _bytes_of(text: str) -> bytes:
    # Names of files need not be Unicode; Python holds their other bytes as lone surrogates.
    return text.encode("utf-8", "surrogatepass")


def digest(value: Json) -> str:
    """Hash plain data: None, bool, int, float, str, bytes, lists (tuples count as lists), str-keyed dicts.

    Returns 64 hexadecimal digits (BLAKE3). Raises TypeError for anything else, subclasses included.
    """
    encoded = bytearray()
    _encode(value, encoded)
    return blake3(encoded).hexdigest()


def content_of(digest: str, file: FileInput) -> str:
    """Return what stands for a file in a recipe.

    That is its digest, its suffixes, since formats are detected by them, too, and the columns of its path.
    """
    name = shown(file.location).rstrip("/").rpartition("/")[2].split("?")[0].lower()
    suffixes = "".join(f".{part}" for part in name.split(".")[1:][-2:])
    columns = ("=".join(quote(part, errors="surrogatepass") for part in column) for column in file.columns)
    return " ".join([f"{digest} {suffixes}".rstrip(), *columns])


def make_recipe(
    stage: Stage,
    parameters: Parameters,
    inputs: Mapping[str, tuple[str, ...]],
    files: Mapping[str, str],
    hardware: str | None,
    repetition: int = 1,
) -> Recipe:
    """Combine everything that a stage run's result depends on.

    Parameters
    ----------
    stage, parameters : the stage and its validated parameters; those in `stage.hidden` are left out.
    inputs : slot -> artifact ids, in declared order.
    files : location -> content digest. Where a file lies is not hashed, only what it holds; a parameter that
        names a URL of these is hashed without the URL's secrets.
    hardware : the machine's description for a stage that measures time, else None.
    repetition : of a measurement, from 1; the first has the recipe of one that is not repeated.

    """
    plain = _without_secrets(parameters.model_dump(mode="json", exclude=set(stage.hidden)), files)
    parts: dict[str, Json] = {
        "stage": stage.name,
        "version": stage.version,
        "parameters": plain,
        "inputs": {slot: list(ids) for slot, ids in inputs.items()},
        "files": dict(files),
        "hardware": hardware,
    }
    if stage.origin is not None:
        parts["code"] = stage.origin.code
    if repetition > 1:
        parts["repetition"] = repetition
    hashed = {**parts, "files": list(files.values()), "format": RECIPE_FORMAT}
    named: dict[str, str] = {}
    for location, content in files.items():
        name, count = shown(location), 1
        while name in named:  # two URLs that differ in what is not shown
            count += 1
            name = f"{shown(location)} ({count})"
        named[name] = content
    public = {**parts, "parameters": hidden(plain), "files": named}
    return Recipe(digest(hashed), public, dict(files))


def _without_secrets(value: Json, files: Mapping[str, str]) -> Json:
    """Replace the URLs of files by what is shown of them."""
    if isinstance(value, dict):
        return {key: _without_secrets(item, files) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, files) for item in value]
    return shown(value) if isinstance(value, str) and value in files else value


def flat_parts(parts: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the parts of a recipe under readable names."""
    yield "version", parts.get("version")
    yield "stage code", parts.get("code")
    yield from _flat_parameters("", parts.get("parameters") or {})
    for slot, ids in (parts.get("inputs") or {}).items():
        if slot in ("input", "inputs"):
            yield slot, ids[0] if len(ids) == 1 else ids
        elif len(ids) == 1:
            yield f"input {slot}", ids[0]
        else:
            yield f"inputs {slot}", ids
    for location, content in (parts.get("files") or {}).items():
        yield f"file {location}", content
    yield "hardware", parts.get("hardware")
    yield "repetition", parts.get("repetition", 1)


def is_input(name: str) -> bool:
    """Tell whether a name of `flat_parts` is that of a stage's inputs."""
    return name.partition(" ")[0] in ("input", "inputs")


def _flat_parameters(prefix: str, value: Json) -> Iterator[tuple[str, Json]]:
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat_parameters(f"{prefix}{name}.", item)
        else:
            yield f"{prefix}{name}", item
