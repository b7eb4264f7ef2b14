"""Times searches of deep graphs on one GPU, every search checked; a line per graph, strategy and output.

    python -m tests.benchmarks.deep grid1000:16 grid:8 lattice100:16 FILE:64 --set hops=8

A graph is a name with the number of sources: gridSIDE, latticeSIDE (three dimensions, 7-point),
meshSIDE (a grid with one diagonal), scatteredSIDE (a grid numbered at random), pathLENGTH, kronSCALE,
or a file that `ingest` reads. Sources have arcs and are drawn by PCG64(7). Times are CUDA events around the
launch, initialisation included. Each result is compared with the first strategy's, whose levels are checked.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import cupy
import numpy

from gravel.kernels import csr
from gravel.kernels.bfs import prepare
from gravel.kernels.cuda.wake import wake
from tests.benchmarks.gpu import check_levels, edges_of


def lines(at: Any, *steps: tuple[int, ...]) -> tuple[Any, Any]:
    """Edges of a lattice of vertices along some directions, each of 0s and 1s."""
    source, target = [], []
    for step in steps:
        source.append(at[tuple(slice(None, -1 if s else None) for s in step)].ravel())
        target.append(at[tuple(slice(s, None) for s in step)].ravel())
    return cupy.concatenate(source), cupy.concatenate(target)


def graph(name: str) -> tuple[Any, Any]:
    """Row offsets and columns of a named graph or a file, symmetric, on the device."""
    if Path(name).is_file():
        return graph_of_file(name)
    kind = name.rstrip("0123456789")
    side = int(name[len(kind) :] or 5000)
    if kind == "lattice":
        at = cupy.arange(side**3, dtype=cupy.uint32).reshape(side, side, side)
        source, target = lines(at, (1, 0, 0), (0, 1, 0), (0, 0, 1))
        vertices = side**3
    elif kind in ("mesh", "scattered"):
        at = cupy.arange(side * side, dtype=cupy.uint32).reshape(side, side)
        if kind == "scattered":
            cupy.random.seed(1)
            at = cupy.random.permutation(side * side).astype(cupy.uint32).reshape(side, side)
        steps = [(0, 1), (1, 0), (1, 1)] if kind == "mesh" else [(0, 1), (1, 0)]
        source, target = lines(at, *steps)
        vertices = side * side
    else:
        source, target, vertices = edges_of(name)
    built = csr.build(source, target, vertices)
    return built.row_offsets, built.column_indices


def graph_of_file(path: str) -> tuple[Any, Any]:
    from gravel.stages.context import PlainContext
    from gravel.stages.ingest import STAGE
    from gravel.stages.stage import Machine

    machine = Machine(backend="cpu", threads=16, host_memory=64 << 30, device_memory=100 << 30)
    edges = STAGE.run(PlainContext(machine), STAGE.parameters.model_validate({"file": path}))[0]
    pairs = (cupy.asarray(numpy.asarray(ends)) for ends in (edges.source, edges.target))
    built = csr.build(*pairs, edges.vertex_count)
    return built.row_offsets, built.column_indices


def measure(name: str, count: int, strategies: list[str], tuning: dict[str, Any]) -> None:
    arrays = graph(name)
    with_arcs = cupy.flatnonzero(cupy.diff(arrays[0])).get()
    sources = (
        numpy.random.default_rng(7).choice(with_arcs, min(count, len(with_arcs)), replace=False).tolist()
    )
    expected: dict[int, tuple[Any, Any]] = {}
    print(f"{name}: {len(arrays[0]) - 1} vertices, {len(arrays[1])} arcs, {len(sources)} sources", flush=True)
    for strategy in strategies:
        for output in ("both", "distance"):
            options = tuning if strategy == "persistent" else {}
            search = prepare(*arrays, symmetric=True, strategy=strategy, output=output, **options)
            search.run(sources[0])
            times, levels = [], []
            for source in sources:
                wake()
                result = search.run(source)
                times.append(result.milliseconds)
                levels.append(len(result.directions))
                if source not in expected:
                    check_levels(*arrays, cupy.ascontiguousarray(result.distance))
                    expected[source] = result.distance.get(), result.predecessor.get()
                assert bool((result.distance == cupy.asarray(expected[source][0])).all()), "distances differ"
                if output == "both":
                    same = result.predecessor == cupy.asarray(expected[source][1])
                    assert bool(same.all()), "predecessors differ"
            taken, depth = statistics.median(times), statistics.median(levels)
            print(
                f"  {strategy:22} {output:9} median {taken:8.3f} worst {max(times):8.3f} ms, "
                f"{depth:.0f} levels ({min(levels)}-{max(levels)}) of {taken / depth * 1e3:.3f} us, "
                f"prepare {search.prepare_milliseconds:.0f} ms",
                flush=True,
            )
            del search


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="a name or a file, :SOURCES behind it (default 8)")
    parser.add_argument("--strategies", default="direction_optimizing,persistent")
    parser.add_argument("--set", action="append", default=[], help="a constant of persistent, NAME=VALUE")
    chosen = parser.parse_args()
    tuning = {}
    for setting in chosen.set:
        name, value = setting.split("=")
        tuning[name] = float(value) if "." in value else int(value)
    for item in chosen.graphs:
        name, _, count = item.partition(":")
        measure(name, int(count or 8), chosen.strategies.split(","), tuning)
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
