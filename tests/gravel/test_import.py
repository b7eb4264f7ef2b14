"""`import gravel` is quick, and brings in what is heavy only when it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
import time

HEAVY = ("cupy", "dask", "numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "zarr", "networkx")


def _loaded(code: str) -> list[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    return sorted(set(json.loads(printed)) & set(HEAVY))


def test_import_loads_nothing_heavy():
    assert _loaded("import gravel; dir(gravel); gravel.graph; gravel.Graph; gravel.UnknownVertex") == []


def test_a_graph_of_arrays_loads_neither_dask_nor_zarr():
    assert set(_loaded("import gravel; gravel.graph(([1], [2])).bfs(1).levels")) & {"dask", "zarr"} == set()


def test_import_is_quick():
    def seconds(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        return time.perf_counter() - started

    bare = min(seconds("pass") for _ in range(5))
    assert min(seconds("import gravel; gravel.graph") for _ in range(5)) - bare < 0.25


def test_every_name_is_there():
    import gravel

    for name in gravel.__all__:
        assert getattr(gravel, name) is not None
    assert set(gravel.__all__) <= set(dir(gravel))
