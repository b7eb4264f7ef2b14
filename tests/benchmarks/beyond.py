"""What graphs take that no machine here holds: memory as stated and times as the cost model has them; no GPU.

    python -m tests.benchmarks.beyond
    python -m tests.benchmarks.beyond --scales 36 --ranks 1024

Graphs are Graph500's (edge factor 16), one H200 a rank, eight ranks a host. Memory is what `distribute`
states for a rank while the graph is made, and what its arcs take afterwards. Times are of searches for
distances at the threshold that the model finds fastest. Searches of the rows of one and two ranks were
measured.
"""

from __future__ import annotations

from gravel.kernels.papers.pan2018.kronecker import EDGE_FACTOR, kronecker_divisions
from gravel.kernels.partition import predict
from gravel.kernels.partition.machines import H200_NCCL, H200_PEER
from gravel.kernels.partition.model import BY_DEGREE, fastest, hosts_of
from gravel.pipeline.core.memory import format_bytes
from gravel.stages.distribute import device_bytes
from tests.benchmarks.program import parser_of, say

SIZES = ((28, 1), (27, 2), (30, 4), (31, 8), (34, 128), (36, 1024))
"""Scales and ranks; the last has 1.1 10^12 edges."""

USABLE = 126 << 30
"""Of the memory of an H200: 90 %."""

HEAD = "ranks  hosts  scale   edges  threshold  delegates  making, a rank     arcs    search    GTEPS"


def row(scale: int, ranks: int) -> str:
    """Put together what a graph takes over so many ranks."""
    vertices, edges = 1 << scale, EDGE_FACTOR << scale
    hosts = hosts_of(ranks, H200_PEER)
    machine = H200_PEER if hosts == 1 else H200_NCCL
    about = {"vertices": vertices, "ranks": ranks, "hosts": hosts, "machine": machine, "searching": BY_DEGREE}
    division = fastest(kronecker_divisions(scale), **about)
    found = predict(division, **about)
    making, arcs = device_bytes(vertices, 2 * edges, ranks), 4 * 2 * edges // ranks
    note = "" if making <= USABLE else "  more than an H200 has"
    return (
        f"{ranks:5,}  {hosts:5}  {scale:5}  {edges:6.1e}  {division.threshold:9,}  "
        f"{division.delegates:9.1e}  "
        f"{format_bytes(making):>14}  {format_bytes(arcs):>7}  {1e3 * found.seconds:5.1f} ms  "
        f"{found.gteps(2 * edges):7,.0f}{note}"
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--scales", type=int, nargs="+", help="of graphs, together with --ranks")
    parser.add_argument("--ranks", type=int, nargs="+", help="as many as --scales")
    asked = parser.parse_args()
    if (asked.scales is None) != (asked.ranks is None) or len(asked.scales or ()) != len(asked.ranks or ()):
        parser.error("--scales and --ranks go together, one of each for a row")
    say(HEAD)
    for scale, ranks in zip(asked.scales, asked.ranks, strict=True) if asked.scales else SIZES:
        say(row(scale, ranks))


if __name__ == "__main__":
    main()
