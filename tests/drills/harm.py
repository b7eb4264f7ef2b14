"""Pieces of damage to a cache: each takes a generator and the cache's folder and says what it did."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blake3 import blake3

Harm = Callable[[random.Random, Path], str | None]
"""Returns None where the cache has nothing to do this to."""

MEMOS = ("digests", "resolved")
RECORDS = ("artifacts", "recipes")
FOLDERS = (*MEMOS, *RECORDS, "data", "locks", "leases", "runs")


def pick(dice: random.Random, root: Path, *folders: str) -> Path | None:
    """Choose a regular file below some of the cache's folders, each folder as likely as another."""
    for folder in dice.sample(folders, len(folders)):
        found = sorted(
            path for path in (root / folder).rglob("*") if path.is_file() and not path.is_symlink()
        )
        if found:
            return dice.choice(found)
    return None


def told(path: Path, root: Path) -> str:
    return str(path.relative_to(root))


def change(path: Path, content: bytes) -> None:
    """Write in place, with the times kept half of the time, as tools that restore files do."""
    before = path.stat()
    path.write_bytes(content)
    if len(content) % 2:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def bytes_of(*folders: str) -> Iterator[tuple[str, Harm]]:
    """Yield the harms to the bytes of one file."""

    def flip(dice: random.Random, old: bytearray) -> bytes:
        for _ in range(dice.choice([1, 1, 1, 5])):
            old[dice.randrange(len(old))] ^= 1 << dice.randrange(8)
        return bytes(old)

    def zero(dice: random.Random, old: bytearray) -> bytes:
        start = dice.randrange(len(old))
        stop = dice.randint(start + 1, len(old))
        return bytes(old[:start]) + bytes(stop - start) + bytes(old[stop:])

    ways: dict[str, Callable[[random.Random, bytearray], bytes]] = {
        "flip": flip,
        "truncate": lambda dice, old: bytes(old[: dice.randrange(len(old))]),
        "cut the last byte": lambda dice, old: bytes(old[:-1]),
        "empty": lambda dice, old: b"",
        "extend": lambda dice, old: bytes(old) + dice.randbytes(dice.choice([1, 4, 20, 4096])),
        "double": lambda dice, old: bytes(old) * 2,
        "zero a part": zero,
        "zero all": lambda dice, old: bytes(len(old)),
        "noise": lambda dice, old: dice.randbytes(len(old)),
        "reverse": lambda dice, old: bytes(old[::-1]),
    }
    for name, way in ways.items():

        def harm(dice: random.Random, root: Path, name: str = name, way: Any = way) -> str | None:
            path = pick(dice, root, *folders)
            if path is None or not (old := path.read_bytes()):
                return None
            change(path, way(dice, bytearray(old)))
            return f"{name} {told(path, root)}"

        yield name, harm


def delete(dice: random.Random, root: Path) -> str | None:
    path = pick(dice, root, "data", *RECORDS, *MEMOS)
    if path is None:
        return None
    path.unlink()
    return f"delete {told(path, root)}"


def exchange(first: Path, second: Path) -> None:
    aside = first.with_name(".exchanged")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def exchange_equal(dice: random.Random, root: Path) -> str | None:
    """Exchange two files of data of one size and different content."""
    sizes = defaultdict(list)
    for path in sorted((root / "data").rglob("c/**/*")):
        if path.is_file() and not path.is_symlink():
            sizes[path.stat().st_size].append(path)
    pairs = [
        (one, other)
        for paths in sizes.values()
        for number, one in enumerate(paths)
        for other in paths[number + 1 :]
        if one.read_bytes() != other.read_bytes()
    ]
    if not pairs:
        return None
    first, second = dice.choice(pairs)
    exchange(first, second)
    return f"exchange {told(first, root)} and {told(second, root)} of one size"


def exchange_any(*folders: str) -> Harm:
    def harm(dice: random.Random, root: Path) -> str | None:
        first, second = pick(dice, root, *folders), pick(dice, root, *folders)
        if first is None or second is None or first == second:
            return None
        exchange(first, second)
        return f"exchange {told(first, root)} and {told(second, root)}"

    return harm


def copy_over(dice: random.Random, root: Path) -> str | None:
    first, second = pick(dice, root, "data", *RECORDS), pick(dice, root, "data", *RECORDS)
    if first is None or second is None or first == second:
        return None
    shutil.copyfile(first, second)
    return f"copy {told(first, root)} over {told(second, root)}"


def exchange_folders(dice: random.Random, root: Path) -> str | None:
    """Exchange the data of two whole artifacts."""
    found = sorted(path for path in (root / "data").iterdir() if path.is_dir() and not path.is_symlink())
    if len(found) < 2:
        return None
    first, second = dice.sample(found, 2)
    exchange(first, second)
    return f"exchange {told(first, root)} and {told(second, root)}"


def seal(body: dict[str, Any]) -> bytes:
    """Write a record as gravel does, with a seal that fits."""
    text = json.dumps({key: value for key, value in body.items() if key != "seal"})[:-1]
    return f'{text}, "seal": "{blake3(text.encode()).hexdigest()}"}}\n'.encode()


def load(path: Path) -> dict[str, Any] | None:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None


def reseal(dice: random.Random, root: Path) -> str | None:
    """Change a value of a record to one of another type or size and seal it again."""
    path = pick(dice, root, *RECORDS)
    body = load(path) if path else None
    if path is None or not body:
        return None
    key = dice.choice(sorted(set(body) - {"seal"}))
    value = dice.choice([None, 0, -1, 2**70, "", "x", [], {}, [[]], [None], {"a": 1}, True, 1e300, "../../x"])
    if dice.random() < 0.2:
        body.pop(key)
    else:
        body[key] = value
    path.write_bytes(seal(body))
    return f"reseal {told(path, root)} with {key} = {value!r}"


def reseal_with_data_of_another(dice: random.Random, root: Path) -> str | None:
    """Let a record lead to the data of another artifact, manifest and all: only its id can tell."""
    kinds = defaultdict(list)
    for path in sorted((root / "artifacts").glob("*.json")):
        if (body := load(path)) and "kind" in body:
            kinds[str(body["kind"])].append((path, body))
    pairs = [found for found in kinds.values() if len(found) > 1]
    if not pairs:
        return None
    (path, body), (other, theirs) = dice.sample(dice.choice(pairs), 2)
    path.write_bytes(seal({**theirs, "id": body.get("id")}))
    return f"reseal {told(path, root)} with all of {told(other, root)}"


def link(dice: random.Random, root: Path) -> str | None:
    path = pick(dice, root, "data", *RECORDS, *MEMOS)
    if path is None:
        return None
    other = pick(dice, root, "data", *RECORDS)
    to = dice.choice(
        [path, path.with_name("nothing"), path.parent, "/dev/null", "/etc/hostname", "/", other or path]
    )
    path.unlink()
    path.symlink_to(to)
    return f"link {told(path, root)} to {to}"


def link_folder(dice: random.Random, root: Path) -> str | None:
    """Put a link in place of the folder of an artifact or of an array."""
    found = sorted(path for path in (root / "data").rglob("*") if path.is_dir() and not path.is_symlink())
    if not found:
        return None
    path, other = dice.choice(found), dice.choice(found)
    to = dice.choice([path, other, path.with_name("nothing"), "/etc", "/dev/null"])
    if Path(to) != other:
        shutil.rmtree(path)
    elif other == path or path in other.parents or other in path.parents:
        return None
    else:
        shutil.rmtree(path)
    path.symlink_to(to)
    return f"link {told(path, root)} to {to}"


def folder_for_file(dice: random.Random, root: Path) -> str | None:
    path = pick(dice, root, "data", *RECORDS, *MEMOS, "runs")
    if path is None:
        return None
    path.unlink()
    path.mkdir()
    if dice.random() < 0.5:
        (path / "inside").write_bytes(b"something")
    return f"folder for {told(path, root)}"


def file_for_folder(dice: random.Random, root: Path) -> str | None:
    found = [path for path in sorted((root / "data").rglob("*")) if path.is_dir() and not path.is_symlink()]
    found += [path for name in FOLDERS if (path := root / name).is_dir() and dice.random() < 0.1]
    if not found:
        return None
    path = dice.choice(found)
    shutil.rmtree(path)
    if dice.random() < 0.7:
        path.write_bytes(dice.choice([b"", b"something"]))
    return f"file or nothing for {told(path, root)}"


def take_modes(dice: random.Random, root: Path) -> str | None:
    """Take permissions away; a process of root must have given up its privilege to notice."""
    found = [Path(place) / name for place, _, names in os.walk(root) for name in (".", *names)]
    path = dice.choice(found)
    try:
        mode = dice.choice([0o000, 0o200, 0o400, 0o555 if path.is_dir() else 0o444])
        path.chmod(mode)
    except PermissionError:  # it lies in a folder that was closed before
        return None
    return f"mode {mode:03o} of {path.relative_to(root)}"


HARMS: dict[str, dict[str, Harm]] = {
    "bytes": dict(bytes_of("data")),
    "record bytes": dict(bytes_of(*RECORDS)),
    "memo bytes": dict(bytes_of(*MEMOS)),
    "run bytes": dict(bytes_of("runs")),
    "files": {"delete": delete, "copy over": copy_over},
    "exchanges": {
        "of one size": exchange_equal,
        "of any size": exchange_any("data"),
        "of records": exchange_any(*RECORDS),
        "of memos": exchange_any(*MEMOS),
        "of artifacts": exchange_folders,
    },
    "links": {"file": link, "folder": link_folder},
    "folders": {"for file": folder_for_file, "file for": file_for_folder},
}
"""What a run must get over by itself."""

SEALED: dict[str, Harm] = {"value": reseal, "data of another": reseal_with_data_of_another}
"""What looks whole until `cache verify` derives ids anew."""
