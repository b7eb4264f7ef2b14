"""FlexBFS's ablation: launch sizes fed back from the frontier against each fixed size, on one GPU.

    python -m tests.benchmarks.flex
    python -m tests.benchmarks.flex --side 2000 --sources 10 --fixed 256 4096 65536 1048576

On a regular grid and on one in which 0.1 % of the vertices have many edges, as the poster has them, and on
files that gravel reads: --files USA-road-NY.gr. Times are medians of `--repeats` medians over the sources.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import cupy
import numpy

from gravel.kernels import csr
from gravel.kernels.bfs import prepare
from gravel.kernels.bfs.cuda.flex import CONFIGURATIONS
from gravel.kernels.generate import generate
from tests.benchmarks.gpu import read


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--sources", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fixed", type=int, nargs="+", default=[256, 4096, 65_536, 1 << 20])
    parser.add_argument("--files", nargs="*", default=[])
    chosen = parser.parse_args()
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    side = chosen.side
    graphs = {
        "regular": (*generate("grid", dims=(side, side)), side * side),
        "irregular": _irregular(side),
        **{name: read(name) for name in chosen.files},
    }
    ways: list[dict[str, Any]] = [{"configuration": "fixed", "fixed_threads": size} for size in chosen.fixed]
    ways += [{"configuration": name} for name in CONFIGURATIONS]
    print(
        f"{'graph':12} {'configuration':20} {'launches':>8} {'most threads':>12} {'ms':>9} {'baselines':>14}"
    )
    for name, (source, target, vertices) in graphs.items():
        rows = csr.build(cupy.asarray(source), cupy.asarray(target), vertices)
        degrees = cupy.diff(rows.row_offsets).get()
        random = numpy.random.default_rng(7)
        sources = random.choice(numpy.flatnonzero(degrees), chosen.sources, replace=False)
        found = [_measured(rows, sources, way, chosen.repeats) for way in ways]
        baseline = found[ways.index({"configuration": "baseline"})][0]
        for way, (taken, launches) in zip(ways, found, strict=True):
            told = f"{way['configuration']} {way.get('fixed_threads', '')}".strip()
            print(
                f"{name[-12:]:12} {told:20} {len(launches):8} {max(launches):12,} {taken:9.3f}"
                f" {taken / baseline:14.2f}",
                flush=True,
            )


def _irregular(side: int) -> tuple[Any, Any, int]:
    source, target = generate("irregular_grid", dims=(side, side), share=0.001, degree=512, seed=1)
    return source, target, int(max(source.max(), target.max())) + 1


def _measured(rows: Any, sources: Any, way: dict[str, Any], repeats: int) -> tuple[float, tuple[int, ...]]:
    search = prepare(
        rows.row_offsets, rows.column_indices, strategy="flex", symmetric=True, output="distance", **way
    )
    search.run(int(sources[0]))
    times, launches = [], ()
    for _ in range(repeats):
        found = [search.run(int(source)) for source in sources]
        times.append(median(result.milliseconds for result in found))
        launches = found[0].launches or ()
    return median(times), launches


if __name__ == "__main__":
    main()
