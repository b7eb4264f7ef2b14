"""How fast the store writes and reads, beside plain files and Zarr alone.

    python -m tests.benchmarks.store [--scale 24] [--folder FOLDER ...]

The arrays are the columns of a random graph of 2^scale vertices and 16 arcs each, scrambled and sorted within
rows, its offsets, and distances. For each folder (name one on the disk and one on tmpfs) and array it prints
GB/s of the array's own bytes: written, with the wait for the disk; read from the page cache; and read cold
where the cache can be dropped. `plain` writes the same bytes to one file and waits for it; `zarr` stores the
array with Zarr's own writer and reads it with Zarr.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import zarr
from numpy.typing import NDArray

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.committer import Disk
from gravel.stages.artifacts import Graph

ROUNDS = 3


def arrays(scale: int) -> dict[str, NDArray[numpy.generic]]:
    """Make the arrays."""
    random = numpy.random.default_rng(1)
    vertices, arcs = 1 << scale, 16 << scale
    scrambled = random.integers(0, vertices, arcs, dtype=numpy.uint32)
    ordered = numpy.sort(scrambled.reshape(-1, 1 << 16), axis=1).ravel()
    offsets = numpy.arange(0, 16 * (vertices + 1), 16, dtype=numpy.int64)
    distances = random.choice(numpy.array([2, 3, 4, 5, -1], numpy.int32), vertices)
    return {"scrambled": scrambled, "sorted": ordered, "offsets": offsets, "distances": distances}


def best(action: Callable[[], object]) -> float:
    """Return the seconds of the fastest round."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def drop_cache(folder: Path) -> None:
    """Have the files of a folder read from the disk next time, where the system does that."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def plain(folder: Path, array: NDArray[numpy.generic]) -> tuple[Callable[[], object], Callable[[], object]]:
    """One file."""
    path = folder / "plain"

    def write() -> None:
        with path.open("wb") as file:
            file.write(array.data)
            file.flush()
            os.fsync(file.fileno())

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            file.readinto(numpy.empty(array.nbytes, numpy.uint8).data)

    return write, read


def with_zarr(
    folder: Path, array: NDArray[numpy.generic]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Zarr's own writer, with shards and chunks as the store has them, and no checksums."""
    path = folder / "zarr"
    chunk = (1 << 20) // array.itemsize

    def write() -> None:
        shutil.rmtree(path, ignore_errors=True)
        disk = Disk(folder)
        shards = min(64, -(-len(array) // chunk)) * chunk
        zarr.create_array(path, data=array, chunks=(chunk,), shards=(shards,))
        disk.sync([])
        disk.close()

    return write, lambda: zarr.open_array(path, mode="r")[:]


def with_store(
    folder: Path, array: NDArray[numpy.generic]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """The store: written, digested, with its record."""
    root = folder / "cache"
    written: list[str] = []

    def write() -> None:
        shutil.rmtree(root, ignore_errors=True)
        cache = Cache(root)
        graph = Graph(
            row_offsets=numpy.zeros(1, numpy.int64),
            column_indices=array,
            vertex_count=0,
            arc_count=len(array),
            symmetric=False,
            deduplicated=False,
        )
        with cache.writer() as writer:
            written.append(writer.publish(graph).id)

    def read() -> None:
        found = Cache(root).open(written[-1])
        assert isinstance(found, Graph)
        numpy.asarray(found.column_indices)

    return write, read


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--folder", type=Path, nargs="+", default=[Path(tempfile.gettempdir())])
    asked = parser.parse_args()
    made = arrays(asked.scale)
    print(f"{len(os.sched_getaffinity(0))} cores; GB/s of the arrays' own bytes, the best of {ROUNDS}")
    for place in asked.folder:
        for name, array in made.items():
            for way, start in {"plain": plain, "zarr": with_zarr, "store": with_store}.items():
                with tempfile.TemporaryDirectory(dir=place) as folder:
                    write, read = start(Path(folder), array)
                    rates = {"written": best(write), "read": best(read)}
                    drop_cache(Path(folder))
                    began = time.perf_counter()
                    read()
                    rates["cold"] = time.perf_counter() - began
                    told = ", ".join(
                        f"{what} {array.nbytes / took / 1e9:6.2f}" for what, took in rates.items()
                    )
                    print(f"{place!s:10} {name:10} {array.nbytes / 1e6:7.0f} MB {way:6} {told}", flush=True)


if __name__ == "__main__":
    main()
