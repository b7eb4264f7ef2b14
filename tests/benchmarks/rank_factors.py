"""Times ranks on one GPU with different direction factors, to choose their defaults.

    python -m tests.benchmarks.rank_factors 22 24 --threshold 32 --factors 0.5 0.05 0.005 0.0005

A factor holds for nd, dn and dd alike; a visit turns forward again at a tenth of it. One partition of a
Kronecker graph (edge factor 16) with `--ranks` ranks on one GPU; medians over the sources, distances of two
compared with the single-GPU default's.
"""

from __future__ import annotations

import statistics

from gravel.kernels.bfs import prepare as prepare_single
from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.wake import wake
from gravel.kernels.partition import SearchOptions, partition
from gravel.kernels.partition.cuda.search import CudaPartitionSearch
from gravel.kernels.partition.options import OPTIMIZED
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--threshold", type=int, nargs="+", default=[32])
    parser.add_argument("--factors", type=float, nargs="+", default=[0.5, 0.05, 0.005, 0.0005])
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--degree-order", action="store_true", help="number vertices by degree first")
    chosen = parser.parse_args()
    for scale in chosen.scales:
        rows = rows_of(f"kron{scale}:degree" if chosen.degree_order else f"kron{scale}")
        sources = sources_of(rows[0], chosen.sources)
        single = prepare_single(*rows, symmetric=True, output="distance")
        expected = [single.run(each).distance.copy() for each in sources[:2]]
        offsets, columns = (each.get() for each in rows)
        for threshold in chosen.threshold:
            whole = partition(offsets, columns, ranks=chosen.ranks, threshold=threshold)
            for factor in chosen.factors:
                turns = {f"{name}_backward": factor for name in OPTIMIZED}
                turns |= {f"{name}_forward": factor / 10 for name in OPTIMIZED}
                search = CudaPartitionSearch(
                    whole, Query(output="distance", symmetric=True), SearchOptions(**turns)
                )
                for each, right in zip(sources, expected, strict=False):
                    assert bool((search.run(each).distance == right).all()), "distances differ"
                times = []
                for each in sources:
                    wake()
                    times.append(search.run(each).milliseconds)
                levels = " ".join(
                    f"{'/'.join((*level.backward[0], ''))}{level.visit:.0f}+{level.commit:.0f}"
                    for level in search.levels[0]
                )
                print(
                    f"kron{scale} threshold {threshold}, factor {factor}: {statistics.median(times):.3f} ms; "
                    f"last search's levels, visit + settle us: {levels}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
