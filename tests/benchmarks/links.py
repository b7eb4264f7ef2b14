"""Checks and times messages between the GPUs of this host, or its processors, by their size, in one call.

    timeout 60 python -m tests.benchmarks.links --ranks 2 --largest 64MiB
    timeout 60 python -m tests.benchmarks.links --ranks 2 --largest 256MiB --transports peer nccl
    timeout 60 python -m tests.benchmarks.links --ranks 2 --largest 4MiB --backend cpu

Runs the stage `links` on so many workers: the wire between them, and on GPUs peer memory and NCCL. Says for
every transport and pattern microseconds and GB/s a rank receives, then the machine for the cost model.

The wire carries about 0.1 GB/s, by way of the process that started the workers, so that large messages over
it take most of the time: `--point-seconds` bounds what each point may take beyond its first turn,
`--wire-largest` its messages, and `--transports` may leave it out.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gravel.kernels.papers.pan2018.links import TRANSPORTS
from gravel.kernels.partition.machines import CPU_WORKERS, H200_PEER
from gravel.pipeline.cli import main as gravel
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from gravel.stages.papers.pan2018.link_times import machine_with
from tests.benchmarks.program import parser_of

WORKFLOW = """
workflow: links
stages:
  links: {stage: links, ranks: RANKS, largest: LARGEST, total: TOTAL, smallest: SMALLEST, step: STEP,
    wire_largest: WIRE, transports: TRANSPORTS, repeats: REPEATS, point_seconds: POINT}
"""


def say(*words: Any) -> None:
    print(*words, flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--largest", default="64MiB")
    parser.add_argument("--wire-largest", default="4MiB")
    parser.add_argument("--smallest", default="64")
    parser.add_argument("--step", type=int, default=4, help="each message is so many times the one before")
    parser.add_argument("--total", help="sent in messages of each size, the largest unless given")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--point-seconds", type=float, default=0.25)
    parser.add_argument("--transports", nargs="+", choices=TRANSPORTS, default=[], help="all there are")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cuda")
    given = parser.parse_args()
    values = {
        "RANKS": given.ranks,
        "LARGEST": given.largest,
        "TOTAL": given.total or given.largest,
        "SMALLEST": given.smallest,
        "WIRE": given.wire_largest,
        "STEP": given.step,
        "TRANSPORTS": f"[{', '.join(given.transports)}]",
        "REPEATS": given.repeats,
        "POINT": given.point_seconds,
    }
    workflow = WORKFLOW
    for name, value in values.items():
        workflow = workflow.replace(f": {name}", f": {value}")
    with tempfile.TemporaryDirectory() as folder:
        file, root = Path(folder) / "links.yaml", Path(folder) / "cache"
        file.write_text(workflow)
        cluster = "cuda" if given.backend == "cuda" else "local"
        words = ["--cluster", cluster, "--backend", given.backend, "--workers", str(given.ranks)]
        try:
            gravel.main(["run", str(file), "--cache", str(root), *words])
        except SystemExit as end:
            if end.code:
                raise
        _, record = find_run(root, None)
        links = Cache(root).open(record["stages"][0]["outputs"][0])
        say(f"{links.ranks} ranks on {links.hosts} host, {links.hardware}")
        for note in links.notes:
            say("   ", note)
        for curve in links.curves:
            say(f"{curve['transport']} {curve['pattern']}:")
            for point in curve["points"]:
                rate = point["carried"] / point["seconds"] / 1e9
                say(
                    f"    {point['bytes']:>10} bytes: {1e6 * point['seconds']:10.2f} us, {rate:8.3f} GB/s, "
                    f"{point['repeats']} times {point['turns']}"
                )
        base = H200_PEER if given.backend == "cuda" else CPU_WORKERS
        say(base)
        say(machine_with([("links", links)], base, given.backend))


if __name__ == "__main__":
    main()
