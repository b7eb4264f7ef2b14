"""With NUMBA_DISABLE_JIT=1 every kernel of the CPU runs as Python, and answers as it does compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy

SIDE = 5


def answers() -> dict[str, Any]:
    """Ask the main kernels about a grid with its diagonals, and chains beside it."""
    from gravel.kernels import bfs, generate, pagerank, sssp, strong_components
    from gravel.kernels.components import components
    from gravel.kernels.csr import build
    from gravel.kernels.layouts import decode, encode

    place = numpy.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    ends = [(place[:-1], place[1:]), (place[:, :-1], place[:, 1:]), (place[:-1, :-1], place[1:, 1:])]
    source = numpy.concatenate([a.ravel() for a, _ in ends] + [[26, 27, 29]]).astype(numpy.uint32)
    target = numpy.concatenate([b.ravel() for _, b in ends] + [[27, 28, 30]]).astype(numpy.uint32)
    rows, directed = build(source, target, 32), build(source, target, 32, direction="as_given")
    offsets, columns = rows.row_offsets, rows.column_indices
    found: dict[str, Any] = {"rows": [offsets, columns], "directed": directed.column_indices}
    for strategy in ("serial", "top_down", "direction_optimizing", "streamed"):
        found[strategy] = bfs.prepare(offsets, columns, symmetric=True, strategy=strategy).run(0).distance
    for layout in ("varint", "blocks", "elias_fano"):
        encoded = encode(layout, offsets, columns)
        found[layout] = [*decode(encoded), bfs.prepare_rows(encoded, symmetric=True).run(0).distance]
    for strategy in ("afforest", "label_propagation", "streamed"):
        found[f"components {strategy}"] = components(
            offsets, columns, symmetric=True, strategy=strategy
        ).component
    owners = numpy.repeat(numpy.arange(32), numpy.diff(offsets))
    weights = (owners + columns) % 7 + 1
    for kind in (numpy.uint32, numpy.float32):
        for strategy in ("dijkstra", "delta_stepping"):
            answer = sssp.sssp(offsets, columns, weights.astype(kind), 0, strategy=strategy)
            found[f"sssp {strategy} {kind}"] = answer.distance
    there = directed.row_offsets, directed.column_indices
    found["strong"] = strong_components.strong_components(*there).component
    found["rmat"] = generate.generate("rmat", scale=4, edge_factor=4, seed=3)
    found["pagerank"] = pagerank.pagerank(encode("csr", offsets, columns), numpy.diff(offsets)).rank.round(9)
    return found


def test_kernels_answer_as_python_what_they_do_compiled() -> None:
    program = (
        "from tests.kernels.test_generated import answers, text\n"
        "import numba\n"
        "assert numba.config.DISABLE_JIT\n"
        "print(text(answers()))"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]  # numbers wrap around, of which NumPy warns
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(text(answers()))


def text(found: dict[str, Any]) -> str:
    """Write answers as JSON."""
    return json.dumps(found, default=lambda array: array.tolist())
