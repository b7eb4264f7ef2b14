"""Text to edges: what each step of reading a SNAP file takes, on a GPU and on the CPU, beside pyarrow.

    python -m tests.benchmarks.text --scale 22 --folder /dev/shm --data FOLDER --pieces 16 32 64

Writes Kronecker edges of 2^scale vertices as text (1.0 GB at scale 22) and reads them from the page cache.
The rows are, for each size of piece: the file into pinned memory by all threads; that and the copy to the
device; that and parsing; the whole of `ingest`, its result on the device and on the host. Then `ingest` on
the CPU with all threads, and pyarrow.csv. Results on the device are compared with those of the CPU, also for
every file under `--data`. The best of `--repeat` runs counts. `--cpu` leaves the GPU out.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from gravel.stages import ingest_device
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.sizes import Machine

EDGE_FACTOR = 16
CHUNK = 1 << 20
MEMORY = 8 << 30


def write_text(path: Path, scale: int, threads: int, spread: int = 1) -> None:
    """Write the edges as SNAP has them; ids are multiples of `spread`."""
    import pyarrow
    from pyarrow import csv

    from gravel.kernels.generate import generate

    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")

    def part(first: int) -> bytes:
        made = generate("rmat", scale=scale, edge_factor=EDGE_FACTOR, seed=1, first=first, count=count)
        columns = [pyarrow.array(each.astype(numpy.int64) * spread) for each in made]
        out = io.BytesIO()
        csv.write_csv(pyarrow.table(columns, names=["source", "target"]), out, options)
        return out.getvalue()

    edges = EDGE_FACTOR << scale
    count = min(CHUNK, edges)
    with path.open("wb") as file, ThreadPoolExecutor(threads) as pool:
        file.write(b"# Directed graph: Kronecker\n# FromNodeId\tToNodeId\n")
        for begin in range(0, edges, 32 * count):
            for text in pool.map(part, range(begin, min(edges, begin + 32 * count), count)):
                file.write(text)


def best(repeat: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time and the last result."""
    times, found = [], None
    for _ in range(repeat):
        found = None  # its memory is used again
        began = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - began)
    return min(times), found


class Kept(PlainContext):
    """A context whose results may stay on the device."""

    keeps_device_arrays = True


def read(path: Path, machine: Machine, context: type[PlainContext] = PlainContext) -> Any:
    """Run the stage, and wait for the device."""
    made = ingest(context(machine), IngestParameters(file=str(path), memory=MEMORY))
    if machine.backend == "cuda":
        import cupy

        cupy.cuda.Device().synchronize()
    return made


def read_pieces(path: Path, threads: int, text: Any, *, copied: bool) -> int:
    """Read a file into the buffers, and copy these to the device or not; returns its bytes."""
    from gravel.stages.streams import LineStream, open_stream
    from gravel.stages.streams.lines import Pieces

    size = 0
    with open_stream(str(path)) as stream, Pieces(LineStream(stream), text.buffers, threads) as pieces:
        waiting: list[Any] = []
        for piece in pieces:
            size += piece.end - piece.first
            if copied:
                waiting.append((piece, text.upload(*piece)))
            else:
                pieces.release(piece)
            if len(waiting) > 1:
                done, uploaded = waiting.pop(0)
                uploaded.ready.synchronize()
                pieces.release(done)
        for _, uploaded in waiting:
            uploaded.ready.synchronize()
    return size


def parse_alone(path: Path, threads: int, text: Any) -> int:
    """Read, copy and parse, and let go of the edges; returns their number."""
    from gravel.stages.parsing.pairs import PairGrammar
    from gravel.stages.parsing.text import read_pairs
    from gravel.stages.readers import DeviceText, Reading
    from gravel.stages.streams import LineStream, open_stream

    with open_stream(str(path)) as stream:
        reading = Reading(
            stream, Path("/tmp"), threads, 1 << 20, False, print, print, print, device=DeviceText(text)
        )
        grammar = PairGrammar(form="", comments="#%")
        return sum(len(chunk.source) for chunk in read_pairs(reading, LineStream(stream), grammar))


def kernel_times(path: Path) -> list[tuple[str, float]]:
    """Time the kernels on one piece that lies on the device; GB of text a second."""
    import cupy

    from gravel.kernels.cuda import event_milliseconds
    from gravel.kernels.text.pairs_cuda import PairParser

    with path.open("rb") as file:
        data = file.read(32 << 20)
    data = data[: data.rfind(b"\n") + 1]
    text = cupy.asarray(numpy.frombuffer(data + b"\n" * (-len(data) % 16), numpy.uint8))
    rows = []
    for block in (128, 256, 512):
        parser = PairParser(
            columns=2,
            source_column=0,
            target_column=1,
            weight_column=-1,
            prefix=-1,
            delimiter="",
            comments="#%",
            low=0,
            high=(1 << 63) - 1,
            piece_bytes=len(text),
            block=block,
        )

        def counts(parser: PairParser = parser) -> None:
            parser.count(text, 0, len(data))

        def parses(parser: PairParser = parser) -> None:
            parser.parse(numpy.uint32)

        for name, work in (("count", counts), ("parse", parses)):
            work()
            taken = min(event_milliseconds(work) for _ in range(5))
            rows.append((f"{name}, blocks of {block}", len(data) / taken / 1e6))
    return rows


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same graph with the same ids."""

    def arrays(made: Any) -> list[Any]:
        found = (made[0].source, made[0].target, made[0].weight, made[1].ids)
        return [each.get() if hasattr(each, "get") else each for each in found]

    def alike(left: Any, right: Any) -> bool:
        return (left is None) == (right is None) and (left is None or numpy.array_equal(left, right))

    counts = [(made[0].vertex_count, made[1].vertex_count, made[1].first) for made in (one, other)]
    return counts[0] == counts[1] and all(map(alike, arrays(one), arrays(other)))


def outcome(path: Path, machine: Machine) -> Any:
    """Return what a file holds, or the words of its error."""
    try:
        return read(path, machine)
    except StageError as error:
        return str(error)


def compare_folder(folder: Path, machines: tuple[Machine, Machine]) -> None:
    """Read every file of a folder on both; says which differ."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    differ = []
    for path in files:
        one, other = (outcome(path, machine) for machine in machines)
        if isinstance(one, str) or isinstance(other, str):
            differ += [path] if one != other else []
        elif not same(one, other):
            differ.append(path)
    print(
        f"{len(files)} files of {folder}: {len(differ)} differ from the CPU {[str(each) for each in differ]}"
    )


def main() -> None:
    """Write the text, time what was asked for, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pieces", type=int, nargs="*", default=[16, 32, 64], metavar="MIB")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    chosen = parser.parse_args()
    path = chosen.folder / f"gravel-text-{chosen.scale}.txt"
    began = time.perf_counter()
    write_text(path, chosen.scale, chosen.threads)
    size = path.stat().st_size
    print(f"{size:,} bytes of text, written in {time.perf_counter() - began:.1f} s; {chosen.threads} threads")

    def row(name: str, seconds: float, of: int = size, before: str = "") -> None:
        print(f"{before + name:<58} {seconds * 1e3:9.1f} ms {of / seconds / 1e9:8.2f} GB/s", flush=True)

    try:
        on_cpu = Machine("cpu", chosen.threads, 64 << 30)
        read(path, on_cpu)
        seconds, expected = best(max(1, chosen.repeat - 1), lambda: read(path, on_cpu))
        row("ingest on the CPU", seconds)
        row("pyarrow.csv", best(chosen.repeat, lambda: read_pyarrow(path, chosen.threads))[0])
        if not chosen.cpu:
            on_device(path, chosen, expected, row)
    finally:
        path.unlink()


def read_pyarrow(path: Path, threads: int) -> int:
    """Read the file as most scripts do."""
    import pyarrow
    from pyarrow import csv

    pyarrow.set_cpu_count(threads)
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=["source", "target"], skip_rows=2, block_size=16 << 20),
        parse_options=csv.ParseOptions(delimiter="\t"),
    )
    return int(table.num_rows)


def on_device(path: Path, chosen: argparse.Namespace, expected: Any, row: Callable[..., None]) -> None:
    """Time the steps on the GPU and compare their results."""
    import cupy

    from gravel.kernels.text.upload_cuda import TextBuffers
    from gravel.stages.streams.lines import buffer_bytes

    ingest_device.LEAST_TEXT = 0
    free = int(cupy.cuda.Device().mem_info[0] * 0.9)
    on_gpu = Machine("cuda", chosen.threads, 64 << 30, free)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    began = time.perf_counter()
    read(path, on_gpu)
    print(f"{name}; the first ingest took {time.perf_counter() - began:.2f} s (kernels compile)")
    for what, rate in kernel_times(path):
        print(f"{what:<58} {'':>12} {rate:8.1f} GB/s")
    for mebibytes in chosen.pieces:
        ingest_device.LARGEST_PIECE = mebibytes << 20
        text = TextBuffers(buffer_bytes(mebibytes << 20), buffers=4, texts=2)
        steps(path, chosen.threads, text, chosen.repeat, partial(row, before=f"pieces of {mebibytes} MiB: "))
        del text
        for kind, where in ((Kept, "device"), (PlainContext, "host")):
            seconds, found = best(chosen.repeat, partial(read, path, on_gpu, kind))
            row(f"pieces of {mebibytes} MiB: ingest, result on the {where}", seconds)
            print(f"{'':>10} the same as on the CPU: {same(found, expected)}")
            del found
    ingest_device.LARGEST_PIECE = 32 << 20
    tell_peak(path, on_gpu)
    small = Machine("cuda", chosen.threads, 64 << 30, 400 << 20)
    seconds, found = best(1, lambda: read(path, small))
    row("400 MiB of the device: ingest, result on the host", seconds)
    print(f"{'':>10} the same as on the CPU: {same(found, expected)}")
    others(path, chosen, on_gpu, row)
    if chosen.data:
        compare_folder(chosen.data, (Machine("cpu", chosen.threads, 64 << 30), on_gpu))


def tell_peak(path: Path, on_gpu: Machine) -> None:
    """Print the device memory that the stage states and what its pool has grown to."""
    import cupy

    from gravel.stages.ingest import STAGE

    pool = cupy.get_default_memory_pool()
    stated = STAGE.estimate(IngestParameters(file=str(path), memory=MEMORY), {}, on_gpu).device_bytes
    for context, where in ((PlainContext, "host"), (Kept, "device")):
        pool.free_all_blocks()
        before = pool.total_bytes()
        read(path, on_gpu, context)
        grown = (pool.total_bytes() - before) / 1e6
        print(f"device memory, result on the {where}: {stated / 1e6:,.0f} MB stated, {grown:,.0f} MB taken")


def steps(path: Path, threads: int, text: Any, repeat: int, row: Callable[..., None]) -> None:
    """Time the first steps of reading, each with those before it."""
    for readers in sorted({max(1, threads // 2), threads}):
        seconds, _ = best(repeat, partial(read_pieces, path, readers, text, copied=False))
        row(f"into pinned memory, {readers} threads", seconds)
    row("that, and to the device", best(repeat, lambda: read_pieces(path, threads, text, copied=True))[0])
    row("that, and parsed", best(repeat, lambda: parse_alone(path, threads, text))[0])


def others(path: Path, chosen: argparse.Namespace, on_gpu: Machine, row: Callable[..., None]) -> None:
    """Ids from everywhere, which are sorted, in a smaller text; and the same text with a fault at its end."""
    sparse = path.with_name(path.name + ".sparse")
    try:
        write_text(sparse, max(4, chosen.scale - 2), chosen.threads, spread=1_000_003 * 4099)
        size = sparse.stat().st_size
        on_cpu = Machine("cpu", chosen.threads, 64 << 30)
        seconds, found = best(chosen.repeat, lambda: read(sparse, on_gpu, Kept))
        row("ids of 64 bits, far apart: ingest, result on the device", seconds, size)
        tell_peak(sparse, on_gpu)
        print(f"{'':>10} the same as on the CPU: {same(found, read(sparse, on_cpu))}")
        with sparse.open("ab") as file:
            file.write(b"1 x\n")
        alike = outcome(sparse, on_gpu) == outcome(sparse, on_cpu)
        print(f"{'':>10} the same error as on the CPU: {alike}")
    finally:
        sparse.unlink()


if __name__ == "__main__":
    main()
