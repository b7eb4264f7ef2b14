"""Compiles the kernels of CPU searches before they are needed: a process of its own, with jobs as JSON.

A search is most of what a plan compiles, and comes late in it. Here a graph of a few vertices is searched in
the same way while the stages before are still at work. Whoever needs a kernel that is being compiled here
waits for it (`gravel.kernels.compiled.cache`).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

VERTICES = 4
NICENESS = 5


def compile_search(job: dict[str, Any]) -> None:
    """Search a path of a few vertices as a job says: `layout` of the rows, and what `prepare` takes."""
    import numpy

    from gravel.kernels import bfs
    from gravel.kernels.layouts import encode

    options = dict(job)
    layout = options.pop("layout")
    ends = [[each for each in (vertex - 1, vertex + 1) if 0 <= each < VERTICES] for vertex in range(VERTICES)]
    offsets = numpy.cumsum([0, *map(len, ends)], dtype=numpy.int64)
    columns = numpy.concatenate(ends).astype(numpy.uint32)
    if layout == "csr":
        bfs.prepare(offsets, columns, **options).run(0)
    else:
        bfs.prepare_rows(encode(layout, offsets, columns), **options).run(0)


def compile_all(jobs: list[dict[str, Any]], mark: str) -> None:
    """Compile for each job, and leave a mark that says so; a job that fails is left to the stage itself."""
    from gravel.kernels.compiled import cache

    for job in jobs:
        try:
            compile_search(job)
        except (ValueError, TypeError, KeyError):  # the stage says what is wrong with it
            return
    cache.leave_mark(mark)


if __name__ == "__main__":
    # Where cores are few, what must be done now goes first.
    os.nice(NICENESS)
    compile_all(json.loads(sys.argv[1]), sys.argv[2])
