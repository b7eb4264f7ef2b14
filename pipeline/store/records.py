"""The two kinds of JSON record of the cache, and the seal that tells a damaged one."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact, RequestError
from gravel.pipeline.store.layout import ITEMSIZE, LEAF_BYTES, MAX_AXES, METADATA, Layout, attributes_in
from gravel.pipeline.store.opening import MAX_RECORD_BYTES, read_file
from gravel.stages.sizes import Extent

Json: TypeAlias = Any

RECORD_FORMAT = 3
"""Of all records, and of the files that they lead to."""

_SEAL = ', "seal": "'
_SEAL_LENGTH = len(_SEAL) + 64 + len('"}')

_WORD = frozenset(string.ascii_letters + string.digits + "_-")
_HEX = frozenset("0123456789abcdef")
_OUTSIDE = frozenset(("", ".", ".."))
_TEXTS_OF_PROVENANCE = ("stage", "key", "workflow", "run", "host", "user")


class BrokenRecord(ValueError):
    """A record that cannot be read or whose seal does not fit its text."""


class OlderRecord(BrokenRecord):
    """A whole record of an older format."""


def seal(body: dict[str, Json]) -> bytes:
    """Write a record as JSON whose last key, `seal`, is the BLAKE3 of everything before it."""
    text = json.dumps(body, allow_nan=False)[:-1]
    return f'{text}{_SEAL}{blake3(text.encode()).hexdigest()}"}}\n'.encode()


def unseal(text: bytes) -> dict[str, Json]:
    """Read a sealed record; raises `BrokenRecord`, and RequestError for one of a newer format."""
    stripped = text.rstrip(b"\n")
    head, tail = stripped[:-_SEAL_LENGTH], stripped[-_SEAL_LENGTH:]
    expected = f'{_SEAL}{blake3(head).hexdigest()}"}}'.encode()
    if tail != expected:
        raise BrokenRecord("its seal does not fit its text")
    try:
        record: dict[str, Json] = json.loads(head + b"}")
    except RecursionError:
        raise BrokenRecord("it is nested too deep") from None
    stated = record.get("format")
    if isinstance(stated, int) and stated > RECORD_FORMAT:
        # It is whole, and setting it aside would lose what the newer one computed.
        raise RequestError(
            f"the cache holds records of format {stated}, which a newer gravel wrote; "
            f"this one reads format {RECORD_FORMAT}",
            hint="upgrade gravel, or choose another folder with --cache or GRAVEL_CACHE",
        )
    if stated != RECORD_FORMAT:
        kind = OlderRecord if isinstance(stated, int) else BrokenRecord
        raise kind(f"its format is {stated!r}, and {RECORD_FORMAT} is read here")
    return record


@dataclass(frozen=True)
class RecipeRecord:
    """What a recipe led to: artifact ids in the stage's output order, and who made them how.

    `parts` are those of `gravel.pipeline.core.hashing.Recipe`. `provenance` has stage, key, workflow, file
    (of the workflow), run, recipe, inputs, started, seconds, host, user, hardware, versions, peak_host_bytes
    and need.
    """

    digest: str
    outputs: tuple[str, ...]
    provenance: dict[str, Json]
    parts: dict[str, Json]
    created: float  # seconds since the epoch

    def to_json(self) -> dict[str, Json]:
        """Return the record's body."""
        return {
            "format": RECORD_FORMAT,
            "recipe": self.digest,
            "outputs": list(self.outputs),
            "created": self.created,
            "parts": self.parts,
            "provenance": self.provenance,
        }

    @staticmethod
    def from_json(body: dict[str, Json]) -> RecipeRecord:
        """Read the body back; raises `BrokenRecord` where a value has another type."""
        if not is_recipe(body):
            raise BrokenRecord("its values are not those of a recipe's record")
        outputs = tuple(body["outputs"])
        return RecipeRecord(body["recipe"], outputs, body["provenance"], body["parts"], body["created"])


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


@dataclass(frozen=True)
class ArtifactRecord:
    """What is known of a stored artifact without opening its arrays.

    `arrays` maps the name of each array (`row_offsets`, `arrays/rank0/nn/row_offsets`) to its dtype and
    shape, `roots` to the root of its digests; `absent` lists the array fields that are None. `bytes` counts
    the arrays, `bytes_on_disk` the files. `path` is the Zarr group's folder, below the cache's `root`. `used`
    is when a run last relied on it. `objects` are those of each array in a store; empty in a folder.
    """

    id: str
    kind: str
    root: Path = field(repr=False, compare=False)
    path: Path
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    absent: tuple[str, ...]
    bytes: int
    extent: Extent
    created: float  # seconds since the epoch
    files: tuple[StoredFile, ...] = field(repr=False)
    used: float = field(default=0.0, compare=False)
    roots: dict[str, str] = field(default_factory=dict, repr=False)
    objects: dict[str, tuple[StoredObject, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def inside(self) -> str:
        """The Zarr group's folder, named from the root."""
        return self.path.relative_to(self.root).as_posix()

    @cached_property
    def attributes(self) -> dict[str, Json]:
        """The fields that are not arrays, read from the group's metadata; raises `DamagedArtifact`."""
        return attributes_in(read_metadata(self, self.metadata))

    @property
    def metadata(self) -> StoredFile:
        """The group's metadata."""
        return next(file for file in self.files if file.path == METADATA)

    @cached_property
    def bytes_on_disk(self) -> int:
        """Bytes of the files."""
        return sum(file.size for file in self.files)

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """How each array lies in its file."""
        return {name: Layout(*shape) for name, shape in self.arrays.items()}

    def to_json(self) -> dict[str, Json]:
        """Return the record's body; the folder is named by its last part."""
        objects = {
            name: [[each.raw, each.size, each.blake3] for each in found]
            for name, found in self.objects.items()
        }
        return {
            "format": RECORD_FORMAT,
            "id": self.id,
            "kind": self.kind,
            "data": self.path.name,
            "created": self.created,
            "bytes": self.bytes,
            "extent": vars(self.extent),
            "arrays": {name: [dtype, list(shape)] for name, (dtype, shape) in self.arrays.items()},
            "roots": self.roots,
            "absent": list(self.absent),
            "files": [[file.path, file.size, file.blake3] for file in self.files],
            **({"objects": objects} if objects else {}),
        }

    @staticmethod
    def from_json(body: dict[str, Json], root: Path, used: float, data: str = "data") -> ArtifactRecord:
        """Read the body back; `data` is the folder of all artifacts below the root.

        Raises `BrokenRecord` as above.
        """
        if not _is_artifact(body):
            raise BrokenRecord("its values are not those of an artifact's record")
        if (problem := _wrong_files(body) or _wrong_objects(body)) is not None:
            raise BrokenRecord(problem)
        return ArtifactRecord(
            id=body["id"],
            kind=body["kind"],
            root=root,
            path=root / data / body["data"],
            arrays={name: (dtype, tuple(shape)) for name, (dtype, shape) in body["arrays"].items()},
            absent=tuple(body["absent"]),
            bytes=body["bytes"],
            extent=Extent(**body["extent"]),
            created=body["created"],
            files=tuple(StoredFile(*file) for file in body["files"]),
            used=used,
            roots=dict(body["roots"]),
            objects={
                name: tuple(StoredObject(*each) for each in found)
                for name, found in body.get("objects", {}).items()
            },
        )


def read_metadata(record: ArtifactRecord, file: StoredFile) -> bytes:
    """Read a metadata file of an artifact; raises `DamagedArtifact` unless it is what was written."""
    try:
        text = read_file(record.root, f"{record.inside}/{file.path}")
    except OSError as error:
        raise DamagedArtifact(record.id, f"{file.path} cannot be read ({error.strerror})") from error
    if blake3(text).hexdigest() != file.blake3:
        raise DamagedArtifact(record.id, f"{file.path} is not what was written")
    return text


def _wrong_files(body: Mapping[str, Json]) -> str | None:
    """Say which files an artifact's record names that are not those of its arrays, nor metadata.

    So that no more of a file is read than there can be, however large it is.
    """
    wanted = {
        f"{name}/{path}": size
        for name, (dtype, shape) in body["arrays"].items()
        for path, size in Layout(dtype, tuple(shape)).files()
    }
    metadata, names = MAX_RECORD_BYTES, set()
    for path, size, digest in body["files"]:
        parts = path.split("/")
        if outside := _OUTSIDE.intersection(parts):
            return f"it names {min(outside)!r}, which is no name of a file"
        if path in names:
            return f"it names {path!r} twice"
        names.add(path)
        if parts[-1] == METADATA:
            metadata -= size
            if digest is None:
                return f"it has no digest of {path!r}"
        elif path not in wanted:
            return f"it names {path!r}, which belongs to none of its arrays"
        if size != wanted.get(path, size):
            return f"it says that {path} has {size:,} bytes, and its dtype and shape make {wanted[path]:,}"
    if missing := {METADATA, *wanted} - names:
        return f"it does not name {min(missing)}"
    return f"its metadata have more than {MAX_RECORD_BYTES:,} bytes" if metadata < 0 else None


def _wrong_objects(body: Mapping[str, Json]) -> str | None:
    """Say which objects of arrays in a store, if an artifact's record names any, cannot be.

    So that no more is fetched, decoded and written than there can be.
    """
    if not (found := body.get("objects")):
        return None
    sizes = {name: Layout(dtype, tuple(shape)).nbytes for name, (dtype, shape) in body["arrays"].items()}
    if found.keys() != {name for name, size in sizes.items() if size}:
        return "the objects that it names are not those of its arrays"
    for name, objects in found.items():
        if any(raw % LEAF_BYTES for raw, _, _ in objects[:-1]):
            return f"an object of {name} ends within a piece that has a digest"
        for raw, size, _ in objects:
            if not 0 < raw <= OBJECT_BYTES or size > raw + raw // 128 + 1024:
                return f"it names an object of {name} of {size:,} bytes that hold {raw:,}"
        if (total := sum(raw for raw, _, _ in objects)) != sizes[name]:
            return f"the objects of {name} hold {total:,} bytes, and its dtype and shape make {sizes[name]:,}"
    return None


def is_recipe(body: Mapping[str, Json]) -> bool:
    """Say whether the values of a recipe's record have the types that whoever reads it relies on."""
    outputs, provenance, parts = body.get("outputs"), body.get("provenance"), body.get("parts")
    return (
        _is_digest(body.get("recipe"))
        and isinstance(outputs, list)
        # "recipe:" and the recipe where nothing is kept.
        and all(isinstance(each, str) and _is_word(each.removeprefix("recipe:")) for each in outputs)
        and isinstance(provenance, dict)
        and all(isinstance(provenance.get(name), str | None) for name in _TEXTS_OF_PROVENANCE)
        and isinstance(parts, dict)
        and isinstance(parts.get("parameters", {}), dict)
        and isinstance(parts.get("inputs", {}), dict)
        and _is_time(body.get("created"))
    )


def _is_artifact(body: Mapping[str, Json]) -> bool:
    """As `is_recipe`; an artifact's data are one folder beside those of others."""
    arrays, files, absent, roots = (body.get(name) for name in ("arrays", "files", "absent", "roots"))
    return (
        _is_digest(body.get("id"))
        and isinstance(body.get("kind"), str)
        and _is_file_name(body.get("data"))
        and _is_time(body.get("created"))
        and _is_count(body.get("bytes"))
        and isinstance(body.get("extent"), dict)
        and isinstance(arrays, dict)
        and all(map(_is_array, arrays.values()))
        and isinstance(absent, list)
        and all(isinstance(each, str) for each in absent)
        and isinstance(files, list)
        and all(map(_is_file, files))
        and isinstance(roots, dict)
        and roots.keys() == arrays.keys()
        and all(map(_is_digest, roots.values()))
        and isinstance(objects := body.get("objects", {}), dict)
        and all(isinstance(each, list) and all(map(_is_object, each)) for each in objects.values())
    )


def _is_digest(value: Json) -> bool:
    return isinstance(value, str) and len(value) == 64 and _HEX.issuperset(value)


def _is_file_name(value: Json) -> bool:
    return isinstance(value, str) and value[:1] != "." and _is_word(value.replace(".", ""))


def _is_word(value: str) -> bool:
    return value != "" and _WORD.issuperset(value)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_array(value: Json) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and value[0] in ITEMSIZE
        and isinstance(value[1], list)
        and 1 <= len(value[1]) <= MAX_AXES
        and all(_is_count(length) and length < 1 << 63 for length in value[1])
    )


def _is_file(value: Json) -> bool:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        return False
    return _is_count(value[1]) and (value[2] is None or _is_digest(value[2]))


def _is_object(value: Json) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return _is_count(value[0]) and _is_count(value[1]) and _is_digest(value[2])
