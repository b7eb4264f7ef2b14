"""Arrays in an object store: objects that are damaged, cut, exchanged or too large, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import zstandard
from blake3 import blake3

from gravel.pipeline.core.errors import DamagedArtifact, GravelError
from gravel.pipeline.store import frames, push_pull, sink, transfer
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.objects import FaultySource, RemoteError
from gravel.pipeline.store.records import OBJECT_BYTES, ArtifactRecord, seal, unseal
from gravel.pipeline.store.selection import Moved, Selection, read_artifact_record
from gravel.pipeline.store.transfer import download_artifact, upload_artifact
from gravel.stages.artifacts import Graph
from tests.pipeline.samples import equal, graph, publish, shards

MIB = 1 << 20
ARCS = 5 * MIB // 4 + 100
"""Of which an array is five objects of a MiB, and one that is smaller."""


class Store:
    """An object store on the disk, whose line may be cut within an object."""

    where = "s3://bucket/a"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()

    def get(self, name: str) -> bytes | None:
        path = self.root / name
        return path.read_bytes() if path.exists() else None

    def read(self, name: str, most: int) -> Iterator[bytes] | None:
        self.asked[name] += 1
        data = self.get(name)
        if data is not None and len(data) > most:
            raise FaultySource(f"{name} has {len(data):,} bytes, and at most {most:,} are read")
        return None if data is None else self._pieces(name, data)

    def _pieces(self, name: str, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), MIB // 4):
            if self.cuts[name] and start:
                self.cuts[name] -= 1
                raise RemoteError(f"{self.where} cannot be reached: the line is cut")
            yield data[start : start + MIB // 4]

    def names(self, folder: str) -> list[str]:
        place = self.root / folder
        return sorted(path.name for path in place.iterdir()) if place.exists() else []

    def below(self, folder: str) -> dict[str, int]:
        return {name: (self.root / folder / name).stat().st_size for name in self.names(folder)}

    def put(self, name: str, data: bytes | bytearray) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(data)

    def create(self, name: str, data: bytes) -> bool:
        is_new = not (self.root / name).exists()
        if is_new:
            self.put(name, data)
        return is_new

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self.root / name).unlink()


def columns(count: int = ARCS) -> Graph:
    """A graph of one vertex, whose columns are numbers that hardly become smaller."""
    random = numpy.random.default_rng(1)
    return Graph(
        row_offsets=numpy.array([0, count]),
        column_indices=random.integers(0, 1 << 32, count, dtype=numpy.uint32),
        vertex_count=1,
        arc_count=count,
        symmetric=False,
        deduplicated=False,
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that is where `push` and `pull` go, in objects of a MiB."""
    monkeypatch.setattr(frames, "OBJECT_BYTES", MIB)
    store = Store(tmp_path / "store")
    monkeypatch.setattr(push_pull, "Bucket", lambda url: store)
    return store


@pytest.fixture
def pushed(store: Store, tmp_path: Path) -> ArtifactRecord:
    """Two results in the store; the record there of the larger one."""
    one = Cache(tmp_path / "one", pytest.fail)
    record = publish(one, columns(), "large")
    publish(one, graph(), "small")
    push_pull.push(one, store.where, Selection())
    return stored(store, record.id)


def stored(store: Store, artifact_id: str) -> ArtifactRecord:
    text = store.get(f"artifacts/{artifact_id}.json")
    assert text is not None
    return read_artifact_record(text, artifact_id)


def name_of(record: ArtifactRecord, number: int) -> str:
    return f"data/{record.path.name}/{record.objects['column_indices'][number].blake3}"


def pull(store: Store, root: Path) -> tuple[Cache, Moved]:
    cache = Cache(root, pytest.fail)
    return cache, push_pull.pull(cache, store.where, Selection())


def test_an_array_of_several_objects_comes_as_it_was(store, pushed, tmp_path):
    objects = pushed.objects["column_indices"]
    assert [each.raw for each in objects] == [MIB] * 5 + [400]
    assert len(pushed.objects["row_offsets"]) == 1
    assert len(store.below(f"data/{pushed.path.name}")) == 8  # and the attributes
    cache, moved = pull(store, tmp_path / "two")
    assert (moved.artifacts, moved.damaged) == (2, {})
    assert equal(cache.open(pushed.id), columns())
    assert cache.verify().damaged == {}
    here, there = cache.describe(pushed.id), Cache(tmp_path / "one").describe(pushed.id)
    assert here.files == there.files
    assert here.objects == {}
    assert [path.read_bytes() for path in shards(here)] == [path.read_bytes() for path in shards(there)]


def test_a_push_that_was_cut_sends_what_is_missing(store, pushed, tmp_path):
    missing = [name_of(pushed, 2), f"artifacts/{pushed.id}.json"]
    store.remove(missing)
    sent = upload_artifact(Cache(tmp_path / "one"), pushed.id, store)
    assert sent == pushed.objects["column_indices"][2].size
    assert stored(store, pushed.id) == pushed


def test_nothing_stays_of_a_push_that_finds_damage(store, tmp_path):
    cache = Cache(tmp_path / "one")
    record = publish(cache, columns())
    shard = max(shards(record), key=lambda path: path.stat().st_size)
    with shard.open("r+b") as file:
        file.seek(4 * MIB + 7)
        file.write(b"damage")
    with pytest.raises(DamagedArtifact, match=r"bytes 4,194,304 to 5,242,880 are not what was written"):
        upload_artifact(cache, record.id, store)
    assert store.below(f"data/{record.path.name}") == {}
    assert store.names("artifacts") == []


def assert_costs_itself(
    store: Store, record: ArtifactRecord, root: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other result comes; of this one nothing is kept, and no more was written than it has."""
    ends = [0]
    write = sink.write_at
    monkeypatch.setattr(
        sink,
        "write_at",
        lambda handle, view, start: (ends.append(start + len(view)), write(handle, view, start)),
    )
    cache, moved = pull(store, root)
    assert moved.artifacts == 1
    assert moved.damaged.keys() == {record.id}
    assert words in moved.damaged[record.id]
    assert max(ends) <= max(file.size for file in record.files)
    assert len(list((root / "data").iterdir())) == 1
    assert cache.verify().damaged == {}


def exchange(store: Store, record: ArtifactRecord) -> None:
    one, other = name_of(record, 1), name_of(record, 2)
    held, other_held = store.get(one), store.get(other)
    assert held is not None
    assert other_held is not None
    store.put(one, other_held)
    store.put(other, held)


def change(edit: Callable[[bytes], bytes]) -> Callable[[Store, ArtifactRecord], None]:
    def apply(store: Store, record: ArtifactRecord) -> None:
        store.put(name_of(record, 2), edit(store.get(name_of(record, 2)) or b""))

    return apply


HARM = {
    "flipped": (change(lambda data: data[:5000] + b"flipped" + data[5007:]), "is damaged: it "),
    "cut": (change(lambda data: data[: len(data) // 2]), "is damaged: it decodes to "),
    "empty": (change(lambda data: b""), "decodes to 0 bytes, and its record says 1,048,576"),
    "longer": (change(lambda data: data + b"more"), " are read"),
    "no frame": (change(lambda data: b"x" * len(data)), "is damaged: it is no zstd frame"),
    "another": (
        change(lambda data: zstandard.compress(bytes(MIB))),
        "is damaged: it has another digest than its record says",
    ),
    "exchanged": (exchange, "is damaged: it has another digest than its record says"),
    "gone": (lambda store, record: store.remove([name_of(record, 2)]), "s3://bucket/a does not hold data/"),
}


@pytest.mark.parametrize("harm", HARM)
def test_an_object_that_is_harmed_costs_its_artifact(store, pushed, tmp_path, monkeypatch, harm):
    apply, words = HARM[harm]
    apply(store, pushed)
    assert_costs_itself(store, pushed, tmp_path / "two", words, monkeypatch)


def reseal(store: Store, artifact_id: str, edit: Callable[[dict[str, Any]], None]) -> None:
    body = unseal(store.get(f"artifacts/{artifact_id}.json") or b"")
    edit(body)
    store.put(f"artifacts/{artifact_id}.json", seal(body))


def compressed(data: bytes, **parameters: int) -> bytes:
    chosen = zstandard.ZstdCompressionParameters(compression_level=1, **parameters)
    return zstandard.ZstdCompressor(compression_params=chosen).compress(data)


LIES = {
    "bomb": (compressed(bytes(256 * MIB)), "decodes to more than the 1,048,576 bytes that its record says"),
    "two frames": (compressed(bytes(MIB)) * 2, "decodes to more than the 1,048,576 bytes"),
    "one byte more": (compressed(bytes(MIB + 1)), "decodes to more than the 1,048,576 bytes"),
    "one byte less": (
        compressed(bytes(MIB - 1)),
        "decodes to 1,048,575 bytes, and its record says 1,048,576",
    ),
    "wide window": (compressed(bytes(64 * MIB), window_log=26), "too much memory for decoding"),
    "other content": (compressed(bytes(MIB)), "hold something else than its id says"),
    "nothing": (b"", "decodes to 0 bytes"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_frame_whose_record_was_made_for_it_is_refused(store, pushed, tmp_path, monkeypatch, lie):
    frame, words = LIES[lie]

    def edit(body: dict[str, Any]) -> None:
        body["objects"]["column_indices"][2] = [MIB, len(frame), blake3(frame).hexdigest()]

    store.put(f"data/{pushed.path.name}/{blake3(frame).hexdigest()}", frame)
    reseal(store, pushed.id, edit)
    assert_costs_itself(store, pushed, tmp_path / "two", words, monkeypatch)


def test_objects_in_another_order_are_refused(store, pushed, tmp_path, monkeypatch):
    def edit(body: dict[str, Any]) -> None:
        objects = body["objects"]["column_indices"]
        objects[1], objects[2] = objects[2], objects[1]

    reseal(store, pushed.id, edit)
    words = "hold something else than its id says"
    assert_costs_itself(store, pushed, tmp_path / "two", words, monkeypatch)


RECORDS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "none": (lambda body: body.pop("objects"), "names no objects of "),
    "of no array": (lambda body: body["objects"].update(other=[]), "are not those of its arrays"),
    "not of one": (lambda body: body["objects"].pop("row_offsets"), "are not those of its arrays"),
    "too few": (lambda body: body["objects"]["column_indices"].pop(), "its dtype and shape make 5,243,280"),
    "too large": (
        lambda body: body["objects"]["column_indices"][5].__setitem__(0, OBJECT_BYTES + MIB),
        "bytes that hold 68,157,440",
    ),
    "stored larger": (
        lambda body: body["objects"]["column_indices"][5].__setitem__(1, MIB),
        "an object of column_indices of 1,048,576 bytes that hold 400",
    ),
    "empty": (lambda body: body["objects"]["column_indices"][5].__setitem__(0, 0), "bytes that hold 0"),
    "within a piece": (
        lambda body: body["objects"]["column_indices"][0].__setitem__(0, 7),
        "ends within a piece that has a digest",
    ),
    "no number": (
        lambda body: body["objects"]["column_indices"][0].__setitem__(1, "7"),
        "its values are not those of an artifact's record",
    ),
    "a path": (
        lambda body: body["objects"]["column_indices"][0].__setitem__(2, "../../../recipes"),
        "its values are not those of an artifact's record",
    ),
}


@pytest.mark.parametrize("wrong", RECORDS)
def test_a_record_whose_objects_cannot_be_is_refused(store, pushed, tmp_path, monkeypatch, wrong):
    edit, words = RECORDS[wrong]
    reseal(store, pushed.id, edit)
    assert_costs_itself(store, pushed, tmp_path / "two", words, monkeypatch)


def test_a_line_cut_within_an_object_costs_that_object(store, pushed, tmp_path):
    text = store.get(f"artifacts/{pushed.id}.json") or b""
    cut = name_of(pushed, 3)
    store.cuts[cut] = 1
    cache = Cache(tmp_path / "two", pytest.fail)
    download_artifact(cache, pushed.id, text, store)
    assert equal(cache.open(pushed.id), columns())
    assert store.asked.pop(cut) == 2
    assert set(store.asked.values()) == {1}

    store.cuts[cut] = 2
    other = Cache(tmp_path / "three", pytest.fail)
    with pytest.raises(RemoteError, match="cannot be reached: the line is cut"):
        download_artifact(other, pushed.id, text, store)
    assert list((other.root / "data").iterdir()) == []


def test_what_does_not_fit_on_the_disk_is_not_begun(store, pushed, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "disk_usage", lambda root: SimpleNamespace(free=MIB))
    size = f"{pushed.bytes_on_disk:,} bytes were to be written"
    with pytest.raises(GravelError, match=f"no space left for the cache .*: {size}"):
        pull(store, tmp_path / "two")
    assert store.asked[name_of(pushed, 0)] == 0


MEASURE = """
import json, re, sys
from pathlib import Path
from gravel.pipeline.store import frames
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.transfer import download_artifact, upload_artifact
from tests.pipeline.samples import publish
from tests.pipeline.store.test_frames import MIB, Store, columns

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10

frames.OBJECT_BYTES = 2 * MIB
here, store = Path(sys.argv[1]), Store(Path(sys.argv[1]) / "store")
if sys.argv[2] == "made":
    print(json.dumps(publish(Cache(here / "one"), columns(20 * MIB)).id))
    sys.exit()
identity = sys.argv[3]
upload_artifact(Cache(here / "small"), sys.argv[4], store)  # what is loaded first counts for neither
before = peak()
if sys.argv[2] == "push":
    upload_artifact(Cache(here / "one"), identity, store)
else:
    download_artifact(Cache(here / "two"), identity, store.get(f"artifacts/{identity}.json"), store)
print(peak() - before)
"""


def test_memory_is_bounded_by_objects_and_not_by_the_array(tmp_path):
    """Four threads have an object of 2 MiB each, of an array of 40 of them."""
    small = publish(Cache(tmp_path / "small"), graph()).id

    def measure(*words: str) -> Any:
        command = [sys.executable, "-c", MEASURE, str(tmp_path), *words]
        done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    identity = measure("made")
    growth = {verb: measure(verb, identity, small) for verb in ("push", "pull")}
    assert len(stored(Store(tmp_path / "store"), identity).objects["column_indices"]) == 40
    assert max(growth.values()) < 32 * MIB, growth
