"""What searches from many sources read, counted: arcs, and sectors of 32 bytes of rows of bits.

    python -m tests.benchmarks.many_sources_counted 16 --sources 1024

This is a model of the GPU's kernels: a level pulls while its frontier has more than a sixteenth of all arcs,
a row ends when no wanted bit is lacking, and rows of neighbours that are not on the frontier are not read. It
counts the sectors of whole rows, those with a word in which a bit is wanted, which `load_wanted` reads, and
those of them in which the neighbour has a bit ("met"). Nothing reads the latter alone: a kernel with a byte a
vertex for it, and with words looked for by neighbour, took 17.8 ms and not 14.7 (Kronecker 22, 1,024 sources,
H100). Batches are spread evenly over all vertices in a random order, and in step.
"""

from __future__ import annotations

import argparse
from typing import Any

import numba
import numpy

from gravel.kernels.distances.in_step import in_step
from tests.benchmarks.many_sources import rows_of

SHARE = 16
SECTOR = 4  # words of 64 bits


@numba.njit(cache=False)
def levels_of(offsets: Any, columns: Any, words: int, sources: Any) -> Any:
    """Return a row for each level: pull or push, vertices, arcs, sectors of rows, wanted and met."""
    one = numpy.uint64(1)
    n = len(offsets) - 1
    seen = numpy.zeros((n, words), numpy.uint64)
    now = numpy.zeros((n, words), numpy.uint64)
    marked = numpy.zeros(n, numpy.bool_)
    for i in range(len(sources)):
        now[sources[i], i // 64] |= one << numpy.uint64(i % 64)
        seen[sources[i], i // 64] |= one << numpy.uint64(i % 64)
        marked[sources[i]] = True
    found = []
    while marked.any():
        live = numpy.zeros(words, numpy.uint64)
        ahead = 0
        for v in range(n):
            if marked[v]:
                ahead += offsets[v + 1] - offsets[v]
                live |= now[v]
        following = numpy.zeros((n, words), numpy.uint64)
        pulls = ahead * SHARE >= offsets[n]
        arcs, rows, wanted, met = 0, 0, 0, 0
        for v in range(n):
            if not pulls and not marked[v]:
                continue
            asked = live & ~seen[v] if pulls else now[v].copy()
            if not asked.any():
                continue
            for k in range(offsets[v], offsets[v + 1]):
                arcs += 1
                u = columns[k]
                if pulls and not marked[u]:
                    continue
                rows += words // SECTOR
                for first in range(0, words, SECTOR):
                    if asked[first : first + SECTOR].any():
                        wanted += 1
                        met += now[u, first : first + SECTOR].any() if pulls else 1
                if not pulls:
                    following[u] |= asked & ~seen[u]
                    continue
                following[v] |= now[u] & asked
                asked &= ~now[u]
                if not asked.any():
                    break
        for v in range(n):
            seen[v] |= following[v]
        found.append((int(pulls), int(marked.sum()), arcs, rows, wanted, met))
        for v in range(n):
            marked[v] = following[v].any()
        now = following
    return found


def main() -> None:
    """Count what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scale", type=int)
    parser.add_argument("--sources", type=int, default=1024, help="a multiple of 256")
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--levels", action="store_true")
    chosen = parser.parse_args()
    rows = rows_of(f"kron{chosen.scale}", "cpu")
    drawn = numpy.random.default_rng(1).permutation(numpy.flatnonzero(numpy.diff(rows[0])))
    place = in_step(*rows, drawn)
    assert place is not None
    for name, order in {"random order": drawn, "in step": drawn[place]}.items():
        sums = []
        for batch in numpy.linspace(0, len(order) // chosen.sources - 1, chosen.batches).astype(int).tolist():
            some = order[batch * chosen.sources : (batch + 1) * chosen.sources]
            levels = numpy.array(levels_of(*rows, chosen.sources // 64, some))
            sums.append(levels[:, 2:].sum(0) / len(rows[1]))
            if chosen.levels:
                print(name, batch, levels.tolist())
        arcs, whole, wanted, met = numpy.mean(sums, 0)
        print(
            f"kron{chosen.scale}, {chosen.sources} sources, {name}, an arc: {arcs:.2f} arcs read, "
            f"sectors of rows {whole:.2f}, wanted {wanted:.2f}, met {met:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
