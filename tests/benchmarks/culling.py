"""Redundant expansion of racing claims by culling, a line for each graph, on one GPU.

    python -m tests.benchmarks.culling
    python -m tests.benchmarks.culling --size 22 --strategies two_phase hybrid --blocks 16 32 128 0

Each line has the factors with culling off, by warp, by history, by both, and the milliseconds of a search
with both, for a grid of so many blocks (0: all that run at once) and for tiles in runs or in even shares.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import cupy
import numpy

from gravel.kernels.bfs import prepare
from tests.kernels.bfs.culling_case import BOUND, CULLINGS, NAMES, SETTINGS, factor, rows_of
from tests.kernels.bfs.test_lookup import _OnHost


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20, help="logarithm of the number of vertices")
    parser.add_argument("--strategies", nargs="+", default=["two_phase"])
    parser.add_argument("--tiles", nargs="+", default=["runs", "even"])
    parser.add_argument("--blocks", nargs="+", type=int, default=[SETTINGS["blocks"], 128, 0])
    parser.add_argument("--block", type=int, default=256, help="threads of a block")
    parser.add_argument("--sources", type=int, default=4)
    chosen = parser.parse_args()
    began = time.perf_counter()
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print(
        f"{'graph':8} {'strategy':16} tiles blocks  " + " ".join(f"{name:>8}" for name in CULLINGS) + "  ms"
    )
    above = []
    for name in NAMES:
        offsets, columns = rows_of(name, chosen.size)
        degrees = numpy.diff(offsets)
        random = numpy.random.default_rng(7)
        sources = random.choice(numpy.flatnonzero(degrees), chosen.sources, replace=False)
        placed = cupy.asarray(offsets), cupy.asarray(columns)
        for strategy in chosen.strategies:
            for tiles in chosen.tiles:
                for blocks in chosen.blocks:
                    options = {"tiles": tiles, "blocks": blocks or None, "block": chosen.block}
                    found, taken = _measured(placed, degrees, sources, strategy, options)
                    told = " ".join(f"{found[culling]:8.3f}" for culling in CULLINGS)
                    print(
                        f"{name:8} {strategy:16} {tiles:5} {blocks or 'all':6}  {told}  {taken:.2f}",
                        flush=True,
                    )
                    if (tiles, blocks) == (SETTINGS["tiles"], SETTINGS["blocks"]) and found["both"] >= BOUND:
                        above.append(f"{name}: {found['both']:.3f}")
    print(
        f"{time.perf_counter() - began:.0f} s; at or above {BOUND} as the workflow is set: {above or 'none'}"
    )


def _measured(
    placed: Any, degrees: Any, sources: Any, strategy: str, options: dict[str, Any]
) -> tuple[dict[str, float], float]:
    found, taken = {}, 0.0
    for culling, switches in CULLINGS.items():
        search = prepare(
            *placed,
            strategy=strategy,
            symmetric=True,
            output="distance",
            statistics=True,
            claim="racing",
            **options,
            **switches,
        )
        found[culling] = factor(_OnHost(search), degrees, sources)
        taken = median(search.run(int(source)).milliseconds for source in sources)
    return found, taken


if __name__ == "__main__":
    main()
