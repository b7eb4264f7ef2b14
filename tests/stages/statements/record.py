"""What cases stated and took: `python -m tests.stages.statements.record --write [--backend cuda]` records it.

A statement that is changed no longer agrees with the record; `--stated` records it anew, without measuring.
What is too small or too large beside what was taken is printed, and fails the tests.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.stages.statements.cases import CASES, LARGE, SCALES, SMALL
from tests.stages.statements.files import write_files
from tests.stages.statements.measuring import filled, host_bytes, measured, plain, sizes_of, stated

FILE = Path(__file__).with_name("recorded.json")

ROOM = 1.2
"""How far a statement may lie above what was taken."""

NOISE = 1.02
"""How far a peak may lie above the statement: pages that the allocator keeps for itself."""

MAX_FIXED = {"host": 32 << 20, "device": 64 << 20}
"""How much farther, for what 16 threads digest, a disk that is tried, and what imports differ by; on a device
for buffers."""

_MAKERS = (48 << 20, "another process that makes parts, where workers are several")
_SHARES = "shares that wait, where a disk is slow"
_ARRIVALS = (96 << 20, "what goes to other ranks, had every arc another end")
_BITMAP = (80 << 20, "pages of a bitmap of ids, one for each id at worst")

ANY = 1 << 40
"""More than any case states."""

_NUMBA = (48 << 20, "Numba, which another thread of the process may import meanwhile")

_CHOICE = (ANY, "it may choose any strategy, and states the largest; each has a case of its own")
_RANGES = (192 << 20, "all rows at once are stated, and ranges are encoded where results do not stay there")
_LOOPS = (96 << 20, "extra ends of edges, which graphs without loops have none of")
_ORDER = (ANY, "it may choose any order, and states the largest; each has a case of its own")

_UNDIRECTED = (ANY, "both arcs of each edge, as a list may say that it is undirected")

LARGE_FIXED: dict[tuple[str, str], tuple[int, str]] = {
    **{(name, "host"): _MAKERS for name in ("edges", "sparse edges", "dense edges")},
    ("compress auto", "host"): (80 << 20, "it may choose any of the layouts, and states the largest"),
    ("partition", "host"): (48 << 20, _SHARES),
    ("partition sparse", "host"): (160 << 20, _SHARES),
    ("bfs partition ranks", "host"): (88 << 20, "ranks that may take turns, beside those on workers"),
    ("paths", "host"): (64 << 20, "searches that meet before they have seen all vertices"),
    ("text anywhere", "host"): _BITMAP,
    ("reorder auto", "host"): _ORDER,
    ("reorder community", "host"): (64 << 20, "clusters that do not join, where the next graph is as large"),
    ("bfs streamed", "host"): (96 << 20, "buffers of which small rows need one, and may take three"),
    ("bfs striped", "host"): (448 << 20, "a level may have all arcs, of which none is dropped"),
    **{(f"{name} dense partition", "host"): _ARRIVALS for name in ("bfs", "components")},
    **{(f"report{kind}", "host"): _NUMBA for kind in ("", " ranks", " with predictions")},
    ("links", "host"): (64 << 20, "ranks in processes of their own, each with what carries messages"),
    ("parquet", "host"): (64 << 20, "row groups of files that others wrote"),
    ("components directed partition", "host"): (384 << 20, "ends of arcs, which differ at worst"),
    ("arcs", "device"): _UNDIRECTED,
    ("compress auto", "device"): (400 << 20, "rows may be left as they are, which takes nothing"),
    **{
        (name, "device"): _CHOICE
        for name in ("bfs", "bfs sparse", "bfs split", "bfs in", "bfs both", "counters", "graph500", "probe")
    },
    ("bfs statistics", "device"): _CHOICE,
    **{
        (name, "device"): (ANY, "rows or searches one by one, of which the larger is stated")
        for name in ("betweenness", "betweenness in")
    },
    **{(f"compress {codec}", "device"): _RANGES for codec in ("varint", "blocks", "elias_fano")},
    ("compress sparse", "device"): (448 << 20, _RANGES[1]),
    **{(f"bfs sparse {name}", "device"): _LOOPS for name in ("adaptive", "direction_optimizing")},
    ("reorder auto", "device"): _ORDER,
    ("text weights", "device"): (
        96 << 20,
        "edges by the size of the text, a quarter too many, and texts that are gone when columns join",
    ),
    ("text anywhere", "device"): (ANY, "ids that may all be distinct, and are sorted"),
}
"""Cases with more, and why."""

Sizes = dict[str, list[int]]


def load() -> dict[str, Any]:
    """Return the record, by section, case and scale.

    `host` and `device` have the bytes taken, `compiling` what compiling takes beside; `cpu` and `cuda` have
    all that is stated there, and `inputs` the sizes that it is stated for.
    """
    recorded: dict[str, Any] = json.loads(FILE.read_text())
    return recorded


def faults(name: str, side: str, sizes: Sizes, compiling: int = 0) -> list[str]:
    """Say which statements of a case are too small or too large; peaks are without `compiling`."""
    fixed, _ = LARGE_FIXED.get((name, side), (MAX_FIXED[side], ""))
    found = []
    for scale, (need, peak) in sizes.items():
        taken = peak + compiling
        line = f"{name}, scale {scale}, {side}: {need:,} bytes stated, {taken:,} taken"
        if taken > NOISE * need:
            found.append(f"{line}: too small by {taken - need:,}")
        elif need > ROOM * taken + fixed:
            found.append(f"{line}: too large by {need - ROOM * taken - fixed:,.0f}")
    return found


def table_line(name: str, sizes: Sizes) -> str:
    """Write a line of a table: stated and taken MiB of each scale, and the first by the second."""
    cells = []
    for scale, (need, peak) in sizes.items():
        share = f"{need / peak:5.2f}" if peak else "    -"
        cells.append(f"{scale}: {need / (1 << 20):8.1f} {peak / (1 << 20):8.1f} {share}")
    return f"{name:32} MiB stated, taken, ratio   " + "   ".join(cells)


def statement(name: str, scale: str, backend: str, inputs: Mapping[str, Any], folder: Path) -> list[int]:
    """Return what a case states now for inputs of these sizes.

    These are host and device bytes, the workers of a rank group with the bytes of each, and the bytes of the
    results.
    """
    from gravel.stages.stage import Extent

    sizes = {slot: tuple(Extent(**each) for each in given) for slot, given in inputs.items()}
    if int(scale) == LARGE:
        sizes = {slot: tuple(map(_enlarged, given)) for slot, given in sizes.items()}
    else:
        write_files(filled(CASES[name].parameters, int(scale), str(folder)), int(scale))
    need = stated(name, int(scale), backend, sizes, folder)
    outputs = [each.bytes for each in need.outputs]
    host = host_bytes(need, CASES[name])
    return [host, need.device_bytes, need.workers, need.each_host_bytes, *outputs]


def all_stated(recorded: Mapping[str, Any], folder: Path, files: Collection[int] = SCALES) -> dict[str, Any]:
    """Return what all cases state now, in the sections of the record; those of files for these scales."""
    now: dict[str, Any] = {"cpu": {}, "cuda": {}}
    for name, recorded_sizes in recorded["inputs"].items():
        sizes = dict(recorded_sizes)
        if {"file", "folder"} & CASES[name].parameters.keys():
            sizes = {str(scale): sizes[str(scale)] for scale in files}
        else:
            sizes[str(LARGE)] = sizes[str(SCALES[-1])]
        for scale, inputs in sizes.items():
            if CASES[name].cpu:
                now["cpu"].setdefault(name, {})[scale] = statement(name, scale, "cpu", inputs, folder)
            if CASES[name].gpu:
                now["cuda"].setdefault(name, {})[scale] = statement(name, scale, "cuda", inputs, folder)
    return now


def _enlarged(size: Any) -> Any:
    times = 1 << (LARGE - SCALES[-1])
    normal = None if size.normal_arcs is None else times * size.normal_arcs
    return replace(
        size,
        vertices=times * size.vertices,
        arcs=times * size.arcs,
        bytes=times * size.bytes,
        normal_arcs=normal,
    )


def judge(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say which of the statements made now are too small or too large beside what was taken."""
    found = []
    for side, place, section in (("host", 0, "cpu"), ("device", 1, "cuda")):
        for name, peaks in recorded.get(side, {}).items():
            stated = now[section].get(name, {})
            sizes = {scale: [stated[scale][place], peak] for scale, peak in peaks.items() if scale in stated}
            found += faults(name, side, sizes, recorded["compiling"][name] if side == "host" else 0)
    return found


def write(backend: str, chosen: list[str], kept: str | None) -> list[str]:
    """Measure cases and write what they took and what all state; returns the faults."""
    recorded: dict[str, Any] = load() if FILE.exists() else {}
    with tempfile.TemporaryDirectory(prefix="gravel-") as given:
        folder = Path(kept or given)
        for name in chosen:
            if CASES[name].measured and (CASES[name].cpu or backend == "cuda"):
                _measure(recorded, folder, name, backend)
            recorded.setdefault("inputs", {})[name] = {
                str(scale): plain(sizes_of(folder, name, scale)) for scale in SCALES
            }
            save(recorded)
        recorded |= all_stated(recorded, folder)
    save(recorded)
    return judge(recorded, recorded)


def save(recorded: Mapping[str, Any]) -> None:
    """Write the record, a case a line."""
    sections = []
    for section, cases in recorded.items():
        lines = [
            f"{json.dumps(name)}:{json.dumps(case, separators=(',', ':'))}" for name, case in cases.items()
        ]
        sections.append(f"{json.dumps(section)}:{{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(sections) + "\n}\n")


def _measure(recorded: dict[str, Any], folder: Path, name: str, backend: str) -> None:
    side = "device" if backend == "cuda" else "host"
    taken = {str(scale): measured(folder, name, scale, backend)[side] for scale in SCALES}
    recorded.setdefault(side, {})[name] = {scale: peak for scale, (_, peak) in taken.items()}
    compiling = 0
    if side == "host":
        anew, again = (measured(folder, name, SMALL, backend, anew=anew)["host"][1] for anew in (True, False))
        compiling = max(0, anew - again)
        recorded.setdefault("compiling", {})[name] = compiling
    for scale, (need, peak) in taken.items():
        line = f"{need >> 20:6} MiB stated {(peak + compiling) >> 20:6} MiB taken"
        print(f"{name:30} {side:6} {scale} {line}, {compiling >> 20} of them to compile", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--folder", help="where the cases' results are kept, for another time")
    parser.add_argument("--stated", action="store_true", help="measure nothing")
    parser.add_argument("names", nargs="*", help="cases; all of the backend, if none is named")
    arguments = parser.parse_args()
    of_backend = [name for name, case in CASES.items() if arguments.backend == "cpu" or case.gpu]
    chosen = [] if arguments.stated else arguments.names or of_backend
    raise SystemExit("\n".join(write(arguments.backend, chosen, arguments.folder)) or 0)
