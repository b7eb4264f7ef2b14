"""Builds, checks and times every CUDA kernel on one GPU, in one call; a table comes last.

    python -m tests.benchmarks.gpu kron20 kron22 kron24 uniform grid --sources 32 --set alpha=12
    python -m tests.benchmarks.gpu kron24 cnr-2000.graph-txt.gz --parts bfs --each deferred_rows=0,1,auto

Graphs are named as in `tests.benchmarks.graphs`. Searches are checked before they are timed: both strategies
agree on every distance and predecessor, and every edge joins levels at most one apart. BFS rates count
distinct undirected edges of the searched component (G5, Graph500); the peers' times are those of reference
measurements on an H200 with distances alone. Bytes are counted, not measured: what the job must at least
move.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy

from gravel.kernels import csr, order
from gravel.kernels.bfs import prepare
from gravel.kernels.components import prepare_rows
from gravel.kernels.cuda import event_milliseconds
from gravel.kernels.cuda.wake import wake
from gravel.kernels.layouts import columns_as_rows
from gravel.kernels.layouts.varint.cuda import VarintCodec
from tests.benchmarks.graphs import edges_of, sources_of
from tests.benchmarks.program import parser_of
from tests.kernels.layouts.visits import SerialCodec

PEERS = {  # milliseconds: BFS distances, best peer and first try; components, first try
    "kron22": "0.315, 0.172; 0.45",
    "kron24": "1.28, 0.361; 1.45",
    "kron26": "3.74, 1.06; 6.57",
    "uniform": "0.380, 0.270; -",
    "grid": "54.8, 37-50; 0.78",
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of the second of two runs, and its result."""
    work()
    kept: list[Any] = []
    cupy.cuda.Device().synchronize()
    taken = event_milliseconds(lambda: kept.append(work()))
    return taken, kept[0]


joined_levels = cupy.RawKernel(
    r"""
extern "C" __global__ void joined_levels(const long long* offsets, long long vertices, const int* distance,
                                    const unsigned* columns, unsigned long long* faults) {
    const long long warps = gridDim.x * (blockDim.x / 32ll);
    for (long long v = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32; v < vertices; v += warps) {
        int near = distance[v];
        for (long long k = offsets[v] + threadIdx.x % 32; k < offsets[v + 1]; k += 32) {
            int far = distance[columns[k]];
            if ((near < 0) != (far < 0) || near - far > 1 || far - near > 1) atomicAdd(faults, 1ull);
        }
    }
}""",
    "joined_levels",
)


def check_levels(offsets: Any, columns: Any, distance: Any) -> None:
    """Every arc joins levels at most one apart, or two unreached vertices."""
    faults = cupy.zeros(1, cupy.uint64)
    joined_levels((4096,), (256,), (offsets, numpy.int64(len(offsets) - 1), distance, columns, faults))
    assert int(faults[0]) == 0, f"{int(faults[0])} arcs join levels that are too far apart"


class Bench:
    """One graph, built once, and the rows of its table."""

    def __init__(self, name: str, sources: int, ways: list[dict[str, Any]]) -> None:
        self.name, self.ways = Path(name).name, ways
        self.rows: list[str] = []
        *pairs, self.vertices = edges_of(name)
        edges = len(pairs[0])
        taken, built = timed(lambda: csr.build(*pairs, self.vertices))
        pairs.clear()
        arcs = len(built.column_indices)
        # Edges read twice; keys written, sorted in eight passes, read twice; columns written.
        self.say("symmetrize", taken, 16 * edges + 8 * 2 * edges * (1 + 16 + 2) + 4 * arcs)
        taken, permutation = timed(
            lambda: order.permutation("degree", built.row_offsets, built.column_indices)
        )
        renumber, (self.offsets, self.columns) = timed(
            lambda: order.apply(built.row_offsets, built.column_indices, permutation)
        )
        self.say("degree order", taken, self.vertices * 8 * 18)
        self.say("renumber", renumber, arcs * (8 + 8 * 18))
        self.natural = built.row_offsets, built.column_indices
        self.degrees = cupy.diff(self.offsets)
        self.sources = sources_of(self.offsets, sources)
        with_arcs = int(cupy.count_nonzero(self.degrees))
        self.say(f"{self.vertices} vertices, {arcs} arcs, {with_arcs} with arcs", None)

    def say(self, what: str, milliseconds: float | None, bytes_moved: float = 0, rest: str = "") -> None:
        row = f"{self.name:8} {what:44}"
        if milliseconds is not None:
            row += f" {milliseconds:10.3f} ms"
            if bytes_moved:
                row += f" {bytes_moved / 1e9:8.3f} GB {bytes_moved / milliseconds / 1e6:7.0f} GB/s"
        self.rows.append(row + " " + rest)
        print(self.rows[-1], flush=True)

    def check(self) -> None:
        """Both strategies agree, and the levels are right, from two sources."""
        for tuning in self.ways:
            self.check_way(tuning)

    def check_way(self, tuning: dict[str, Any]) -> None:
        arrays = self.offsets, self.columns
        fast = prepare(*arrays, strategy="direction_optimizing", symmetric=True, **tuning)
        bare = prepare(*arrays, strategy="direction_optimizing", symmetric=True, output="distance", **tuning)
        plain = prepare(*arrays, strategy="two_phase", symmetric=True)
        for source in self.sources[:2]:
            one, two, three = fast.run(source), plain.run(source), bare.run(source)
            check_levels(*arrays, cupy.ascontiguousarray(one.distance))
            assert bool((one.distance == two.distance).all()), "distances differ"
            assert bool((one.distance == three.distance).all()), "distances alone differ"
            assert bool((one.predecessor == two.predecessor).all()), "predecessors differ"

    def search(self, label: str, arrays: tuple[Any, Any], sources: list[int], **options: Any) -> None:
        search = prepare(*arrays, symmetric=True, **options)
        degrees = cupy.diff(arrays[0])
        search.run(sources[0])
        times, rates, arc_rates, directions = [], [], [], []
        for source in sources:
            wake()
            result = search.run(source)
            reached = result.distance >= 0
            arcs = int(degrees[reached].sum())
            times.append(result.milliseconds)
            rates.append(arcs / 2 / result.milliseconds / 1e6)
            arc_rates.append(arcs / result.milliseconds / 1e6)
            directions.append(len(result.directions))
        taken = statistics.median(times)
        least = self.vertices / 8 + int(cupy.count_nonzero(reached)) * (
            8 + (4 if options["output"] == "distance" else 8)
        )
        levels = statistics.median(directions)
        self.say(
            f"bfs {label}",
            taken,
            least,
            f"worst {max(times):.3f} G5 {statistics.median(rates):.0f} "
            f"harmonic {statistics.harmonic_mean(rates):.0f} arcs {statistics.median(arc_rates):.0f} G/s, "
            f"{levels:.0f} levels of {taken / levels * 1e3:.2f} us, "
            f"prepare {search.prepare_milliseconds:.0f} ms",
        )
        for note in getattr(search, "notes", []):
            self.say(f"  {note}", None)
        if hasattr(search, "steps"):
            slow = sources[times.index(max(times))]
            for which, source in (("typical", sources[0]), ("slowest", slow)):
                wake()
                search.run(source)
                steps = " ".join(
                    f"{step[:3]}{level}[{vertices},{arcs / 1e6:.2f}M]:{taken:.1f}"
                    for step, level, vertices, arcs, taken in search.steps()[:20]
                )
                self.say(f"  {which}, us per step: {steps}", None)

    def run(self, parts: set[str]) -> None:
        if "check" in parts:
            self.check()
        degree_order = self.offsets, self.columns
        few = self.sources[:8] if self.name.startswith("grid") else self.sources
        if "bfs" in parts:
            some = [s for s in few if int(self.natural[0][s + 1] - self.natural[0][s])] or few
            for output, tuning in itertools.product(("distance", "both"), self.ways):
                told = "".join(f" {name}={value}" for name, value in tuning.items())
                label = f"direction_optimizing {output}{told}"
                options = {"strategy": "direction_optimizing", "output": output, **tuning}
                if not self.name.startswith("grid"):
                    self.search(f"{label}, degree order", degree_order, few, **options)
                self.search(f"{label}, natural order", self.natural, some, **options)
        if "two_phase" in parts:
            for output in ("distance", "both"):
                options = {"strategy": "two_phase", "output": output}
                self.search(f"two_phase {output}, degree order", degree_order, few[:8], **options)
        if "components" in parts:
            for label, arrays in (("degree order", degree_order), ("natural order", self.natural)):
                for rounds in (1, 2):
                    trace = cupy.zeros(16, cupy.uint64)
                    rows = columns_as_rows(*arrays)
                    search = prepare_rows(rows, symmetric=True, strategy="afforest", rounds=rounds)
                    times = [search.run(trace).milliseconds for _ in range(9)]
                    clocks = [int(clock) for clock in trace.get() if clock]
                    phases = " ".join(f"{(b - a) / 1.98e3:.0f}" for a, b in itertools.pairwise(clocks))
                    bytes_moved = self.vertices * (8 + 8 + 8 + 4)
                    self.say(
                        f"components, {label}, {rounds} rounds",
                        statistics.median(times[1:]),
                        bytes_moved,
                        f"us per phase: {phases}",
                    )
        if "varint" in parts:
            arcs = len(self.columns)
            facts = {"first_row": 0, "bound": self.vertices}
            taken, arrays = timed(lambda: VarintCodec().encode(*degree_order, **facts))
            stream = arrays["stream"]
            moved = 8 * arcs + len(stream) + 24 * self.vertices
            self.say("varint encode", taken, moved, f"{8 * len(stream) / arcs:.2f} bits per arc")
            for name, codec in (("varint decode", VarintCodec()), ("varint decode, one lane", SerialCodec())):
                taken, rows = timed(lambda codec=codec: codec.decode(arrays, arcs, numpy.uint32, **facts))
                assert bool((rows[1] == self.columns).all())
                moved = 2 * len(stream) + 4 * arcs + 32 * self.vertices
                self.say(name, taken, moved)
        if self.name in PEERS:
            self.say(f"peers: BFS best, first try; components: {PEERS[self.name]}", None)


def constants(settings: list[str]) -> list[tuple[str, list[Any]]]:
    """Names and values of NAME=VALUE,VALUE...; "auto" leaves a constant to the search."""

    def number(text: str) -> float | int | None:
        if text == "auto":
            return None
        return float(text) if "." in text or "e" in text else int(text)

    pairs = [setting.split("=") for setting in settings]
    return [(name, [number(value) for value in values.split(",")]) for name, values in pairs]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--sources", type=int, default=32)
    parser.add_argument("--parts", default="check,bfs,two_phase,components,varint")
    parser.add_argument(
        "--set", action="append", default=[], help="a constant of direction_optimizing, NAME=VALUE"
    )
    parser.add_argument(
        "--each", action="append", default=[], help="one that is timed with several values, NAME=VALUE,VALUE"
    )
    chosen = parser.parse_args()
    fixed = {name: values[0] for name, values in constants(chosen.set)}
    varied = constants(chosen.each)
    ways = [
        fixed | dict(zip([name for name, _ in varied], values, strict=True))
        for values in itertools.product(*(values for _, values in varied))
    ]
    rows = []
    for name in chosen.graphs:
        started = time.perf_counter()
        bench = Bench(name, chosen.sources, ways)
        bench.run(set(chosen.parts.split(",")))
        rows += bench.rows
        print(f"{name}: {time.perf_counter() - started:.1f} s in all", flush=True)
        del bench
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
    print("\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
