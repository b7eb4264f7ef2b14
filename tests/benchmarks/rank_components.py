"""Checks and times components over ranks on the GPUs of one host, beside Afforest on one, in one call.

    timeout 500 python -m tests.benchmarks.rank_components 20 24 --ranks 1 2 --threshold 64

Kronecker graphs (edge factor 16) or lattices of as many vertices (`--lattice`) are made on the first GPU and
split on the host. With more ranks than GPUs, a GPU holds several. Labels are compared with those of one GPU
before anything is timed; rates are of stored arcs.
"""

from __future__ import annotations

import statistics
import time

import cupy
import numpy

from gravel.kernels.components import components
from gravel.kernels.cuda.wake import wake, wake_all
from gravel.kernels.partition import partition, suggest_threshold
from gravel.kernels.partition.cuda.components import CudaComponents
from gravel.kernels.partition.cuda.components_launch import EXCHANGING, JOINING
from gravel.kernels.partition.storage import storage
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import parser_of, say

RUNS = 9


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--threshold", type=int, help="default: the model's")
    parser.add_argument("--lattice", action="store_true")
    given = parser.parse_args()
    for scale in given.scales:
        name = f"grid{int((1 << scale) ** 0.5)}" if given.lattice else f"kron{scale}"
        rows = rows_of(name)
        arcs = len(rows[1])
        alone, wanted = [], None
        for _ in range(1 + RUNS):
            wake()
            found = components(*rows, symmetric=True)
            alone.append(found.milliseconds)
            wanted = found.component
        single = statistics.median(alone[1:])
        say(
            f"{name}: {arcs} arcs; one GPU, {found.strategy}: {single:.3f} ms, "
            f"{arcs / single / 1e6:.0f} Garc/s"
        )
        offsets, columns = (each.get() for each in rows)
        for ranks in given.ranks:
            threshold = given.threshold
            if threshold is None:
                threshold = suggest_threshold(offsets, columns, ranks)
            began = time.perf_counter()
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            told, split = storage(whole), time.perf_counter() - began
            devices = range(min(ranks, cupy.cuda.runtime.getDeviceCount()))
            search = CudaComponents(whole, symmetric=True, devices=devices, time_limit=5.0)
            assert numpy.array_equal(search.run().component.get(), wanted.get()), "labels differ"
            times = []
            for _ in range(RUNS):
                wake_all(devices)
                times.append(search.run().milliseconds)
            taken, last = statistics.median(times), search.rounds_run[0]
            say(
                f"{name} {ranks} ranks on {len(devices)} GPUs, threshold {threshold}, "
                f"{told['delegates']} delegates, nn {told['nn_share']:.1%}, split in {split:.1f} s: "
                f"{taken:.3f} ms, {arcs / taken / 1e6:.0f} Garc/s, {single / taken:.2f} of one GPU's rate; "
                f"joined in {last.took(JOINING) / 1e3:.3f} ms, {last.rounds} rounds in "
                f"{last.took(EXCHANGING) / 1e3:.3f} ms"
            )
            for device, one in zip(devices, search.rounds_run, strict=True):
                phases = ", ".join(f"{phase} {taken:.0f}" for phase, taken in one.phases.items())
                say(f"  GPU {device}, us of the last run: {phases}")
            del search, whole


if __name__ == "__main__":
    main()
