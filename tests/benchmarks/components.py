"""Times every way of finding components on one GPU, each result checked; a table with goals and peers.

    python -m tests.benchmarks.components kron22 kron24 grid5000 USA-road-NE.pace.gr.xz --only afforest

With `--rows` encoded rows of every layout are searched too, on the device and in pinned memory, and columns
that are read in parts.

A graph is a name as `tests.benchmarks.deep` takes them or a file that `ingest` reads; `:degree` behind it
numbers the vertices by descending degree. Times are CUDA events around the launch, medians of `--runs`.
Labels are compared with those that passes over all arcs converge to, whose arcs all agree.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cupy

from gravel.kernels import order
from gravel.kernels.components import ComponentsResult, components
from gravel.kernels.components.cuda.afforest import prepare
from gravel.kernels.components.cuda.afforest_tiles import MAX_TRACED, PHASES
from gravel.kernels.cuda.wake import wake
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.placement.pinned import buffer, pin
from tests.benchmarks.deep import graph

REFERENCES = {  # milliseconds: goal, ECL-CC, cuGraph
    "kron22": (0.15, 2.36, 28),
    "kron24": (0.45, 7.58, 45),
    "kron26": (2.0, 35.5, 119),
    "grid5000": (0.45, 2.62, 71),
    "USA-road-NE": (0.06, 0.144, 34),
}

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "afforest": ("afforest", {}),
    "tiles": ("afforest_tiles", {}),
    "tiles, giant of vertex 0": ("afforest_tiles", {"giant": "first"}),
    "tiles, no pruning": ("afforest_tiles", {"prune": False}),
    "tiles, no probes": ("afforest_tiles", {"probes": 0}),
    "tiles, first neighbour alone": ("afforest_tiles", {"rounds": 1}),
    "tiles, blocks of 1024": ("afforest_tiles", {"block": 1024}),
    "single pass": ("afforest_single_pass", {}),
    "single pass, sampled giant": ("afforest_single_pass", {"giant": "sampled"}),
    "single pass, no pruning": ("afforest_single_pass", {"prune": False}),
    "multi-pass": ("afforest_multi_pass", {}),
    "multi-pass, sampled giant": ("afforest_multi_pass", {"giant": "sampled"}),
    "multi-pass, no pruning": ("afforest_multi_pass", {"prune": False}),
}


def median_of(label: str, run: Callable[[], ComponentsResult], expected: Any, runs: int) -> None:
    """Print the median time of one more way, each of whose results is checked."""
    times = []
    for _ in range(1 + runs):
        wake()
        found = run()
        assert bool((found.component == expected).all()), label
        times.append(found.milliseconds)
    print(
        f"  {label:32} {statistics.median(times[1:]):8.4f} ms, {min(times[1:]):.4f} to {max(times):.4f}",
        flush=True,
    )


def measure_rows(arrays: tuple[Any, Any], expected: Any, runs: int) -> None:
    """Time encoded rows in both memories, and columns in parts from pinned buffers."""
    for layout in LAYOUTS:
        rows = encode(layout, *arrays)
        search = prepare(rows, symmetric=True)
        bits = 8 * rows.nbytes / max(1, rows.arc_count)
        note = f"{bits:.1f} bits/arc, heads {search.prepare_milliseconds:.2f} ms"
        median_of(f"rows {layout}", search.run, expected, runs)
        held = {name: buffer(len(array), array.dtype) for name, array in rows.arrays.items()}
        for name, array in rows.arrays.items():
            array.get(out=held[name])
        pinned = {name: pin(array) for name, array in held.items()}
        views = {name: each.view() for name, each in pinned.items()}
        far = search.beside(replace(rows, arrays=views))
        median_of(f"rows {layout}, pinned", far.run, expected, min(runs, 5))
        # As `placement: split` has it: offsets on the device, and of columns what a quarter of them takes.
        near = {
            name: views[name] if name in ("stream", "column_indices") else rows.arrays[name] for name in views
        }
        keep = rows.arc_count * rows.dtype.itemsize // 4 if layout == "csr" else 0
        split = prepare(replace(rows, arrays=near), symmetric=True, rounds=2 if keep else 4, keep=keep)
        median_of(f"rows {layout}, split", split.run, expected, min(runs, 5))
        print(f"    kept {split.kept.nbytes / 1e6:.1f} MB in {split.prepare_milliseconds:.2f} ms", flush=True)
        print(f"    {note}", flush=True)
        del rows, search, far, split, near, views, pinned, held
    columns = arrays[1].get()
    median_of(
        "streamed",
        lambda: components(arrays[0], Sliced(columns), symmetric=True, strategy="streamed"),
        expected,
        min(runs, 5),
    )


class Sliced:
    """Columns that are read in slices alone."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, wanted: Any) -> Any:
        return self.array[wanted]


def load(name: str) -> tuple[Any, Any]:
    """Row offsets and columns of a graph, renumbered if its name asks for it."""
    plain = name.removesuffix(":degree")
    arrays = graph(plain)
    if plain == name:
        return arrays
    renumbered: tuple[Any, Any] = order.apply(*arrays, order.permutation("degree", *arrays))
    return renumbered


def measure(name: str, only: list[str], runs: int, encoded: bool) -> None:
    """Time and check the variants on one graph."""
    arrays = load(name)
    expected = components(*arrays, symmetric=True, strategy="afforest_multi_pass")
    assert expected.converged
    labels = int((expected.component == cupy.arange(len(expected.component))).sum())
    stem = Path(name.removesuffix(":degree")).name.split(".")[0]
    goal, *peers = REFERENCES.get(stem, (None, None, None))
    print(
        f"{name}: {len(arrays[0]) - 1} vertices, {len(arrays[1])} arcs, {labels} components; "
        f"goal {goal} ms, ECL-CC {peers[0]}, cuGraph {peers[1]}",
        flush=True,
    )
    for label, (strategy, tuning) in VARIANTS.items():
        if only and label not in only:
            continue
        times = []
        fast, told = strategy in ("afforest", "afforest_tiles"), strategy == "afforest_tiles"
        for _ in range(1 + (runs if fast else min(runs, 5))):
            traced = {"trace": cupy.zeros(MAX_TRACED, cupy.uint64)} if told else {}
            wake()
            found = components(*arrays, symmetric=True, strategy=strategy, **tuning, **traced)
            same = bool((found.component == expected.component).all())
            assert same == found.converged, f"{label}: the same {same}, converged {found.converged}"
            times.append(found.milliseconds)
        times = times[1:]
        line = f"  {label:32} {statistics.median(times):8.4f} ms, {min(times):.4f} to {max(times):.4f}"
        if told:
            clocks = [int(clock) for clock in traced["trace"].get() if clock]
            phases = [f"{(b - a) / 1.98e3:.1f}" for a, b in itertools.pairwise(clocks)]
            line += "; us: " + " ".join(f"{n} {t}" for n, t in zip(PHASES, phases, strict=False))
        elif not found.converged:
            line += "; not converged"
        print(line, flush=True)
    if encoded:
        measure_rows(arrays, expected.component, runs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--only", action="append", default=[], help="a variant by its name; may be repeated")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--rows", action="store_true", help="encoded, pinned and streamed rows as well")
    chosen = parser.parse_args()
    for name in chosen.graphs:
        measure(name, chosen.only, chosen.runs, chosen.rows)
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
