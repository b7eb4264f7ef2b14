"""Searches by weight and paths of pairs, against an own Dijkstra, with threads and interrupts mixed in.

    python -m tests.drills.searches                               100,000 searches
    python -m tests.drills.searches --searches 5000 --seed 2      fewer, of other graphs
    python -m tests.drills.searches --from 3000 --count 1000      the graphs 3000 to 3999 alone
    python -m tests.drills.searches --weights extreme tiny --questions 4 --count 10000
    python -m tests.drills.searches --backend cuda --searches 4000 --interrupts 20

Graphs are directed and undirected, with zeros, minus zeros, tiny, huge and equal weights, parallel edges and
loops, reordered and compressed. Each is asked again and again: by one thread, by eight, and after Ctrl-C at
a random line. One in 30 graphs has `--largest` vertices. Distances and trees have to be those of Dijkstra to
the last bit, lengths of pairs up to rounding. `--interrupts` sends so many Ctrl-C at random times into long
searches of a graph of 2^`--scale` vertices, asks again, and sees what of the GPU's memory is left. What is
wrong is printed with the graph's number, and ends with 1.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy

import gravel
from tests.drills.weighted import WEIGHTS, Drawn, draw, faults_of_pair, faults_of_search
from tests.gravel.asked import QUESTIONS, Steps, counted, same

THREADS = 8

Question = Callable[[], list[str]]


class Drill:
    """Counts what was asked and what was wrong."""

    def __init__(self, seed: int, questions: int, options: dict[str, Any]) -> None:
        self.seed, self.questions, self.options = seed, questions, options
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._lock = threading.Lock()

    def ask_graph(self, number: int) -> None:
        """Ask a drawn graph some questions, in one of three ways."""
        drawn = draw(self.seed, number, **self.options)
        rng = numpy.random.default_rng([self.seed, number, 1])
        questions = [self._question(drawn, rng) for _ in range(self.questions)]
        way = ("again", "threads", "interrupts")[number % 3]
        self.counts["graphs"] += 1
        self.counts[f"graphs, {way}"] += 1
        if way == "threads":
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(lambda question: self._ask(drawn, *question), questions))
            return
        for kind, question in questions:
            if way == "interrupts":
                self._cut_off(question, int(rng.integers(1, 200)))
            self._ask(drawn, kind, question)

    def _question(self, drawn: Drawn, rng: Any) -> tuple[str, Question]:
        ids, graph = drawn.ids, drawn.graph
        source, target = (ids[int(each)] for each in rng.integers(0, min(len(ids), 40), 2))
        turns = hasattr(graph._rows.stored, "column_indices") and rng.random() < 0.2
        direction = str(rng.choice(["in", "both"])) if turns and len(ids) < 1000 else "out"
        if rng.random() < 0.5:
            where: Any = {"direction": direction}
            return "pairs", lambda: faults_of_pair(
                drawn,
                source,
                target,
                direction,
                graph.distance(source, target, **where),
                graph.path(source, target, **where),
            )
        on_cpu = graph._rows.machine.backend == "cpu"
        options: Any = {"direction": direction}
        if rng.random() < 0.2:
            options |= {"by_weight": True}
        elif rng.random() < 0.1 and on_cpu:
            options |= {"strategy": "dijkstra"}
        return "searches of all", lambda: faults_of_search(
            drawn, source, direction, graph.shortest_paths(source, **options)
        )

    def _ask(self, drawn: Drawn, kind: str, question: Question) -> None:
        try:
            faults = question()
        except Exception as error:
            faults = [repr(error)]
        with self._lock:
            self.counts[kind] += 1
            self.counts["asked"] += 1
            for fault in faults[:1]:
                self.wrong.append(f"{drawn.name}: {kind}: {fault}")
                print(self.wrong[-1][:500], flush=True)

    def _cut_off(self, question: Question, line: int) -> None:
        try:
            with suppress(Exception), counted(Steps(line)):
                question()
        except KeyboardInterrupt:
            self.counts["interrupts"] += 1


def interrupted(backend: str, scale: int, times: int, seed: int) -> Iterator[str]:
    """Send Ctrl-C into long searches at random times, ask again, and yield what is otherwise than before."""
    gc.collect()  # Python drops a Ctrl-C that comes while it removes what others left
    rng = numpy.random.default_rng(seed)
    n, m = 1 << scale, 8 << scale
    ends = (n * rng.random((2, m)) ** 2).astype(numpy.int64)
    ends[:, :n] = numpy.arange(n), numpy.roll(numpy.arange(n), 1)
    weights = rng.integers(0, 256, m).astype(numpy.uint32)
    graph = gravel.graph((ends[0], ends[1]), weights=weights, backend=backend)  # type: ignore[arg-type]
    names = ("bfs", "shortest_paths", "distance", "path", "paths", "components", "closeness")
    some = {name: QUESTIONS[name] for name in names}
    some["closeness"] = lambda g: list(g.closeness(range(256)).to_numpy().values())
    answers, seconds = {}, {}
    for _ in range(3):
        for name, question in some.items():
            started = time.perf_counter()
            answers[name] = question(graph)
            seconds[name] = time.perf_counter() - started
    before, cut = device_bytes(), 0
    for number in range(times):
        name = list(some)[number % len(some)]
        timer = threading.Timer(
            seconds[name] * float(rng.random()), lambda: os.kill(os.getpid(), signal.SIGINT)
        )
        try:
            timer.start()
            some[name](graph)
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            cut += 1
        with suppress(KeyboardInterrupt):
            timer.join()
        for each, answer in answers.items():
            if not same(some[each](graph), answer):
                yield f"{each}, after {name} was cut off"
    gc.collect()
    after = device_bytes()
    shown = ", ".join(f"{name} {1e3 * each:.1f} ms" for name, each in seconds.items())
    print(f"{times} times Ctrl-C, {cut} in a search: {n:,} vertices, {m:,} edges: {shown}")
    if before is not None and after is not None:
        print(f"memory of the GPU in use: {before[0]:,} bytes before, {after[0]:,} after; free {after[1]:,}")
        if after[0] > before[0]:
            yield f"{after[0] - before[0]:,} bytes of the GPU's memory are lost"
    del graph
    gc.collect()
    left = device_bytes()
    if left is not None:
        print(f"in use without the graph: {left[0]:,} bytes")


def device_bytes() -> tuple[int, int] | None:
    """Return the GPU's memory that arrays take, and what is free; None where no GPU was used."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    cupy.cuda.Device().synchronize()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    return int(pool.used_bytes()), int(cupy.cuda.runtime.memGetInfo()[0])


def main() -> int:
    """Drill as the command line says; returns 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=100_000, help="how many at least")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first graph's number")
    parser.add_argument("--count", type=int, help="how many graphs, whatever the searches")
    parser.add_argument("--questions", type=int, default=24, help="searches of a graph")
    parser.add_argument("--weights", nargs="+", choices=list(WEIGHTS), help="kinds of weights (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=4000, help="vertices of the largest graphs")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--interrupts", type=int, default=0, help="Ctrl-C sent into long searches")
    parser.add_argument("--scale", type=int, default=16, help="of the graph of these")
    asked = parser.parse_args()
    started = time.monotonic()
    options = {"largest": asked.largest, "backend": asked.backend, "kinds": asked.weights or list(WEIGHTS)}
    drill = Drill(asked.seed, asked.questions, options)
    number = asked.first
    while (
        drill.counts["asked"] < asked.searches if asked.count is None else number < asked.first + asked.count
    ):
        drill.ask_graph(number)
        number += 1
        if number % 500 == 0:
            took = time.monotonic() - started
            print(f"{number:,} graphs, {drill.counts['asked']:,} searches, {took:.0f} s", flush=True)
    print(f"graphs {asked.first:,} to {number - 1:,}: {dict(drill.counts)}")
    wrong = [*drill.wrong]
    if asked.interrupts:
        for each in interrupted(asked.backend, asked.scale, asked.interrupts, asked.seed):
            print(each, flush=True)
            wrong.append(each)
    print(f"{len(wrong)} wrong, {time.monotonic() - started:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
